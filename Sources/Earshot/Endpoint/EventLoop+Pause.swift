internal import Primitives
internal import Reactor

extension EventLoop {
  /// A wait on the loop's own timer, for an actor that lives on the loop's thread. Over at once
  /// when the loop ends, or has ended.
  func pause(
    _ duration: Duration, isolation: isolated (any Actor)? = #isolation
  ) async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let waiter = PauseWaiter(continuation)
      guard !hasEnded else { return }
      do throws(ReactorError) {
        waiter.token = try addTimer { _ in
          if let token = waiter.token { self.removeTimer(token) }
          waiter.resume()
        }
        if let token = waiter.token { setDeadline(token, SystemClock.now + duration) }
      } catch {
        // There is no timer to be had: the waiter is let go, and the wait is over.
      }
    }
  }
}

/// Who waits, and the timer for it, which removes itself. The wait ends where a loop that ends lets
/// this go.
private final class PauseWaiter {
  var token: EventLoop.Token?
  private var continuation: CheckedContinuation<Void, Never>?

  init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }

  deinit { resume() }

  func resume() { continuation.take()?.resume() }
}
