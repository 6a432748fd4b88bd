import Primitives
import Testing
import Wire

@Suite struct FramesFeedbackTests {
  /// Ticks before the next higher received number, in order; `nil` is a packet not received.
  static func write(
    largest: UInt32, arrival: UInt32, before: [Int32?], marks: [UInt8] = []
  ) -> [UInt8] {
    packetBytes { output in
      FeedbackHeader(
        epoch: 6, largest: largest, arrival: arrival, delay: 40,
        count: UInt8(before.count + 1), hasMarks: !marks.isEmpty
      ).write(to: &output)
      for ticks in before { FeedbackEntry.write(ticksBefore: ticks, to: &output) }
      output.append(bytes: marks)
    }
  }

  static func read(_ packet: [UInt8]) -> (header: FeedbackHeader, entries: [FeedbackEntry])? {
    let frames = readAll(packet).frames
    guard case .feedback(let frame)? = frames.first, frames.count == 1 else { return nil }
    var entries = frame.entries(in: packet.span)
    var all: [FeedbackEntry] = []
    while let entry = entries.next() { all.append(entry) }
    return (frame.header, all)
  }

  @Test func `lays out the example by hand`() throws {
    let packet = Self.write(
      largest: 0x0102, arrival: 5, before: [0, nil, 126, 127, -1], marks: [0b10_1001])
    #expect(
      packet == [
        3, 0b110, 2, 1, 0, 0, 5, 0, 0, 0, 40, 0, 6,  //
        0x01, 0x00, 0x7F, 0xC0, 0x7F, 0xBF, 0xFF, 0b10_1001,
      ])
    let read = try #require(Self.read(packet))
    #expect(read.header.epoch == 2)
    #expect(read.entries.map(\.number) == [0x102, 0x101, 0x100, 0xFF, 0xFE, 0xFD])
    #expect(read.entries.map(\.isReceived) == [true, true, false, true, true, true])
    let arrivals = read.entries.filter(\.isReceived).map { Int32(bitPattern: $0.arrival) }
    #expect(arrivals == [5, 5, -121, -248, -247])
    #expect(
      read.entries.map(\.isCongestionExperienced) == [true, false, false, true, false, true])
  }

  @Test func `says what an entry can say, and not more`() {
    #expect(FeedbackEntry.byteCount(ticksBefore: 126) == 1)
    #expect(FeedbackEntry.byteCount(ticksBefore: 127) == 2)
    #expect(FeedbackEntry.byteCount(ticksBefore: -1) == 2)
    #expect(FeedbackEntry.byteCount(ticksBefore: 16383) == 2)
    #expect(FeedbackEntry.byteCount(ticksBefore: 16384) == nil)
    #expect(FeedbackEntry.byteCount(ticksBefore: -16384) == 2)
    #expect(FeedbackEntry.byteCount(ticksBefore: -16385) == nil)
  }

  @Test func `is refused at every truncation`() {
    let packet = Self.write(
      largest: 100, arrival: 0, before: [1, nil, 500, -500, 7, 8, 9, nil], marks: [1, 2])
    #expect(Self.read(packet) != nil)
    for length in 1..<packet.count {
      #expect(readAll(Array(packet[..<length])).error?.reason == .truncated, "\(length) bytes")
    }
  }

  @Test func `refuses unknown flags, an empty range, and numbers below zero`() {
    var packet = Self.write(largest: 2, arrival: 0, before: [nil, nil])
    #expect(Self.read(packet) != nil)
    packet[12] = 0
    #expect(readAll(packet).error?.field == "feedback count")
    packet = Self.write(largest: 1, arrival: 0, before: [nil, nil])
    #expect(readAll(packet).error?.field == "feedback count")
    packet = Self.write(largest: 2, arrival: 0, before: [])
    packet[1] |= 8
    #expect(readAll(packet).error?.field == "feedback flags")
  }

  @Test(arguments: 0..<300 as Range<UInt64>)
  func `brings any arrivals across`(seed: UInt64) throws {
    var random = RandomSource(seed: seed)
    let count = Int.random(in: 1...255, using: &random)
    let largest = UInt32.random(in: 255...(1 << 31), using: &random)
    var arrival = UInt32(truncatingIfNeeded: random.next())
    var before: [Int32?] = []
    var expected: [UInt32?] = [arrival]
    let first = arrival
    for _ in 1..<count {
      if random.unit() < 0.2 {
        before.append(nil)
        expected.append(nil)
        continue
      }
      let ticks =
        random.unit() < 0.7
        ? Int32.random(in: 0...126, using: &random)
        : Int32.random(in: -16384...16383, using: &random)
      before.append(ticks)
      arrival = arrival &- UInt32(bitPattern: ticks)
      expected.append(arrival)
    }
    let read = try #require(
      Self.read(Self.write(largest: largest, arrival: first, before: before)), "seed \(seed)")
    #expect(read.entries.map { $0.isReceived ? $0.arrival : nil } == expected, "seed \(seed)")
    #expect(read.entries.map(\.number) == (0..<count).map { largest - UInt32($0) })
  }
}
