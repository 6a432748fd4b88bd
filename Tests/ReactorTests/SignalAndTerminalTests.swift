import Glibc
import Primitives
import Testing

@testable import Reactor

struct SignalAndTerminalTests {
  @Test func `a blocked signal arrives as a call on the loop`() throws {
    let loop = try EventLoop()
    var seen: [SignalWatch.Signal] = []
    SignalWatch.block([.user1])
    let watch = try SignalWatch([.user1], on: loop) { signal in
      seen.append(signal)
      loop.stop()
    }
    // To this thread alone: other threads of the test process have not blocked it.
    let result = pthread_kill(pthread_self(), SIGUSR1)
    try #require(result == 0)
    let bound = try loop.addTimer { _ in loop.stop() }
    loop.setDeadline(bound, SystemClock.now + .seconds(10))
    loop.run()
    #expect(seen == [.user1])
    watch.stop()
  }

  @Test func `arrows and control letters are no keys`() {
    #expect(TerminalInput.keys(in: Array("mv q".utf8)) == ["m", "v", " ", "q"])
    #expect(TerminalInput.keys(in: [0x0D, 0x73, 0x7F, 0xC3, 0xA4]) == ["\n", "s", "\u{8}"])
    #expect(TerminalInput.keys(in: [0x73, 0x1B, 0x5B, 0x41]) == ["s"])
  }
}
