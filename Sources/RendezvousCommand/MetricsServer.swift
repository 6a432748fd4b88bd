import Primitives
import Reactor

/// Serves metrics from a thread of its own: whoever scrapes, however slowly or often, takes nothing
/// from the datagrams. The numbers are at most a second old.
final class MetricsServer {
  private static let pace = Duration.seconds(1)

  private let loop: EventLoop
  private let own: EventLoop
  private let latest: Guarded<String>
  private let refresh: EventLoop.Token
  let localAddress: SocketAddress

  /// Listens at once.
  ///
  /// - Parameters:
  ///   - loop: The loop of the datagrams, on which `text` is called once a second.
  init(
    binding address: SocketAddress, on loop: EventLoop, text: @escaping () -> String
  ) throws(ReactorError) {
    var options = EventLoop.Options()
    options.name = "earshot-metrics"
    let own = try EventLoop(options)
    let latest = Guarded(text())
    let listener = try HTTPMetricsListener(binding: address, on: own) {
      latest.withLock { $0 }
    }
    localAddress = listener.localAddress
    try own.start()
    let next = Guarded<EventLoop.Token?>(nil)
    let refresh = try loop.addTimer { now in
      let fresh = text()
      latest.withLock { $0 = fresh }
      if let token = next.withLock({ $0 }) { loop.setDeadline(token, now + Self.pace) }
    }
    next.withLock { $0 = refresh }
    loop.setDeadline(refresh, SystemClock.now + Self.pace)
    (self.loop, self.own, self.latest, self.refresh) = (loop, own, latest, refresh)
  }

  /// Closes the listener and every connection.
  func stop() {
    loop.removeTimer(refresh)
    own.stop()
    own.join()
  }
}
