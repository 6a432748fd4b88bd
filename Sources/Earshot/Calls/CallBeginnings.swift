/// How each call began, for who asks for its events when it is already under way: between
/// `Endpoint.call` and `Call.events` it may be answered. Belongs to the endpoint's actor.
struct CallBeginnings {
  private var events: [CallID: [EndpointEvent]] = [:]

  /// The first events of a call, in their order; without numbers and messages.
  func events(of id: CallID) -> [EndpointEvent] { events[id] ?? [] }

  mutating func append(_ event: EndpointEvent) {
    guard let id = event.callID else { return }
    switch event {
    case .statistics, .volumes, .callProgress(_, .message), .callProgress(_, .messagesMissed):
      return
    // Told of a call that is over as well, which it does not begin anew.
    case .commandDone where events[id] == nil: return
    case .callEnded:
      events[id] = nil
      return
    default: break
    }
    guard events[id] != nil || events.count < Self.mostCalls else { return }
    if events[id, default: []].count < Self.mostEvents { events[id, default: []].append(event) }
    // Who asks for the call by its new ID wants all of it.
    if case .callProgress(_, .replaced(let new)) = event {
      events[new] = (events.removeValue(forKey: id) ?? []) + (events[new] ?? [])
    }
  }

  /// Of one call.
  private static let mostEvents = 64
  /// More than an endpoint has at a time.
  private static let mostCalls = 64
}
