internal import Primitives
internal import Reactor
internal import Wire

/// What of one call is told, and how the endpoint stands.
extension Endpoint {
  /// Contact with the rendezvous as it is now.
  public var registrationState: RegistrationState { registration }

  /// A wait for the application; ends early when the endpoint is closed.
  func rest(_ duration: Duration) async {
    let end = SystemClock.now + duration
    waiters.resting += 1
    while !isClosed, SystemClock.now < end {
      await pause(min(.milliseconds(20), end - SystemClock.now))
    }
    waiters.resting -= 1
  }

  func state(of id: CallID) -> CallState { calls[resolve(id)]?.told.state ?? .ended }
}
