internal import Earshot
internal import Primitives
internal import Reactor

/// One stay in one channel as `earshot join` tells of it; `ChannelMedia` does what is told of.
final class RoomStay {
  let media: ChannelMedia
  private let command: JoinCommand
  let session: OnlineSession
  let sound: RoomSound
  private(set) var role: ChannelRole
  private(set) var names: RoomNames
  private(set) var uid: UInt32 = 0
  private(set) var joined: Instant?
  private(set) var closing: (reason: ChannelReason, at: Instant)?
  private(set) var code = ExitCode.done
  private(set) var isOver = false
  private var missingRelay = MissingRelay()
  private(set) var isMuted = false
  private(set) var isVideoMuted = false

  init(
    _ media: ChannelMedia, as role: ChannelRole, _ command: JoinCommand, _ session: OnlineSession,
    _ sound: RoomSound
  ) {
    self.media = media
    self.role = role
    self.command = command
    self.session = session
    self.sound = sound
    let identity = session.options.identity
    names = RoomNames(own: session.endpoint.id) { OnlineSession.pinnedNames(by: identity) }
    isMuted = command.startsMuted
  }

  var channel: Channel { media.channel }

  // MARK: - Inputs

  /// A step of the channel, before `media` has it.
  func handleStep(_ step: ChannelStep) {
    switch step {
    case .userJoined(let user, _), .audienceJoined(let user): names.add(user)
    default: break
    }
    let words =
      step == .relayUnavailable
      ? missingRelay.words(command.way, now: SystemClock.now)
      : ChannelWords.sentence(step, in: channel.name, names)
    if let words {
      let console = session.console
      if step.isUpToOthers { console.sayOfOthers(words) } else { console.say(words) }
    }
    switch step {
    case .joined(let uid, _):
      self.uid = uid
      joined = SystemClock.now
    // Who becomes audience is told as well.
    case .userOffline(let uid, let reason) where reason != .becameAudience: names.remove(uid)
    case .audienceLeft(let uid, _): names.remove(uid)
    case .roleChanged(_, let new): role = new
    case .stateChanged(.failed, let reason): fail(reason, ChannelWords.code(of: reason))
    default: break
    }
  }

  func handleMedia(_ step: ChannelMediaStep) {
    switch step {
    case .relay(let step): handleRelay(step)
    case .wayChanged(let way):
      if way == .mesh {
        session.console.say("The channel is small enough again: host to host.")
      }
      writeWay(way)
    case .ended(let end): handleEnd(end)
    case .channel, .firstFrame, .muted, .progress, .statistics, .callEnded, .message,
      .messagesMissed, .messageDelivery:
      break
    }
  }

  private func handleEnd(_ end: ChannelMediaEnd) {
    isOver = true
    switch end {
    case .left, .channelFailed, .closed: break  // The channel has told.
    case .noRelay: fail(.noRelay, .unreachable)
    case .relayFull:
      let option = command.way == .relay ? "--relay" : "--relay-only"
      fail(
        .channelFull, .refused,
        "the relay has no room; leave out \(option), or let its operator raise --limit-seats")
    case .tooManyMembers(let count, let isRelayFull):
      fail(
        .channelFull, .refused,
        ChannelWords.refusal(members: count, command.way, isRelayFull: isRelayFull))
    }
  }

  private func handleRelay(_ step: ChannelRelayStep) {
    RelayLine.write(channel.name, step, to: session.lines)
    switch step {
    case .connected:
      missingRelay = MissingRelay()
      session.console.say("Audio goes by a relay, sealed for the members.")
    case .lost:
      let meanwhile = command.way == .relayOnly ? "it is waited for" : "host to host meanwhile"
      session.console.say("No contact with the relay; \(meanwhile).")
    case .refused(let reason): session.console.say(ChannelWords.sentence(reason, command.way))
    case .firstFrame, .statistics, .ended, .firstPicture, .pictureStreamChanged, .volumes,
      .activeSpeakerChanged, .message, .messagesMissed, .messageDelivery, .progress,
      .audioQualityChanged:
      break
    case .audioMuted, .seatChanged, .subscribeFallback, .publishFallback, .picturesPaused:
      session.console.say(ChannelWords.sentence(step, names))
    case .rosterDiffers: session.console.sayOfOthers(ChannelWords.sentence(step, names))
    case .audioFailed(let reason), .videoFailed(let reason): session.console.sayFailed(reason)
    }
  }

  func leave() async {
    guard ending == nil else { return isOver = true }
    closing = (.left, SystemClock.now)
    await media.leave()
  }

  /// Keeps the own sound back, or lets it go on; it holds for whoever comes later as well.
  func setMuted(_ isMuted: Bool) async {
    self.isMuted = isMuted
    await media.setAudioMuted(isMuted)
  }

  /// Keeps the own pictures back, or lets them go on, in the same way.
  func setVideoMuted(_ isMuted: Bool) async {
    isVideoMuted = isMuted
    await media.setVideoMuted(isMuted)
  }

  /// Asks for the other role; the channel tells what comes of it.
  func toggleRole() async {
    do throws(EarshotError) {
      try await media.setRole(role == .host ? .audience : .host)
    } catch {
      session.lines.write("event") { object in
        object.add("name", "roleChangeFailed")
        object.add("channel", channel.name.description)
        object.add("reason", error.code.rawValue)
        object.add("message", error.message)
        object.add("role", role.rawValue)
      }
      session.console.sayFailed("\(error.message) \(error.advice)")
    }
  }

  /// Removes the member that a key stands for; the channel tells what comes of it.
  func remove(_ choice: RemovalChoice, by key: Character) async {
    guard let uid = choice.uid(for: key) else { return session.console.say("Nobody is removed.") }
    do throws(EarshotError) {
      try await channel.remove(uid, banSeconds: choice.bans ? RemovalChoice.banSeconds : 0)
    } catch {
      session.console.sayFailed("\(error.message) \(error.advice)")
    }
  }

  // MARK: - Parts

  private func fail(_ reason: ChannelReason, _ code: ExitCode, _ words: String? = nil) {
    guard ending == nil else { return }
    closing = (reason, SystemClock.now)
    self.code = code
    session.console.sayFailed(
      "\(channel.name.shortText): \(words ?? ChannelWords.text(of: reason))")
  }

  private func writeWay(_ way: ChannelMedia.Way) {
    guard command.way == .auto else { return }
    session.lines.write("event") { object in
      object.add("name", "channelWayChanged")
      object.add("channel", channel.name.description)
      object.add("way", way.rawValue)
    }
  }
}
