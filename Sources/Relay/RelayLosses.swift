import Primitives

/// A relay that was lost because the server did not answer, and how it is given back.
struct OldRelay: Sendable {
  let proof: RelayAuthentication
  let credentials: RelayCredentials
  /// Whether it was given back, as far as we know.
  var isTried = false

  init(_ proof: RelayAuthentication, _ credentials: RelayCredentials) {
    self.proof = proof
    self.credentials = credentials
  }
}

/// What is remembered of relays that were lost, so that the next is asked for in time and not too
/// often.
struct RelayLosses: Sendable {
  /// Of a relay that was lost because the server did not answer: it may still keep it for us, and
  /// then gives no other.
  private(set) var old: OldRelay?
  /// When a relay was last lost that was asked for again at once.
  private var lostAt: Instant?
  /// When a relay was last lost that had been given.
  private var missedSince: Instant?
  /// When that one was last given back for a new one.
  private var givenBackAt: Instant?

  /// A relay that had been given is lost.
  ///
  /// - Parameter old: If the server may still keep it.
  mutating func handleLoss(_ old: OldRelay?, now: Instant) {
    missedSince = now
    self.old = old
  }

  /// The server gave no relay.
  mutating func handleRefusal(_ error: RelayError) {
    if error == .noAnswer {
      old?.isTried = false
    } else if error == .allocationLost {
      old = nil
    }
  }

  /// The old relay is to be given back now; `nil` = there is none, or that was tried.
  mutating func takeOld() -> OldRelay? {
    guard let old, !old.isTried else { return nil }
    self.old?.isTried = true
    return old
  }

  mutating func forgetOld() { old = nil }

  mutating func handleGivenBack(now: Instant) { givenBackAt = now }

  /// Whether the server may keep for a moment what was given back (coturn: 1 s).
  func mayRoomCome(now: Instant) -> Bool {
    givenBackAt.map { now < $0 + Self.mostRoomPause } ?? false
  }

  /// How long to wait before a relay that was lost is asked for again. A server that gives relays
  /// and takes them again is not asked without end.
  mutating func pauseBeforeAnother(now: Instant) -> Duration {
    defer { lostAt = now }
    guard let lostAt, now < lostAt + Self.pause else { return .zero }
    return Self.pause
  }

  /// Whether there was a relay not long ago: as long as a call may wait for a side that is away.
  func isMissed(now: Instant) -> Bool {
    missedSince.map { now < $0 + Self.longestMissed } ?? false
  }

  /// Until the server may have forgotten an allocation of an earlier program on our port, or be
  /// well again.
  static let pause = Duration.seconds(10)
  private static let mostRoomPause = Duration.seconds(3)
  private static let longestMissed = Duration.seconds(1200)
}
