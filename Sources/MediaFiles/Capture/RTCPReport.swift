internal import Primitives

/// How FEEDBACK and the statistics look as RTCP (RFC 3550 §6.4), for captures: one compound packet,
/// a sender or receiver report and the source's name.
package struct RTCPReport: Equatable, Sendable {
  /// What the reporting side has sent (SR).
  package struct Sent: Equatable, Sendable {
    /// Nanoseconds since 1970 UTC.
    package var wallNanoseconds: UInt64
    /// The RTP timestamp of the same moment.
    package var timestamp: UInt32
    package var packetCount: UInt32
    /// Of payload.
    package var byteCount: UInt32

    package init(
      wallNanoseconds: UInt64, timestamp: UInt32, packetCount: UInt32, byteCount: UInt32
    ) {
      self.wallNanoseconds = wallNanoseconds
      self.timestamp = timestamp
      self.packetCount = packetCount
      self.byteCount = byteCount
    }
  }

  /// What the reporting side has received of one source (a report block).
  package struct Received: Equatable, Sendable {
    package var source: UInt32
    /// Since the report before, 0...1.
    package var fractionLost: Double
    /// In all.
    package var lost: Int
    /// Extended by the number of its wraps.
    package var highestSequence: UInt32
    /// Interarrival jitter in ticks of 48 kHz; 0 where nobody measured it.
    package var jitter: UInt32
    /// The last report of that source as `middle(of:)` of its time; 0 = there is none.
    package var lastReport: UInt32 = 0
    /// From that report to this one, in 1/65536 s.
    package var delay: UInt32 = 0

    package init(
      source: UInt32, fractionLost: Double, lost: Int, highestSequence: UInt32, jitter: UInt32
    ) {
      self.source = source
      self.fractionLost = fractionLost
      self.lost = lost
      self.highestSequence = highestSequence
      self.jitter = jitter
    }
  }

  /// Whose report it is (SSRC).
  package var source: UInt32
  /// CNAME, at most 255 bytes.
  package var name: String
  /// `nil` makes it a receiver report.
  package var sent: Sent?
  package var received: Received?

  package init(source: UInt32, name: String, sent: Sent? = nil, received: Received? = nil) {
    self.source = source
    self.name = name
    self.sent = sent
    self.received = received
  }

  /// The compound packet.
  package var packet: [UInt8] {
    var bytes: [UInt8] = []
    let blockCount = received == nil ? 0 : 1
    let words = 1 + (sent == nil ? 0 : 5) + 6 * blockCount
    bytes.append(0x80 | UInt8(blockCount))
    bytes.append(sent == nil ? Self.receiverReport : Self.senderReport)
    bytes.append(bigEndian: UInt16(words))
    bytes.append(bigEndian: source)
    if let sent {
      let time = Self.networkTime(wallNanoseconds: sent.wallNanoseconds)
      bytes.append(bigEndian: UInt32(truncatingIfNeeded: time >> 32))
      bytes.append(bigEndian: UInt32(truncatingIfNeeded: time))
      bytes.append(bigEndian: sent.timestamp)
      bytes.append(bigEndian: sent.packetCount)
      bytes.append(bigEndian: sent.byteCount)
    }
    if let received { append(received, to: &bytes) }
    appendName(to: &bytes)
    return bytes
  }

  private func append(_ block: Received, to bytes: inout [UInt8]) {
    bytes.append(bigEndian: block.source)
    let fraction = UInt32(min(255, max(0, block.fractionLost * 256)))
    // 24 bits, signed: duplicates can make it negative.
    let lost = UInt32(bitPattern: Int32(max(-0x80_0000, min(0x7F_FFFF, block.lost)))) & 0xFF_FFFF
    bytes.append(bigEndian: fraction << 24 | lost)
    bytes.append(bigEndian: block.highestSequence)
    bytes.append(bigEndian: block.jitter)
    bytes.append(bigEndian: block.lastReport)
    bytes.append(bigEndian: block.delay)
  }

  /// SDES with CNAME alone (RFC 3550 §6.5), which every compound packet must have.
  private func appendName(to bytes: inout [UInt8]) {
    let text = Array(name.utf8.prefix(255))
    // SSRC, type, length, text, and at least one zero byte, to whole words.
    let chunk = (4 + 2 + text.count + 1 + 3) & ~3
    bytes.append(0x81)
    bytes.append(Self.description)
    bytes.append(bigEndian: UInt16(chunk / 4))
    bytes.append(bigEndian: source)
    bytes.append(1)
    bytes.append(UInt8(text.count))
    bytes.append(contentsOf: text)
    for _ in (6 + text.count)..<chunk { bytes.append(0) }
  }

  /// Seconds since 1900 UTC in 32.32 bits (RFC 5905 §6).
  package static func networkTime(wallNanoseconds: UInt64) -> UInt64 {
    let seconds = wallNanoseconds / 1_000_000_000 &+ 2_208_988_800
    let rest = wallNanoseconds % 1_000_000_000
    return seconds << 32 | (rest << 32) / 1_000_000_000
  }

  /// What a report block repeats of a sender report's time.
  package static func middle(of networkTime: UInt64) -> UInt32 {
    UInt32(truncatingIfNeeded: networkTime >> 16)
  }

  private static let senderReport: UInt8 = 200
  private static let receiverReport: UInt8 = 201
  private static let description: UInt8 = 202
}
