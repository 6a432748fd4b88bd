import Earshot
import PeerCommand
import Primitives
import Synchronization
import Testing

/// Several calls into one sink: the first as if it were alone, and no gap when it ends.
@Suite struct SharedSinkTests {
  private final class Ear: AudioSink {
    let channelCount = 1
    private let state = Mutex<[Int16]>([])
    var heard: [Int16] { state.withLock { $0 } }
    func write(_ samples: borrowing [Int16], frameCount: Int) {
      for index in 0..<frameCount { state.withLock { $0.append(samples[index]) } }
    }
    func finish() { Issue.record("its owner finishes it") }
  }

  private static let block = 240

  /// 5 ms of a constant.
  private static func block(_ value: Int16) -> [Int16] { Array(repeating: value, count: block) }

  private static func moment(_ index: Int) -> Instant {
    Instant.zero + .milliseconds(Int64(1000 + 5 * index))
  }

  @Test func `one call is written as it is`() {
    let ear = Ear()
    let shared = SharedSink(ear)
    let end = shared.makeEnd()
    for value in Int16(1)...4 { end.write(Self.block(value), frameCount: Self.block) }
    end.finish()
    #expect(ear.heard == (Int16(1)...4).flatMap(Self.block))
  }

  @Test func `a second call is added, and the first one's place is never empty`() {
    let ear = Ear()
    let shared = SharedSink(ear)
    _ = shared.makeEnd()
    for index in 0..<200 {
      if index == 20 { _ = shared.makeEnd() }
      // Each writes 5 ms each 5 ms.
      shared.write(Self.block(1000), frameCount: Self.block, of: 1, now: Self.moment(index))
      guard index >= 20 else { continue }
      shared.write(Self.block(200), frameCount: Self.block, of: 2, now: Self.moment(index))
    }
    let heard = ear.heard
    #expect(heard.count == 200 * Self.block)
    #expect(heard.allSatisfy { $0 == 1000 || $0 == 1200 })
    #expect(heard.suffix(100 * Self.block).allSatisfy { $0 == 1200 })
  }

  @Test func `when the first call ends, the second goes on at once`() {
    let ear = Ear()
    let shared = SharedSink(ear)
    _ = (shared.makeEnd(), shared.makeEnd())
    for index in 0..<100 {
      if index == 50 { shared.end(1) }
      if index < 50 {
        shared.write(Self.block(1000), frameCount: Self.block, of: 1, now: Self.moment(index))
      }
      shared.write(Self.block(200), frameCount: Self.block, of: 2, now: Self.moment(index))
    }
    #expect(ear.heard.count == 100 * Self.block)
    #expect(ear.heard.suffix(50 * Self.block).allSatisfy { $0 == 200 })
  }

  @Test func `a first call that says nothing for long is passed over`() {
    let ear = Ear()
    let shared = SharedSink(ear)
    _ = (shared.makeEnd(), shared.makeEnd())
    for index in 0..<100 {
      if index < 50 {
        shared.write(Self.block(1000), frameCount: Self.block, of: 1, now: Self.moment(index))
      }
      shared.write(Self.block(200), frameCount: Self.block, of: 2, now: Self.moment(index))
    }
    // 60 ms of patience are 12 blocks; what came meanwhile is heard after them.
    #expect(ear.heard.count >= 88 * Self.block)
    #expect(ear.heard.suffix(30 * Self.block).allSatisfy { $0 == 200 })
  }

  @Test func `what is too loud together is limited, and nothing waits without end`() {
    let ear = Ear()
    let shared = SharedSink(ear)
    _ = (shared.makeEnd(), shared.makeEnd())
    shared.write(Self.block(30_000), frameCount: Self.block, of: 1, now: Self.moment(0))
    // The second one is far ahead of the first one's pace.
    for _ in 0..<1000 {
      shared.write(Self.block(30_000), frameCount: Self.block, of: 2, now: Self.moment(1))
    }
    for index in 2..<160 {
      shared.write(Self.block(30_000), frameCount: Self.block, of: 1, now: Self.moment(index))
    }
    #expect(ear.heard.allSatisfy { $0 > 0 && $0 <= 32_000 })
    // Of five seconds at most 200 ms were kept; then the limiter rises within half a second.
    #expect(ear.heard.suffix(5 * Self.block).allSatisfy { $0 == 30_000 })
  }

  @Test func `who writes after its end is not heard`() {
    let ear = Ear()
    let shared = SharedSink(ear)
    let end = shared.makeEnd()
    end.finish()
    end.write(Self.block(5), frameCount: Self.block)
    #expect(ear.heard.isEmpty)
  }
}
