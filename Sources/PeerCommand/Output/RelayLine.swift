import Earshot

/// The `event` lines of a channel's relay.
enum RelayLine {
  static func write(_ channel: ChannelName, _ step: ChannelRelayStep, to lines: JSONLines) {
    // Who comes and goes, and is heard each time.
    switch step {
    case .progress(.some, _), .audioQualityChanged, .firstFrame, .firstPicture,
      .pictureStreamChanged, .picturesPaused, .seatChanged,
      .audioMuted, .messagesMissed, .rosterDiffers:
      if !lines.admitsPeersLine() { return }
    // The program has its own meters, and asks for none; `RoomMessages` has lines of its own.
    case .volumes, .activeSpeakerChanged, .message, .messageDelivery: return
    case .statistics(let numbers), .ended(let numbers):
      return RelayStatsLine.write(numbers, in: channel, to: lines)
    case .progress(nil, _), .connected, .lost, .refused, .subscribeFallback, .publishFallback,
      .audioFailed, .videoFailed:
      break
    }
    lines.write("event") { object in
      object.add("name", name(of: step))
      object.add("channel", channel.description)
      fill(&object, step)
    }
  }

  private static func fill(_ object: inout JSONObject, _ step: ChannelRelayStep) {
    switch step {
    case .rosterDiffers(let uid): object.add("uid", Int(uid))
    case .firstFrame(let uid, let elapsed), .firstPicture(let uid, let elapsed):
      object.add("uid", Int(uid))
      object.add("elapsedMs", Int(clamping: elapsed.milliseconds))
    case .progress(let uid, let step):
      object.add("uid", uid.map { Int($0) })
      EventLine.fill(&object, step)
    case .audioQualityChanged(let uid, let change):
      object.add("uid", Int(uid))
      QualityLine.fill(&object, change)
    case .pictureStreamChanged(let uid, let isLow):
      object.add("uid", Int(uid))
      object.add("stream", isLow ? "low" : "usual")
    case .audioMuted(let uid, let isMuted):
      object.add("uid", Int(uid))
      object.add("on", isMuted)
    case .seatChanged(let uid, let isSeated):
      object.add("uid", Int(uid))
      object.add("on", isSeated)
    case .picturesPaused(let uid, let isPaused):
      object.add("uid", Int(uid))
      object.add("on", isPaused)
    case .publishFallback(let change): EventLine.fill(&object, change)
    case .subscribeFallback(let pictures):
      object.add("pictures", pictures.rawValue)
      object.add("reason", "line")
    case .messagesMissed(let uid, let stream, let missed, let cached):
      object.add("uid", Int(uid))
      object.add("stream", Int(stream))
      object.add("missed", missed)
      object.add("cached", cached)
    case .audioFailed(let reason), .videoFailed(let reason): object.add("reason", reason)
    case .refused(let reason): object.add("reason", reason.rawValue)
    case .connected, .lost, .volumes, .activeSpeakerChanged, .message, .messageDelivery,
      .statistics, .ended:
      break
    }
  }

  private static func name(of step: ChannelRelayStep) -> String {
    switch step {
    case .connected: "relayConnected"
    case .lost: "relayLost"
    case .refused: "relayRefused"
    case .rosterDiffers: "relayRosterDiffers"
    case .firstFrame: "relayFirstFrame"
    case .firstPicture: "relayFirstPicture"
    case .pictureStreamChanged: "relayPictureStream"
    case .subscribeFallback: "relaySubscribeFallback"
    case .volumes: "relayVolumes"
    case .activeSpeakerChanged: "relayActiveSpeaker"
    case .seatChanged: "relaySeatChanged"
    case .audioMuted: "relayAudioMuted"
    case .message: "relayMessage"
    case .messagesMissed: "relayMessagesMissed"
    case .messageDelivery: "relayMessageDelivery"
    case .publishFallback: "relayPublishFallback"
    case .picturesPaused: "relayPicturesPaused"
    case .audioFailed: "relayAudioFailed"
    case .videoFailed: "relayVideoFailed"
    // As of a call.
    case .progress(_, let step): EventLine.name(of: step)
    case .audioQualityChanged: QualityLine.name
    case .statistics, .ended: "relayStatistics"
    }
  }
}
