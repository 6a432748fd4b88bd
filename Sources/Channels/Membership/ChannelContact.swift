import Primitives

/// When a channel was last heard of, and when to ask next.
struct ChannelContact {
  private let limits: ChannelLimits
  /// From one SYNC to the next.
  var period: Duration
  /// Sound goes on without it: tries do not end.
  var isCarried = false
  private(set) var lastHeard: Instant?
  private let began: Instant
  private(set) var requestDue: Instant
  private var lastRequest: Instant
  private var isAnswered = true
  private var isLossTold = false

  init(limits: ChannelLimits, now: Instant) {
    self.limits = limits
    period = limits.period
    began = now
    requestDue = now
    lastRequest = now
  }

  /// When something was last heard, or was to be heard for the first time.
  var lastSign: Instant { lastHeard ?? began }

  mutating func hear(now: Instant) {
    lastHeard = now
    isLossTold = false
    // What comes unasked postpones nothing: our request is the server's sign of life.
    guard !isAnswered else { return }
    isAnswered = true
    requestDue = lastRequest + period
  }

  /// Asks at once.
  mutating func hurry(now: Instant) {
    requestDue = now
    isAnswered = true
  }

  mutating func noteRequest(now: Instant) {
    lastRequest = now
    isAnswered = false
    requestDue = now + min(limits.repetition, period)
  }

  /// Since contact counts as interrupted.
  func outage(now: Instant) -> Duration { max(.zero, now - (lastSign + patience)) }

  func isInterrupted(now: Instant) -> Bool { now >= lastSign + patience }

  /// Whether contact is lost, said once.
  mutating func takeLoss(now: Instant) -> Bool {
    guard !isLossTold, now >= lastSign + limits.contactLoss else { return false }
    isLossTold = true
    return true
  }

  func isOver(now: Instant) -> Bool { !isCarried && now >= lastSign + limits.givingUp }

  func nextDeadline(isJoined: Bool) -> Instant? {
    if isJoined { return lastSign + patience }
    if isLossTold { return isCarried ? nil : lastSign + limits.givingUp }
    return lastSign + limits.contactLoss
  }

  private var patience: Duration { period / 2 + limits.interruption }
}
