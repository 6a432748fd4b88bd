import Reactor
import Synchronization
import Testing

@testable import Earshot

/// The own sound of a member by a relay.
@Suite struct RelayedSoundTests {
  private final class Member: Sendable {
    let sound = Mutex(RelayedSound())
  }

  /// Goal: after a while without a relay the own sound goes on with the next one.
  @Test(.timeLimit(.minutes(1)))
  func `frames for which there is no relay do not stop the source`() async throws {
    let loop = try EventLoop()
    let member = Member()
    let (wakes, feed) = AsyncStream.makeStream(of: Void.self)
    try member.sound.withLock { sound in
      try sound.beginSending(CallOptions(source: Tone(), sink: nil), on: loop) {
        member.sound.withLock { $0.dropFrames() }
        feed.yield()
      }
    }
    try loop.start()
    var count = 0
    for await _ in wakes {
      count += 1
      if count == 10 { break }
    }
    #expect(count == 10)
    loop.stop()
    loop.join()
    member.sound.withLock { $0.stop(on: loop) }
  }
}
