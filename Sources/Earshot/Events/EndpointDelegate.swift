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
  /// This host sends over another network.
  func endpoint(_ endpoint: Endpoint, didChangeNetwork state: NetworkState) async
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
  /// How loud this side is, or the others are.
  func endpoint(_ endpoint: Endpoint, didMeasureVolumes report: VolumeReport) async
  /// Somebody else than before speaks most.
  func endpoint(_ endpoint: Endpoint, didChangeActiveSpeaker call: CallID) async
  /// Something is not as it should be, and goes on by itself.
  func endpoint(_ endpoint: Endpoint, didWarn warning: EndpointWarning) async
  /// A command was carried out, or refused.
  func endpoint(_ endpoint: Endpoint, didCarryOut command: CommandTrace) async
  /// Something happened in a channel.
  func endpoint(_ endpoint: Endpoint, channel: ChannelName, didProgress step: ChannelStep) async
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
  public func endpoint(_ endpoint: Endpoint, didChangeNetwork state: NetworkState) async {}
  /// Does nothing.
  public func endpoint(_ endpoint: Endpoint, didReceive call: IncomingCall) async {}
  /// Does nothing.
  public func endpoint(
    _ endpoint: Endpoint, channel: ChannelName, didProgress step: ChannelStep
  ) async {}
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
  public func endpoint(_ endpoint: Endpoint, didMeasureVolumes report: VolumeReport) async {}
  /// Does nothing.
  public func endpoint(_ endpoint: Endpoint, didChangeActiveSpeaker call: CallID) async {}
  /// Does nothing.
  public func endpoint(_ endpoint: Endpoint, didWarn warning: EndpointWarning) async {}
  /// Does nothing.
  public func endpoint(_ endpoint: Endpoint, didCarryOut command: CommandTrace) async {}
  /// Does nothing.
  public func endpoint(_ endpoint: Endpoint, call: CallID, didEnd report: CallReport) async {}
}

extension Endpoint {
  /// Hands every event from now on to `delegate`, in order, until the endpoint is closed.
  public nonisolated func deliverEvents(to delegate: any EndpointDelegate) async {
    for await event in await events() { await event.deliver(to: delegate, of: self) }
  }
}

extension EndpointEvent {
  /// Calls the method that is there for it.
  func deliver(to delegate: any EndpointDelegate, of endpoint: Endpoint) async {
    switch self {
    case .registrationChanged(let state):
      await delegate.endpoint(endpoint, didChangeRegistration: state)
    case .relayChanged(let state): await delegate.endpoint(endpoint, didChangeRelay: state)
    case .portMappingChanged(let state):
      await delegate.endpoint(endpoint, didChangePortMapping: state)
    case .tokenWillExpire(let left): await delegate.endpoint(endpoint, tokenWillExpireIn: left)
    case .tokenRenewed: await delegate.endpoint(endpoint, didRenewToken: nil)
    case .tokenRefused(let error): await delegate.endpoint(endpoint, didRenewToken: error)
    case .networkChanged(let state): await delegate.endpoint(endpoint, didChangeNetwork: state)
    case .incomingCall(let call): await delegate.endpoint(endpoint, didReceive: call)
    case .callStateChanged(let id, let state, let reason):
      await delegate.endpoint(endpoint, call: id, didChange: state, reason: reason)
    case .callProgress(let id, let step):
      await delegate.endpoint(endpoint, call: id, didProgress: step)
    case .statistics(let id, let numbers):
      await delegate.endpoint(endpoint, call: id, didMeasure: numbers)
    case .audioQualityChanged(let id, let change):
      await delegate.endpoint(endpoint, call: id, didChangeAudioQuality: change)
    case .volumes(let report): await delegate.endpoint(endpoint, didMeasureVolumes: report)
    case .activeSpeakerChanged(let id):
      await delegate.endpoint(endpoint, didChangeActiveSpeaker: id)
    case .warning(let warning): await delegate.endpoint(endpoint, didWarn: warning)
    case .commandDone(let command): await delegate.endpoint(endpoint, didCarryOut: command)
    case .channel(let name, let step):
      await delegate.endpoint(endpoint, channel: name, didProgress: step)
    case .callEnded(let id, let report): await delegate.endpoint(endpoint, call: id, didEnd: report)
    }
  }
}
