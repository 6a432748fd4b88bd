import Earshot

/// What the other side has switched, offers and turns.
extension EventLine {
  static func fillMore(_ object: inout JSONObject, _ step: CallProgress) {
    switch step {
    case .lookingAgain(let sentence): object.add("message", sentence)
    case .messagesMissed(let stream, let missed, let cached):
      object.add("stream", Int(stream))
      object.add("missed", missed)
      object.add("cached", cached)
    case .remoteAudioEnabled(let isOn), .remoteVideoEnabled(let isOn),
      .remoteAudioCaptureEnabled(let isOn), .remoteVideoCaptureEnabled(let isOn),
      .remoteAudioMixing(let isOn):
      object.add("enabled", isOn)
    case .remoteVideoStreamChanged(let stream): object.add("stream", stream.rawValue)
    case .remoteLowVideoOffered(let low):
      object.add("bitsPerSecond", low?.bitsPerSecond)
      if let low {
        object.add("width", low.size.width)
        object.add("height", low.size.height)
      }
    case .localVideoRotated(let rotation), .remoteVideoRotated(let rotation):
      object.add("degrees", rotation.degrees)
    // Whoever reads the lines is not to get in by them: the token stays out.
    case .invitedToChannel(let invitation): object.add("channel", invitation.channel.description)
    case .channelWord(let word):
      object.add("word", word.name)
      object.add("peer", word.peer?.description)
    default: break
    }
  }

  static func nameOfMore(_ step: CallProgress) -> String {
    switch step {
    case .lookingAgain: "lookingAgain"
    case .messagesMissed: "messagesMissed"
    case .remoteAudioMixing: "remoteAudioMixing"
    case .remoteAudioEnabled: "remoteAudioEnabled"
    case .remoteVideoEnabled: "remoteVideoEnabled"
    case .remoteAudioCaptureEnabled: "remoteAudioCaptureEnabled"
    case .remoteVideoCaptureEnabled: "remoteVideoCaptureEnabled"
    case .remoteVideoStreamChanged: "remoteVideoStreamChanged"
    case .remoteLowVideoOffered: "remoteLowVideoOffered"
    case .localVideoRotated: "localVideoRotated"
    case .remoteVideoRotated: "remoteVideoRotated"
    case .invitedToChannel: "invitedToChannel"
    case .channelWord: "channelWord"
    default: "step"
    }
  }
}

extension EventLine {
  /// What a key of this side did.
  static func writeOwn(_ name: String, _ id: CallID, to lines: JSONLines) {
    lines.write("event") { object in
      object.add("name", name)
      object.add("callId", id.description)
    }
  }
}
