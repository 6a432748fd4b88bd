internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// How commands of a call are carried out, on the endpoint's own thread.
extension Call {
  /// What the application switches.
  static func switchMedia(
    _ endpoint: isolated Endpoint, _ id: CallID,
    _ change: @Sendable (inout MediaSwitches) -> Void
  ) throws(EarshotError) {
    let callID = endpoint.resolve(id)
    guard let record = endpoint.calls[callID] else {
      throw .callState("There is no such call.")
    }
    var changed = record.switches
    change(&changed)
    try record.check(changed)
    if record.options.source != nil || changed.audio.isSilent {
      try endpoint.command { machine, now throws(PeerRefusal) in
        try machine.setAudioMuted(callID, changed.audio.isSilent, now: now)
      }
    }
    endpoint.changeMedia(callID) { media, now in record.apply(changed, to: media, now: now) }
    endpoint.publish(record.adopt(changed, now: SystemClock.now), of: callID)
  }

  /// What a call's options say of video.
  static func changeVideo(
    _ endpoint: isolated Endpoint, _ id: CallID, _ body: @Sendable (inout CallOptions) -> Void
  ) throws(EarshotError) {
    let changed = try endpoint.change(id) { record throws(EarshotError) in
      var options = record.options
      body(&options)
      try options.checkVideo()
      guard options.remoteVideoStream == .high || options.videoSink != nil else {
        throw .callState("The call has no video sink.")
      }
      record.options = options
      return options
    }
    endpoint.changeMedia(endpoint.resolve(id)) { media, _ in media.applyOptions(changed) }
  }

  /// One call has priority at most.
  static func setRemotePriority(
    _ endpoint: isolated Endpoint, _ id: CallID, _ priority: RemotePriority
  ) throws(EarshotError) {
    let callID = endpoint.resolve(id)
    guard endpoint.calls[callID] != nil else { throw .callState("There is no such call.") }
    for other in endpoint.calls.keys where other == callID || priority == .high {
      endpoint.changeMedia(other) { media, _ in
        media.video?.change { $0.hasPriority = other == callID && priority == .high }
      }
    }
  }

  /// The events of one call, from its beginning until it is over. A call that goes on under the
  /// other side's ID (`CallProgress.replaced`) is followed.
  static func events(
    _ endpoint: isolated Endpoint, of id: CallID
  ) -> AsyncStream<EndpointEvent> {
    let first = CallID(endpoint.resolve(id))
    guard endpoint.calls[first.wire] != nil else { return AsyncStream { $0.finish() } }
    return .held(1024) { continuation in
      for event in endpoint.readers.beginnings.events(of: first) { continuation.append(event) }
      if endpoint.readers.hasEnded { return continuation.finish() }
      let number = endpoint.readers.add(continuation, of: first)
      continuation.onTermination = { [weak endpoint] _ in
        guard let endpoint else { return }
        Task { await endpoint.forget(number) }
      }
    }
  }
}
