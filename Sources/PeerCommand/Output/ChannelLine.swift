package import Earshot

/// The `event` lines of channels: every step by its name in lowerCamelCase, with its details.
package enum ChannelLine {
  package static func write(_ channel: ChannelName, _ step: ChannelStep, to lines: JSONLines) {
    if step.isUpToOthers, !lines.admitsPeersLine() { return }
    lines.write("event") { object in
      object.add("name", name(of: step))
      object.add("channel", channel.description)
      fill(&object, step)
    }
  }

  private static func fill(_ object: inout JSONObject, _ step: ChannelStep) {
    switch step {
    case .stateChanged(let state, let reason):
      object.add("state", state.rawValue)
      object.add("reason", reason.rawValue)
    case .joined(let uid, let elapsed), .rejoined(let uid, let elapsed):
      object.add("uid", Int(uid))
      object.add("elapsedMs", Int(clamping: elapsed.milliseconds))
    case .left(let duration): object.add("durationMs", Int(clamping: duration.milliseconds))
    case .userJoined(let user, let elapsed):
      add(user, to: &object)
      object.add("elapsedMs", Int(clamping: elapsed.milliseconds))
    case .audienceJoined(let user): add(user, to: &object)
    case .userOffline(let uid, let reason), .audienceLeft(let uid, let reason):
      object.add("uid", Int(uid))
      object.add("reason", reason.rawValue)
    case .memberReturned(let uid): object.add("uid", Int(uid))
    case .roleChanged(let old, let new):
      object.add("oldRole", old.rawValue)
      object.add("role", new.rawValue)
    case .roleChangeFailed(let reason, let current):
      object.add("reason", reason.rawValue)
      object.add("role", current.rawValue)
    case .tokenWillExpire(let left): object.add("inMs", Int(clamping: left.milliseconds))
    case .tokenRefused(let reason): object.add("reason", reason.rawValue)
    case .removalFinished(let uid, let reason):
      object.add("uid", Int(uid))
      object.add("reason", reason?.rawValue)
    case .memberChecked(let uid, let isGenuine):
      object.add("uid", Int(uid))
      object.add("genuine", isGenuine)
    case .relayGranted(let grant): object.add("relay", "\(grant.relay)")
    case .contactLost, .tokenNeeded, .tokenRenewed, .relayUnavailable: break
    }
  }

  package static func add(_ user: ChannelUser, to object: inout JSONObject) {
    object.add("uid", Int(user.uid))
    object.add("id", "\(user.id)")
    object.add("role", user.role.rawValue)
  }

  private static func name(of step: ChannelStep) -> String {
    switch step {
    case .stateChanged: "channelStateChanged"
    case .joined: "channelJoined"
    case .rejoined: "channelRejoined"
    case .left: "channelLeft"
    case .userJoined: "userJoined"
    case .userOffline: "userOffline"
    case .audienceJoined: "audienceJoined"
    case .audienceLeft: "audienceLeft"
    case .memberReturned: "memberReturned"
    case .roleChanged: "roleChanged"
    case .roleChangeFailed: "roleChangeFailed"
    case .contactLost: "channelContactLost"
    case .tokenWillExpire: "channelTokenWillExpire"
    case .tokenNeeded: "channelTokenNeeded"
    case .tokenRenewed: "channelTokenRenewed"
    case .tokenRefused: "channelTokenRefused"
    case .removalFinished: "removalFinished"
    case .memberChecked: "memberChecked"
    case .relayGranted: "relayGranted"
    case .relayUnavailable: "relayUnavailable"
    }
  }
}
