package import Earshot
package import Primitives

/// Contact with the rendezvous as a person is told of it: one warning for each outage, however many
/// attempts it lasts, and one line when it is over.
package struct RendezvousContact {
  /// Why nothing more is attempted; `nil` while attempts go on.
  package private(set) var failure: EarshotError?
  /// Why the last attempt came to nothing; `nil` while there is contact, or nobody knows yet.
  package private(set) var trouble: EarshotError?
  package private(set) var hasHadContact = false
  /// Whether it was said that the clocks differ.
  package var hasToldOfClock = false
  private var hadName = false
  /// When the outage began that was warned of.
  private var outage: Instant?
  /// What was told last of the access token: an outage that was warned of is no word about it.
  private var toldOfToken: EarshotError?
  /// Whether the first contact is waited for without end: then its failures are warned of too.
  private let isPatient: Bool

  package init(isPatient: Bool) { self.isPatient = isPatient }

  /// Takes a change; what to say about it as a warning, if anything.
  package mutating func follow(
    _ state: RegistrationState, isInCall: Bool, now: Instant
  ) -> String? {
    switch state {
    case .connecting: return nil
    case .failed(let error) where mayBeRenewed(error):
      trouble = error
      return tokenAdvice(for: error, now: now)
    case .failed(let error):
      failure = error
      trouble = nil
      return nil
    case .reconnecting(.some(let error)) where mayBeRenewed(error):
      trouble = error
      return tokenAdvice(for: error, now: now)
    case .reconnecting(let error):
      trouble = error
      return warn(of: error, isInCall: isInCall, now: now)
    case .registered(_, let name):
      trouble = nil
      let line = welcome(name, now: now)
      hasHadContact = true
      hadName = name == .granted
      return line
    }
  }

  /// Whether another access token would help.
  package static func wantsToken(_ state: RegistrationState) -> Bool {
    switch state {
    case .failed(let error), .reconnecting(.some(let error)): wantsToken(error)
    case .connecting, .registered, .reconnecting(nil): false
    }
  }

  private static func wantsToken(_ error: EarshotError) -> Bool {
    [.tokenExpired, .tokenRefused].contains(error.code)
  }

  /// Whether a newer access token will begin the attempts again, and is waited for.
  private func mayBeRenewed(_ error: EarshotError) -> Bool {
    isPatient && hasHadContact && Self.wantsToken(error)
  }

  /// Once of each fault, whatever was said of the outage.
  private mutating func tokenAdvice(for error: EarshotError, now: Instant) -> String? {
    outage = outage ?? now
    guard toldOfToken != error else { return nil }
    toldOfToken = error
    return "\(error.message) \(error.advice)"
  }

  private mutating func warn(of error: EarshotError?, isInCall: Bool, now: Instant) -> String? {
    guard outage == nil else { return nil }
    if hasHadContact {
      outage = now
      return "contact with the rendezvous is lost; "
        + (isInCall ? "the call goes on, and so do the attempts" : "trying again until it is back")
    }
    // Before the first contact there is nothing to lose: only an attempt that failed is news.
    guard isPatient, let error else { return nil }
    outage = now
    return "\(error.message) Trying again until it does. \(error.advice)"
  }

  private mutating func welcome(
    _ name: RegistrationState.NameStatus, now: Instant
  ) -> String? {
    defer {
      outage = nil
      toldOfToken = nil
    }
    guard let outage else { return nil }
    let seconds = Int(now.nanoseconds(since: outage) / 1_000_000_000)
    let lost = hadName && name != .granted ? "; the name belongs to another identity by now" : ""
    if hasHadContact { return "registered again after \(Timestamp.clock(seconds: seconds))\(lost)" }
    guard seconds >= Self.toldOutage else { return nil }
    return "the rendezvous answers, after \(Timestamp.clock(seconds: seconds))"
  }

  /// Seconds that a rendezvous was waited for at the start, from which on its answer is told: who
  /// has waited for less sees by the next line that it is there.
  private static let toldOutage = 5
}

/// When to try again what failed for a reason outside: 1, 2, 4 ... 30 s, a quarter more or less.
package struct RetryDelay {
  private var failures = 0

  package init() {}

  /// The next wait.
  ///
  /// - Parameter chance: 0..<1.
  package mutating func next(chance: Double) -> Duration {
    let seconds = min(30, Double(1 << min(failures, 5)))
    failures += 1
    return .milliseconds(Int64(seconds * (0.75 + 0.5 * chance) * 1000))
  }
}
