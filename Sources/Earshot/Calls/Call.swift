/// One call of an endpoint: a name for it, not a state of its own. Its events are the endpoint's.
public struct Call: Sendable, Identifiable {
  /// The same 16 bytes on both sides.
  public let id: CallID
  let endpoint: Endpoint

  package init(id: CallID, endpoint: Endpoint) {
    self.id = id
    self.endpoint = endpoint
  }

  /// Answers an incoming call: from here on this side can send.
  public func accept(_ options: CallOptions) async throws(EarshotError) {
    try await endpoint.accept(id, options)
  }

  /// Says no.
  ///
  /// - Parameters:
  ///   - reason: Words for the caller; at most 128 bytes of them arrive.
  ///   - userExtension: User data for the caller, JSON, at most 1024 bytes.
  public func reject(
    reason: String = "", userExtension: String? = nil
  ) async throws(EarshotError) {
    try await endpoint.reject(id, Farewell(reason, userExtension))
  }

  /// Says that this program takes no such call: another one of the same identity still may. The
  /// caller hears it where there is none.
  ///
  /// - Parameter reason: Words for the caller; at most 128 bytes of them arrive.
  package func leaveToOthers(reason: String) async throws(EarshotError) {
    try await endpoint.reject(id, .leavingToOthers(reason))
  }

  /// Ends the call: cancels or rejects it before an answer, hangs up after. Harmless when it is
  /// over.
  ///
  /// - Parameters:
  ///   - reason: Words for the other side; at most 128 bytes arrive, and none with a cancel.
  ///   - userExtension: User data for the other side, JSON; beyond 1024 bytes none arrive.
  public func hangUp(reason: String = "", userExtension: String? = nil) async {
    await endpoint.hangUp(id, Farewell(reason, userExtension))
  }

  /// Who the other side is, as far as that is known by now: all of it since the answer
  /// (`CallProgress.answered`) at the caller, since the ring at the callee. `nil` before a dialled
  /// name was found, and when the call is over.
  public var peer: CallPeer? {
    get async { await endpoint.peer(of: id) }
  }

  /// Where the call stands; `ended` when there is no such call any more.
  public var state: CallState {
    get async { await endpoint.state(of: id) }
  }

  /// The events of this call alone: the first 64 that there were by now, without numbers and
  /// messages, and all from now on. Ends after `EndpointEvent.callEnded`, and at once when there is
  /// no such call.
  public func events() async -> AsyncStream<EndpointEvent> { await Self.events(endpoint, of: id) }

  /// The numbers since the beginning of the call; `nil` when there is no such call any more.
  public func statistics() async -> CallStatistics? { await endpoint.statistics(of: id) }
}
