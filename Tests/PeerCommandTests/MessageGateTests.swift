import PeerCommand
import Reactor
import Testing

/// What of calls' messages waits in the queue of a command.
struct MessageGateTests {
  @Test(.timeLimit(.minutes(1)))
  func `few messages wait, and one that is taken lets one in`() async {
    let gate = MessageGate()
    let entered = Guarded(0)
    let feeding = Task {
      for _ in 0..<3 * MessageGate.most {
        await gate.enter()
        entered.withLock { $0 += 1 }
      }
    }
    var most = 0
    for taken in 0..<3 * MessageGate.most {
      for _ in 0..<100 { await Task.yield() }
      most = max(most, entered.withLock { $0 } - taken)
      gate.leave()
    }
    await feeding.value
    #expect(most <= MessageGate.most && entered.withLock { $0 } == 3 * MessageGate.most)
  }
}
