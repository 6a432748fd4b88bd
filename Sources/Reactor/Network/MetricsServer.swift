package import Primitives

/// Serves metrics, and how the server is, from a thread of its own: whoever scrapes, however slowly
/// or often, takes nothing from the datagrams. The numbers are at most a second old.
package final class MetricsServer {
  private static let pace = Duration.seconds(1)
  /// A loop that has not turned for so long stands still.
  package static let stillness = Duration.seconds(10)

  private struct Latest {
    var text: String
    var moment: Instant
    var isStopping = false
  }

  private let loop: EventLoop
  private let own: EventLoop
  private let latest: Guarded<Latest>
  private let refresh: EventLoop.Token
  package let localAddress: SocketAddress

  /// Listens at once.
  ///
  /// - Parameters:
  ///   - loop: The loop of the datagrams, on which `text` is called once a second.
  package init(
    binding address: SocketAddress, on loop: EventLoop, text: @escaping () -> String
  ) throws(ReactorError) {
    var options = EventLoop.Options()
    options.name = "earshot-metrics"
    let own = try EventLoop(options)
    let latest = Guarded(Latest(text: text(), moment: SystemClock.now))
    let listener = try HTTPMetricsListener(binding: address, on: own) { path in
      Self.answer(path, latest.withLock { $0 }, now: SystemClock.now)
    }
    localAddress = listener.localAddress
    try own.start()
    let next = Guarded<EventLoop.Token?>(nil)
    let refresh = try loop.addTimer { now in
      let fresh = text()
      latest.withLock { ($0.text, $0.moment) = (fresh, now) }
      if let token = next.withLock({ $0 }) { loop.setDeadline(token, now + Self.pace) }
    }
    next.withLock { $0 = refresh }
    loop.setDeadline(refresh, SystemClock.now + Self.pace)
    (self.loop, self.own, self.latest, self.refresh) = (loop, own, latest, refresh)
  }

  /// The server takes no more registrations: `/ready` says so from now on.
  package func noteStopping() { latest.withLock { $0.isStopping = true } }

  private static func answer(_ path: String, _ latest: Latest, now: Instant) -> HTTPAnswer? {
    let stands = now > latest.moment && now - latest.moment > stillness
    switch path {
    case "/metrics": return HTTPAnswer(latest.text)
    case "/health": return stands ? HTTPAnswer("stands still\n", isGood: false) : HTTPAnswer("ok\n")
    case "/ready":
      if stands { return HTTPAnswer("stands still\n", isGood: false) }
      return latest.isStopping
        ? HTTPAnswer("stopping\n", isGood: false) : HTTPAnswer("ready\n")
    default: return nil
    }
  }

  /// Closes the listener and every connection.
  package func stop() {
    loop.removeTimer(refresh)
    own.stop()
    own.join()
  }
}
