internal import Primitives
internal import Reactor
internal import Wire

/// What of one call is told, and how the endpoint stands.
extension Endpoint {
  /// Contact with the rendezvous as it is now.
  public var registrationState: RegistrationState { registration }

  /// A wait; ends early when the endpoint is closed, which is looked for each `step`.
  ///
  /// - Returns: Whether the endpoint is there still.
  @discardableResult
  func rest(_ duration: Duration, step: Duration = .milliseconds(20)) async -> Bool {
    let end = SystemClock.now + duration
    waiters.resting += 1
    while !isClosed, SystemClock.now < end {
      await pause(min(step, end - SystemClock.now))
    }
    waiters.resting -= 1
    return !isClosed
  }

  func state(of id: CallID) -> CallState { calls[resolve(id)]?.told.state ?? .ended }
}

/// Tasks of the application that wait for something of an endpoint.
struct Waiters {
  typealias Registration = Result<RegistrationState.NameStatus, EarshotError>

  /// For an answer of the rendezvous.
  var registration: [CheckedContinuation<Registration, Never>] = []
  /// Why there is no registration, told while nobody waited: whoever waits first hears it at once.
  var unheard: EarshotError?
  /// For a moment; how many there are.
  var resting = 0
  /// For the end, which somebody else has begun.
  private var closing: [CheckedContinuation<Void, Never>] = []
  private var hasEnded = false

  /// The rendezvous has answered, or will not.
  mutating func release(_ result: Registration) {
    let waiting = registration
    registration = []
    if !waiting.isEmpty { unheard = nil }
    for waiter in waiting { waiter.resume(returning: result) }
  }

  mutating func awaitEnd(_ waiter: CheckedContinuation<Void, Never>) {
    if hasEnded { return waiter.resume() }
    closing.append(waiter)
  }

  /// Everything has been let go.
  mutating func end() {
    hasEnded = true
    for waiter in closing { waiter.resume() }
    closing = []
  }
}
