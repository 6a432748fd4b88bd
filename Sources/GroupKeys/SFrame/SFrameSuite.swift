/// Cipher suites of the SFrame registry (RFC 9605 §8.1) that run everywhere with short tags.
///
/// AES-128 in counter mode, and HMAC-SHA256 over header, metadata and ciphertext (§4.5.1).
package enum SFrameSuite: UInt16, CaseIterable, Sendable {
  case aes128CTRHMAC80 = 1
  case aes128CTRHMAC64 = 2
  case aes128CTRHMAC32 = 3

  /// What channels use (docs/decisions/0071-seal-media-with-aes-ctr-and-8-bytes-of-tag.md).
  package static let media = SFrameSuite.aes128CTRHMAC64

  /// Nt.
  package var tagByteCount: Int {
    switch self {
    case .aes128CTRHMAC80: 10
    case .aes128CTRHMAC64: 8
    case .aes128CTRHMAC32: 4
    }
  }
}

/// Why a frame was not sealed, or not opened. Nothing has changed but counts.
package enum SFrameError: Error, Equatable, Sendable {
  /// The header is cut, or not in its one encoding.
  case malformed
  /// Too short for header and tag, or no room for them.
  case wrongLength
  /// We publish nothing: there is no key to seal with.
  case notPublishing
  /// The sender is no verified member, or no host.
  case unknownSender
  /// No key of that generation has come yet.
  case unknownKey
  /// Another key, changed bytes, other metadata.
  case notAuthentic
  /// Opened before, or older than the window.
  case replayed
  /// Of a ratchet step whose key is erased.
  case tooOld
  /// Too many frames of this sender asked for keys that did not open them.
  case limited
}
