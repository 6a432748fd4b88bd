package import Earshot

/// The `event` lines: every event of the endpoint by its name in lowerCamelCase, with its details.
package enum EventLine {
  package static func write(_ event: EndpointEvent, to lines: JSONLines) {
    switch event {
    case .registrationChanged(let state): write(state, to: lines)
    case .tokenWillExpire(let left):
      line("tokenWillExpire", to: lines) { $0.add("inMs", UInt64(max(0, left.milliseconds))) }
    case .tokenRenewed: line("tokenRenewed", to: lines)
    case .tokenRefused(let error): line("tokenRefused", to: lines) { add(error, to: &$0) }
    case .relayChanged(.available(let address)):
      line("relayAvailable", to: lines) { $0.add("address", "\(address)") }
    case .relayChanged(.unavailable(let error)):
      line("relayUnavailable", to: lines) { add(error, to: &$0) }
    case .portMappingChanged(.open(let port)):
      line("portMapped", to: lines) { object in
        object.add("protocol", port.service.rawValue)
        object.add("router", port.router.hostText)
        object.add("address", "\(port.external)")
      }
    case .portMappingChanged(.closed): line("portUnmapped", to: lines)
    case .networkChanged(let state):
      line("networkChanged", to: lines) { object in
        object.add("kind", state.kind.rawValue)
        object.add("address", state.address.map { "\($0)" })
      }
    case .incomingCall(let call):
      line("incomingCall", call.id, to: lines) { object in
        object.add("peer", peer(call))
        object.add("video", call.offersVideo)
        object.add("extension", call.userExtension.map(JSONValue.others))
      }
    case .callStateChanged(let id, let state, let reason): write(state, reason, id, to: lines)
    case .callProgress(let id, let step):
      if !step.isUpToPeer || lines.admitsPeersLine() { write(step, id, to: lines) }
    case .statistics(let id, let numbers): StatsLine.write(numbers, id, to: lines)
    case .audioQualityChanged(let id, let change): QualityLine.write(change, id, to: lines)
    // Nobody asks for them; a warning is made of an event that stands here already.
    case .volumes, .activeSpeakerChanged, .commandDone, .warning: break
    case .channel(let channel, let step): ChannelLine.write(channel, step, to: lines)
    case .callEnded: break  // The summary says it.
    }
  }

  static func line(
    _ name: String, _ id: CallID? = nil, to lines: JSONLines,
    _ fill: (inout JSONObject) -> Void = { _ in }
  ) {
    lines.write("event") { object in
      object.add("name", name)
      object.add("callId", id?.description)
      fill(&object)
    }
  }

  private static func write(_ state: RegistrationState, to lines: JSONLines) {
    switch state {
    case .connecting: line("registrationConnecting", to: lines)
    case .reconnecting(let error): line("reconnecting", to: lines) { add(error, to: &$0) }
    case .registered(let seen, let name):
      line("registered", to: lines) { object in
        object.add("seenAs", "\(seen)")
        object.add("nameStatus", name.rawValue)
      }
    case .failed(let error):
      line("registrationFailed", to: lines) { add(error, to: &$0) }
    }
  }

  private static func add(_ error: EarshotError?, to object: inout JSONObject) {
    guard let error else { return }
    object.add("code", error.code.rawValue)
    object.add("message", error.message)
    object.add("advice", error.advice)
  }

  private static func write(
    _ state: CallState, _ reason: CallStateReason, _ id: CallID, to lines: JSONLines
  ) {
    if state == .connecting {
      line("accepted", id, to: lines) { $0.add("reason", reason.rawValue) }
    }
    line(state.rawValue, id, to: lines) { object in
      object.add("state", state.rawValue)
      object.add("reason", reason.rawValue)
    }
  }

  private static func write(_ step: CallProgress, _ id: CallID, to lines: JSONLines) {
    line(name(of: step), id, to: lines) { fill(&$0, step) }
  }

  static func fill(_ object: inout JSONObject, _ step: CallProgress) {
    switch step {
    case .pathReady(let kind, let remote), .pathChanged(let kind, let remote):
      object.add("kind", kind.rawValue)
      object.add("remote", "\(remote)")
    case .answered(let who):
      object.add("peer", peer(who.name, who.id, who.trust, who.nameTrust))
      object.add("extension", who.userExtension.map(JSONValue.others))
    case .shortCode(let letters): object.add("code", letters)
    case .remoteAudioMuted(let isMuted), .remoteVideoMuted(let isMuted):
      object.add("muted", isMuted)
    case .message(let stream, let bytes):
      object.add("stream", Int(stream))
      object.add("bytes", bytes.count)
    case .replaced(let new): object.add("by", new.description)
    case .audioFailed(let text), .videoFailed(let text): object.add("message", text)
    case .messageDelivery(let tag, let isDelivered):
      object.add("tag", tag)
      object.add("delivered", isDelivered)
    case .streamChanged(let change): fill(&object, change)
    case .audioMixingChanged(let change): fill(&object, change)
    case .effectEnded(let number): object.add("effect", Int(number))
    case .firstVideoFrameDecoded(let width, let height),
      .remoteVideoSizeChanged(let width, let height),
      .firstLocalVideoFrame(let width, let height),
      .localVideoSizeChanged(let width, let height):
      fill(&object, width, height)
    case .mediaStarted(let wall): object.add("wallMs", Int(clamping: wall / 1_000_000))
    case .remoteWantsVideo(let isWanted): object.add("wanted", isWanted)
    case .fallback(let change): fill(&object, change)
    case .away(let absence): object.add("waitsMs", Int(clamping: absence.milliseconds))
    case .rejoined(let absence): object.add("afterMs", Int(clamping: absence.milliseconds))
    default: fillMore(&object, step)
    }
  }

  private static func fill(_ object: inout JSONObject, _ change: StreamChange) {
    object.add("stream", change.stream.rawValue)
    object.add("oldState", change.old.rawValue)
    object.add("state", change.new.rawValue)
    object.add("reason", change.reason.rawValue)
    object.add("elapsedMs", Int(clamping: change.elapsed.milliseconds))
  }

  private static func fill(_ object: inout JSONObject, _ width: Int, _ height: Int) {
    object.add("width", width)
    object.add("height", height)
  }

  private static func fill(_ object: inout JSONObject, _ change: AudioMixingChange) {
    object.add("state", change.state.rawValue)
    object.add("reason", change.reason.rawValue)
  }

  static func fill(_ object: inout JSONObject, _ change: FallbackChange) {
    object.add("on", change.isAudioOnly)
    if change.isLowStream { object.add("lowStream", true) }
    object.add("reason", change.reason.rawValue)
    object.add("atMs", change.atMs)
    object.add("estimateBps", change.estimateBps.rounded())
    object.add("neededBps", change.neededBps.rounded())
    object.add("loss", change.loss)
  }

  package static func name(of step: CallProgress) -> String {
    switch step {
    case .delivered: "delivered"
    case .answered: "answered"
    case .pathReady: "pathReady"
    case .pathChanged: "pathChanged"
    case .shortCode: "shortCode"
    case .firstFrameSent: "firstFrameSent"
    case .firstFrameReceived: "firstFrameReceived"
    case .interrupted: "interrupted"
    case .connectionLost: "connectionLost"
    case .away: "away"
    case .resumed: "resumed"
    case .rejoined: "rejoined"
    case .remoteAudioMuted: "remoteAudioMuted"
    case .message: "message"
    case .replaced: "replaced"
    case .audioFailed: "audioFailed"
    case .messageDelivery: "messageDelivery"
    case .remoteVideoMuted: "remoteVideoMuted"
    case .streamChanged: "streamChanged"
    case .audioMixingChanged: "audioMixingChanged"
    case .effectEnded: "effectEnded"
    case .firstLocalVideoFrame: "firstLocalVideoFrame"
    case .localVideoSizeChanged: "localVideoSizeChanged"
    case .firstVideoFrameDecoded: "firstVideoFrameDecoded"
    case .remoteVideoSizeChanged: "remoteVideoSizeChanged"
    case .firstVideoFrameSent: "firstVideoFrameSent"
    case .videoSourceEnded: "videoSourceEnded"
    case .mediaStarted: "mediaStarted"
    case .videoFailed: "videoFailed"
    case .remoteWantsVideo: "remoteWantsVideo"
    case .fallback(let change):
      change.direction == .publish
        ? "localPublishFallbackToAudioOnly" : "remoteSubscribeFallbackToAudioOnly"
    default: nameOfMore(step)
    }
  }

  package static func peer(
    _ name: String?, _ id: PeerID?, _ trust: Trust, _ nameTrust: NameTrust?
  ) -> JSONObject {
    var object = JSONObject()
    object.add("name", name)
    object.add("id", id?.description)
    object.add("trust", trust.rawValue)
    object.add("nameTrust", nameTrust?.rawValue)
    return object
  }

  private static func peer(_ call: IncomingCall) -> JSONObject {
    var object = peer(call.name, call.peer, call.trust, call.nameTrust)
    object.add("newName", call.newName)
    return object
  }
}

extension EndpointEvent {
  /// It is about a message of a call.
  var isOfMessages: Bool {
    switch self {
    case .callProgress(_, .message), .callProgress(_, .messageDelivery),
      .callProgress(_, .messagesMissed):
      true
    default: false
    }
  }
}
