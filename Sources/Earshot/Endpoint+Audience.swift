internal import Peer
internal import Primitives
internal import Reactor

/// The timer of a look at the pins.
private final class PinWatch: Sendable {
  let timer = Guarded<EventLoop.Token?>(nil)

  /// From one look to the next.
  static let period = Duration.seconds(5)
}

/// Where only contacts may see the program (`Configuration.visibility`), a pin that another program
/// sets counts soon: nobody who is not seen can call, which would be the time to look.
extension Endpoint {
  func watchPins() throws(ReactorError) {
    guard driver.readMachine({ $0.configuration.isForFamiliars }) else { return }
    let watch = PinWatch()
    let timer = try loop.addTimer { now in self.lookAtPins(watch, now: now) }
    watch.timer.withLock { $0 = timer }
    loop.setDeadline(timer, SystemClock.now + PinWatch.period)
  }

  private func lookAtPins(_ watch: PinWatch, now: Instant) {
    guard let timer = watch.timer.withLock({ $0 }) else { return }
    guard !isClosed else { return loop.removeTimer(timer) }
    loop.setDeadline(timer, now + PinWatch.period)
    Task { await takePinChanges() }
  }
}
