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
