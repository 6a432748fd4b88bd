package import Primitives

/// FEEDBACK: which packet numbers of an epoch arrived, and when (docs/protocol/frames.md §2).
package struct FeedbackFrame: Equatable, Sendable, BitwiseCopyable {
  package var header: FeedbackHeader
  /// Where the entries for `largest − 1`, `largest − 2` … lie in the packet.
  package var entries: PacketRange
  /// Where the ECN bitmap lies; empty without one.
  package var marks: PacketRange

  /// Checks the whole frame, so that reading the entries cannot fail.
  package init(parsing reader: inout ByteReader) throws(WireError) {
    header = try FeedbackHeader(parsing: &reader)
    let start = reader.offset
    for _ in 1..<Int(header.count) {
      if try reader.readUInt8("feedback entry") & FeedbackEntry.longForm != 0 {
        _ = try reader.readUInt8("feedback entry")
      }
    }
    entries = PacketRange(start..<reader.offset)
    let markCount = header.hasMarks ? (Int(header.count) + 7) / 8 : 0
    marks = PacketRange(try reader.readRange(markCount, "ECN bitmap"))
  }

  /// The covered numbers, from the largest down. `packet` is the one that this was read from.
  @_lifetime(copy packet)
  package func entries(in packet: Span<UInt8>) -> FeedbackEntries {
    FeedbackEntries(self, packet)
  }
}

/// The fixed part of a FEEDBACK.
package struct FeedbackHeader: Equatable, Sendable, BitwiseCopyable {
  /// With the type byte.
  package static let byteCount = 13
  package static let maximumCount = 255
  /// The unit of every time in a FEEDBACK: 250 µs.
  package static let nanosecondsPerTick: UInt64 = 250_000

  /// The epoch mod 4.
  package var epoch: UInt8
  package var hasMarks: Bool
  package var largest: UInt32
  /// When `largest` arrived, in ticks of the receiver's clock; wraps.
  package var arrival: UInt32
  /// From that arrival to the making of the frame, in ticks; 0xFFFF = as much or more.
  package var delay: UInt16
  /// How many numbers are covered, 1..255.
  package var count: UInt8

  package init(
    epoch: UInt8, largest: UInt32, arrival: UInt32, delay: UInt16, count: UInt8, hasMarks: Bool
  ) {
    self.epoch = epoch & 3
    self.largest = largest
    self.arrival = arrival
    self.delay = delay
    self.count = count
    self.hasMarks = hasMarks
  }

  init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    let flags = try reader.readUInt8("feedback flags")
    guard flags & ~(Bits.epoch | Bits.marks) == 0 else {
      throw .invalid("feedback flags", at: start)
    }
    epoch = flags & Bits.epoch
    hasMarks = flags & Bits.marks != 0
    largest = try reader.readUInt32("largest number")
    arrival = try reader.readUInt32("arrival")
    delay = try reader.readUInt16("feedback delay")
    count = try reader.readUInt8("feedback count")
    guard count >= 1, UInt32(count) - 1 <= largest else {
      throw .invalid("feedback count", at: reader.offset - 1)
    }
  }

  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.feedback)
    packet.append(epoch & Bits.epoch | (hasMarks ? Bits.marks : 0))
    packet.append(littleEndian: largest)
    packet.append(littleEndian: arrival)
    packet.append(littleEndian: delay)
    packet.append(count)
  }

  private enum Bits {
    static let epoch: UInt8 = 0b0000_0011
    static let marks: UInt8 = 0b0000_0100
  }
}

/// What a FEEDBACK says of one packet number.
package struct FeedbackEntry: Equatable, Sendable, BitwiseCopyable {
  package var number: UInt32
  package var isReceived: Bool
  /// In ticks of the receiver's clock, wraps; without meaning unless `isReceived`.
  package var arrival: UInt32
  package var isCongestionExperienced: Bool

  /// How many bytes the entry of a packet takes that arrived `ticks` before the next higher
  /// received number (negative: after it); `nil` when that is more than an entry can say (4.1 s).
  package static func byteCount(ticksBefore ticks: Int32) -> Int? {
    if (0...shortest).contains(ticks) { return 1 }
    return longRange.contains(ticks) ? 2 : nil
  }

  /// Writes one entry; `nil` or a time out of range is written as "not received".
  @_lifetime(packet: copy packet)
  package static func write(ticksBefore ticks: Int32?, to packet: inout OutputSpan<UInt8>) {
    guard let ticks, let length = byteCount(ticksBefore: ticks) else { return packet.append(0) }
    if length == 1 { return packet.append(UInt8(truncatingIfNeeded: ticks &+ 1)) }
    let value = UInt16(truncatingIfNeeded: ticks &+ longBias)
    packet.append(longForm | UInt8(truncatingIfNeeded: value >> 8))
    packet.append(UInt8(truncatingIfNeeded: value))
  }

  static let longForm: UInt8 = 0x80
  static let longBias: Int32 = 16384
  private static let shortest: Int32 = 126
  private static let longRange: Range<Int32> = -16384..<16384
}

/// Reads the entries of one FEEDBACK, from the largest number down, without allocating.
package struct FeedbackEntries: ~Escapable {
  private let packet: Span<UInt8>
  private let header: FeedbackHeader
  private let marks: PacketRange
  private var position: Int
  private var covered = 0
  private var arrival: UInt32

  @_lifetime(copy packet)
  init(_ frame: FeedbackFrame, _ packet: Span<UInt8>) {
    self.packet = packet
    header = frame.header
    marks = frame.marks
    position = frame.entries.start
    arrival = frame.header.arrival
  }

  @_lifetime(self: copy self)
  package mutating func next() -> FeedbackEntry? {
    guard covered < Int(header.count) else { return nil }
    let isReceived = covered == 0 || readEntry()
    let entry = FeedbackEntry(
      number: header.largest &- UInt32(covered), isReceived: isReceived, arrival: arrival,
      isCongestionExperienced: isReceived && header.hasMarks
        && byte(at: marks.start + covered / 8) >> UInt8(covered % 8) & 1 != 0)
    covered += 1
    return entry
  }

  @_lifetime(self: copy self)
  private mutating func readEntry() -> Bool {
    let first = byte(at: position)
    position += 1
    if first == 0 { return false }
    if first & FeedbackEntry.longForm == 0 {
      arrival = arrival &- UInt32(first - 1)
      return true
    }
    let value = Int32(first & ~FeedbackEntry.longForm) << 8 | Int32(byte(at: position))
    position += 1
    arrival = arrival &- UInt32(bitPattern: value - FeedbackEntry.longBias)
    return true
  }

  /// Zero where another packet than the frame's own was given.
  private func byte(at index: Int) -> UInt8 {
    index >= 0 && index < packet.count ? packet[index] : 0
  }
}
