/// The events of an endpoint as methods, for those who come from SDKs with delegates. Every method
/// has an empty default. It is a reader of `Endpoint.events()`, not a second path.
public protocol EndpointDelegate: AnyObject, Sendable {
  /// Contact with the rendezvous changed.
  func endpoint(_ endpoint: Endpoint, didChangeRegistration state: RegistrationState) async
  /// There is a relay now, or none.
  func endpoint(_ endpoint: Endpoint, didChangeRelay state: RelayState) async
  /// The host's router lets peers in at a port, or no longer does.
  func endpoint(_ endpoint: Endpoint, didChangePortMapping state: PortMappingState) async
  /// The access token ends in so long: hand over a newer one (`Endpoint.renewToken`).
  func endpoint(_ endpoint: Endpoint, tokenWillExpireIn left: Duration) async
  /// The rendezvous has accepted a newer access token, or has not and says why; the one before then
  /// holds until its end.
  func endpoint(_ endpoint: Endpoint, didRenewToken error: EarshotError?) async
  /// Somebody calls.
  func endpoint(_ endpoint: Endpoint, didReceive call: IncomingCall) async
  /// A call moved to another state.
  func endpoint(
    _ endpoint: Endpoint, call: CallID, didChange state: CallState, reason: CallStateReason) async
  /// A step within a state.
  func endpoint(_ endpoint: Endpoint, call: CallID, didProgress step: CallProgress) async
  /// The numbers of a call so far, each 2 s: totals and means since its beginning; the grades and
  /// what names a window are of the last 2 s.
  func endpoint(_ endpoint: Endpoint, call: CallID, didMeasure statistics: CallStatistics) async
  /// Received audio has become bad, or good again.
  func endpoint(
    _ endpoint: Endpoint, call: CallID, didChangeAudioQuality change: AudioQualityChange) async
  /// A call is over.
  func endpoint(_ endpoint: Endpoint, call: CallID, didEnd report: CallReport) async
}

extension EndpointDelegate {
  /// Does nothing.
  public func endpoint(_ endpoint: Endpoint, didChangeRegistration state: RegistrationState) async {
  }
  /// Does nothing.
  public func endpoint(_ endpoint: Endpoint, didChangeRelay state: RelayState) async {}
  /// Does nothing.
  public func endpoint(_ endpoint: Endpoint, didChangePortMapping state: PortMappingState) async {
  }
  /// Does nothing.
  public func endpoint(_ endpoint: Endpoint, tokenWillExpireIn left: Duration) async {}
  /// Does nothing.
  public func endpoint(_ endpoint: Endpoint, didRenewToken error: EarshotError?) async {}
  /// Does nothing.
  public func endpoint(_ endpoint: Endpoint, didReceive call: IncomingCall) async {}
  /// Does nothing.
  public func endpoint(
    _ endpoint: Endpoint, call: CallID, didChange state: CallState, reason: CallStateReason
  ) async {}
  /// Does nothing.
  public func endpoint(_ endpoint: Endpoint, call: CallID, didProgress step: CallProgress) async {}
  /// Does nothing.
  public func endpoint(_ endpoint: Endpoint, call: CallID, didMeasure statistics: CallStatistics)
    async
  {}
  /// Does nothing.
  public func endpoint(
    _ endpoint: Endpoint, call: CallID, didChangeAudioQuality change: AudioQualityChange
  ) async {}
  /// Does nothing.
  public func endpoint(_ endpoint: Endpoint, call: CallID, didEnd report: CallReport) async {}
}

extension Endpoint {
  /// Hands every event from now on to `delegate`, in order, until the endpoint is closed.
  public nonisolated func deliverEvents(to delegate: any EndpointDelegate) async {
    for await event in await events() {
      switch event {
      case .registrationChanged(let state):
        await delegate.endpoint(self, didChangeRegistration: state)
      case .relayChanged(let state): await delegate.endpoint(self, didChangeRelay: state)
      case .portMappingChanged(let state):
        await delegate.endpoint(self, didChangePortMapping: state)
      case .tokenWillExpire(let left): await delegate.endpoint(self, tokenWillExpireIn: left)
      case .tokenRenewed: await delegate.endpoint(self, didRenewToken: nil)
      case .tokenRefused(let error): await delegate.endpoint(self, didRenewToken: error)
      case .incomingCall(let call): await delegate.endpoint(self, didReceive: call)
      case .callStateChanged(let id, let state, let reason):
        await delegate.endpoint(self, call: id, didChange: state, reason: reason)
      case .callProgress(let id, let step):
        await delegate.endpoint(self, call: id, didProgress: step)
      case .statistics(let id, let numbers):
        await delegate.endpoint(self, call: id, didMeasure: numbers)
      case .audioQualityChanged(let id, let change):
        await delegate.endpoint(self, call: id, didChangeAudioQuality: change)
      case .callEnded(let id, let report): await delegate.endpoint(self, call: id, didEnd: report)
      }
    }
  }
}
