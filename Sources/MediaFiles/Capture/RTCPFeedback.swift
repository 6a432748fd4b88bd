internal import Primitives

/// What a receiver asks a sender for, as RTCP of reduced size (RFC 4585, RFC 5506), for captures.
package enum RTCPFeedback {
  /// Packets that are missing (generic NACK, RFC 4585 §6.2.1).
  ///
  /// - Parameters:
  ///   - sender: SSRC of whoever asks
  ///   - media: SSRC of what it asks for
  ///   - sequenceNumbers: rising, but for the wrap
  package static func nack(sender: UInt32, media: UInt32, sequenceNumbers: [UInt16]) -> [UInt8] {
    // Each entry is a number, and a bit for each of the sixteen after it.
    var entries: [(first: UInt16, following: UInt16)] = []
    for number in sequenceNumbers {
      let distance = entries.last.map { number &- $0.first } ?? 0
      if !entries.isEmpty, distance == 0 { continue }
      if let last = entries.indices.last, (1...16).contains(distance) {
        entries[last].following |= 1 << (distance - 1)
      } else {
        entries.append((number, 0))
      }
    }
    var bytes = header(0x81, transportFeedback, words: 2 + entries.count, sender, media)
    for entry in entries {
      bytes.append(bigEndian: entry.first)
      bytes.append(bigEndian: entry.following)
    }
    return bytes
  }

  /// A key frame (picture loss indication, RFC 4585 §6.3.1).
  package static func pictureLoss(sender: UInt32, media: UInt32) -> [UInt8] {
    header(0x81, payloadFeedback, words: 2, sender, media)
  }

  private static func header(
    _ flags: UInt8, _ type: UInt8, words: Int, _ sender: UInt32, _ media: UInt32
  ) -> [UInt8] {
    var bytes: [UInt8] = [flags, type]
    bytes.append(bigEndian: UInt16(clamping: words))
    bytes.append(bigEndian: sender)
    bytes.append(bigEndian: media)
    return bytes
  }

  private static let transportFeedback: UInt8 = 205
  private static let payloadFeedback: UInt8 = 206
}
