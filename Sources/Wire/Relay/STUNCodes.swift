/// The numbers of STUN and TURN that a TURN client needs (RFC 8489 §18, RFC 8656 §17, §18).
package enum STUNMethod: UInt16, Sendable, BitwiseCopyable {
  /// Not of TURN; published vectors are such messages.
  case binding = 0x001
  case allocate = 0x003
  case refresh = 0x004
  case send = 0x006
  case data = 0x007
  case createPermission = 0x008
  case channelBind = 0x009
}

/// What a message is (RFC 8489 §5).
package enum STUNClass: UInt8, Sendable, BitwiseCopyable {
  case request = 0
  case indication = 1
  case success = 2
  case failure = 3
}

/// Types of attributes (RFC 8489 §18.3, RFC 8656 §18).
package enum STUNAttribute: UInt16, Sendable, BitwiseCopyable {
  case username = 0x0006
  case messageIntegrity = 0x0008
  case errorCode = 0x0009
  case channelNumber = 0x000C
  case lifetime = 0x000D
  case xorPeerAddress = 0x0012
  case data = 0x0013
  case realm = 0x0014
  case nonce = 0x0015
  case xorRelayedAddress = 0x0016
  case requestedTransport = 0x0019
  case messageIntegritySHA256 = 0x001C
  case passwordAlgorithm = 0x001D
  case userHash = 0x001E
  case xorMappedAddress = 0x0020
  case passwordAlgorithms = 0x8002
  case fingerprint = 0x8028
}

/// 96 bits that tie an answer to its request (RFC 8489 §5).
package struct STUNTransactionID: Hashable, Sendable, BitwiseCopyable {
  package var high: UInt32
  package var low: UInt64

  package init(high: UInt32, low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// Sizes and limits of STUN and TURN over UDP.
package enum STUNLimits {
  /// The header of a message (RFC 8489 §5), in bytes.
  package static let headerByteCount = 20
  /// RFC 8489 §5.
  package static let magicCookie: UInt32 = 0x2112_A442
  /// The header of channel data (RFC 8656 §12.4), in bytes.
  package static let channelHeaderByteCount = 4
  /// Channel numbers that a client may bind (RFC 8656 §12).
  package static let channels: ClosedRange<UInt16> = 0x4000...0x4FFF
  /// The longest realm and nonce, in bytes (RFC 8489 §14.9, §14.10: 127 characters of UTF-8).
  package static let textByteCount = 763
}
