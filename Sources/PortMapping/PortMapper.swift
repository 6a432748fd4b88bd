package import Primitives

/// When a router is asked to open a port, to keep it open, and to close it.
///
/// Gives out one job at a time (`pollJob`), which somebody carries out elsewhere because it blocks,
/// and takes its result. A router that does not answer, or refuses, is asked again after ten
/// minutes, or when the place changes.
package struct PortMapper: Sendable {
  private struct Lease: Sendable {
    var place: RouterPlace
    var port: OpenedPort
    var renewAt: Instant
    var expiresAt: Instant
  }

  private var place: RouterPlace?
  private var lease: Lease?
  private var job: RouterJob?
  private var nextAttempt: Instant?
  private var askedAt: Instant?
  /// Ports of places that were left, and of an endpoint that closes.
  private var unwanted: [RouterJob] = []
  private var isClosing = false
  /// Why nothing is open; `nil` = it is, or nobody was asked.
  package private(set) var fault: RouterFault?

  package init() {}

  // MARK: Inputs

  /// The host is here now; `nil` = there is no router, or nothing to ask it for.
  package mutating func setPlace(_ place: RouterPlace?, now: Instant) {
    guard place != self.place, !isClosing else { return }
    self.place = place
    nextAttempt = place == nil ? nil : now
    fault = nil
    if let lease { abandon(lease.place, lease.port) }
    lease = nil
  }

  /// The job that was given out has come to an end; `nil` = a port was given back.
  package mutating func handleResult(_ result: Result<OpenedPort?, RouterFault>, now: Instant) {
    guard let done = job.take(), case .open(let place, let service, _) = done else { return }
    switch result {
    case .success(let port):
      guard let port else { return }
      guard place == self.place, !isClosing else { return abandon(place, port) }
      let length = min(port.lifetime, .seconds(Int64(RouterLimits.lifetimeSeconds)))
      let renewAt = now + max(length / 2, Self.shortestRenewal)
      lease = Lease(place: place, port: port, renewAt: renewAt, expiresAt: now + length)
      nextAttempt = renewAt
      fault = nil
    case .failure(let fault):
      guard place == self.place, !isClosing else { return }
      self.fault = fault
      // One that was open may be had anew: the router has restarted, or its service has moved.
      nextAttempt = now + (service == nil ? Self.patience : Self.retry)
    }
  }

  /// A rendezvous sees this host there. Where that is not the router's address the router may have
  /// a new one, and is asked, at most once a minute.
  package mutating func handleSeenAddress(_ seen: SocketAddress, now: Instant) {
    guard let lease, seen.family == .v4, !lease.port.external.isSameHost(as: seen),
      let due = nextAttempt
    else { return }
    nextAttempt = min(due, max(now, (askedAt ?? now) + Self.shortestPause))
  }

  /// What has lapsed is no longer told.
  package mutating func handleTimeout(now: Instant) {
    if let lease, lease.expiresAt <= now { self.lease = nil }
  }

  /// Gives back what is open; nothing is asked for any more.
  package mutating func close() {
    guard !isClosing else { return }
    isClosing = true
    nextAttempt = nil
    if let lease { abandon(lease.place, lease.port) }
    lease = nil
  }

  // MARK: Outputs

  /// What is to be done now; `handleResult` says what came of it.
  package mutating func pollJob(now: Instant) -> RouterJob? {
    guard job == nil else { return nil }
    if !unwanted.isEmpty {
      // First of all: what is given back later may be what was opened anew meanwhile.
      job = unwanted.removeFirst()
    } else if let place, let due = nextAttempt, due <= now, !isClosing {
      nextAttempt = nil
      askedAt = now
      // After a failure the router is searched for anew.
      let service = fault == nil ? lease?.port.service : nil
      job = .open(
        place, service: service, wanted: lease?.port.external.port ?? place.firstOuterPort)
    }
    return job
  }

  /// When `handleTimeout` or `pollJob` next has something to do.
  package var nextDeadline: Instant? {
    guard job == nil else { return lease?.expiresAt }
    return earliest(nextAttempt, lease?.expiresAt)
  }

  // MARK: Getters

  /// The port that is open now.
  package var opened: OpenedPort? { lease?.port }

  /// The router that has opened it.
  package var router: SocketAddress? { lease?.place.router }

  /// Whether there is nothing more to be done after `close`.
  package var isClosed: Bool { isClosing && job == nil && unwanted.isEmpty }

  /// Whether a port is open, or being given back. One that is being asked for does not count.
  package var owesPorts: Bool {
    if case .close = job { return true }
    return lease != nil || !unwanted.isEmpty
  }

  private mutating func abandon(_ place: RouterPlace, _ port: OpenedPort) {
    guard unwanted.count < Self.unwantedLimit else { return }
    unwanted.append(.close(place, port))
  }

  /// Ports that wait to be given back; more lapse by themselves.
  private static let unwantedLimit = 4
  /// The soonest that a port is asked for again, whatever lifetime the router gives.
  private static let shortestRenewal = Duration.seconds(10)
  /// Between two questions because of an address that was seen.
  private static let shortestPause = Duration.seconds(60)
  /// Until a router is asked again that gave no port.
  private static let patience = Duration.seconds(600)
  /// Until it is searched for after a renewal that failed.
  private static let retry = Duration.seconds(10)
}
