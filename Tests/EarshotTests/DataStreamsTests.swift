import Primitives
import Testing

@testable import Earshot

/// Messages that wait for their sound (`DataStreamOptions.isSynchronized`).
struct DataStreamsTests {
  private static let start = Instant(nanoseconds: 1_000_000_000)

  private static func at(_ milliseconds: Int64) -> Instant { start + .milliseconds(milliseconds) }

  private static func bytes(_ told: [CallProgress]) -> [[UInt8]] {
    told.compactMap { if case .message(_, let bytes) = $0 { bytes } else { nil } }
  }

  @Test func `they are told in the order of their time, those of one time as they came`() {
    var data = DataStreams()
    for (byte, due) in [(1, 300), (2, 100), (3, 300), (4, 200)] {
      data.hold(8, [UInt8(byte)], until: Self.at(Int64(due)))
    }
    #expect(Self.bytes(data.takeDue(now: Self.at(99))) == [])
    #expect(Self.bytes(data.takeDue(now: Self.at(200))) == [[2], [4]])
    #expect(Self.bytes(data.takeDue(now: Self.at(300))) == [[1], [3]])
    #expect(data.waitingCount == 0 && data.takeAll().isEmpty)
  }

  /// Method: a peer that says for each of 20 000 messages that its sound comes in 5 s.
  @Test func `a peer that sends for far ahead fills no memory, and nothing is lost`() {
    var data = DataStreams()
    var told = 0
    var most = 0
    for number in 0..<20_000 {
      data.hold(8, [UInt8(truncatingIfNeeded: number)], until: Self.at(5000))
      told += data.takeDue(now: Self.start).count
      most = max(most, data.waitingCount)
    }
    #expect(most == DataStreams.mostWaiting)
    #expect(told + data.waitingCount == 20_000)
    #expect(data.takeDue(now: Self.at(5000)).count == DataStreams.mostWaiting)
  }

  @Test func `a few large messages do not fill it either`() {
    var data = DataStreams()
    var told = 0
    for _ in 0..<100 {
      data.hold(8, Array(repeating: 7, count: 65_536), until: Self.at(5000))
      told += data.takeDue(now: Self.start).count
    }
    #expect(data.waitingCount == DataStreams.mostWaitingBytes / 65_536 && told == 100 - 16)
    #expect(data.takeAll().count == 16 && data.takeDue(now: Self.at(9000)).isEmpty)
  }

  @Test func `nobody sleeps for each message`() {
    var data = DataStreams()
    var sleepers = 0
    for number in 0..<1000 {
      data.hold(8, [1], until: Self.at(5000 + Int64(number)))
      if data.takeWakeUp() != nil { sleepers += 1 }
    }
    #expect(sleepers == 1)
    data.hold(8, [2], until: Self.at(10))
    #expect(data.takeWakeUp() == Self.at(10))
    data.handleWakeUp(at: Self.at(10))
    #expect(Self.bytes(data.takeDue(now: Self.at(10))).first == [2])
    #expect(data.takeWakeUp() == Self.at(5000 + 1000 - Int64(DataStreams.mostWaiting)))
  }
}
