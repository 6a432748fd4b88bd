internal import Primitives
internal import Reactor

extension EventLoop {
  /// A wait on the loop's own timer, for an actor that lives on the loop's thread.
  func pause(
    _ duration: Duration, isolation: isolated (any Actor)? = #isolation
  ) async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      do throws(ReactorError) {
        let box = TimerBox()
        box.token = try addTimer { _ in
          if let token = box.token { self.removeTimer(token) }
          continuation.resume()
        }
        if let token = box.token { setDeadline(token, SystemClock.now + duration) }
      } catch {
        continuation.resume()
      }
    }
  }
}

/// A timer that removes itself must know its own name.
private final class TimerBox {
  var token: EventLoop.Token?
}
