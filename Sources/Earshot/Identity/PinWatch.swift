internal import Peer
internal import Primitives
internal import Reactor

/// Where only contacts may see the program (`Configuration.visibility`), a pin that another program
/// sets counts soon: nobody who is not seen can call, which would be the time to look.
final class PinWatch: Sendable {
  private let timer = Guarded<EventLoop.Token?>(nil)

  /// Looks at the pins from now on, until the endpoint is closed.
  static func begin(for endpoint: isolated Endpoint) throws(ReactorError) {
    guard endpoint.driver.readMachine({ $0.configuration.isForFamiliars }) else { return }
    let watch = PinWatch()
    let timer = try endpoint.loop.addTimer { now in watch.look(for: endpoint, now: now) }
    watch.timer.withLock { $0 = timer }
    endpoint.loop.setDeadline(timer, SystemClock.now + period)
  }

  private func look(for endpoint: isolated Endpoint, now: Instant) {
    guard let timer = timer.withLock({ $0 }) else { return }
    guard !endpoint.isClosed else { return endpoint.loop.removeTimer(timer) }
    endpoint.loop.setDeadline(timer, now + Self.period)
    Task { await endpoint.takePinChanges() }
  }

  /// From one look to the next.
  private static let period = Duration.seconds(5)
}
