internal import Earshot
internal import Primitives
internal import Reactor

/// One stay in one channel: with each member that is to be heard, or is to hear us, there is a
/// call, or all of it goes by a relay (`RoomWay`).
final class RoomStay {
  let channel: Channel
  private let command: JoinCommand
  let session: OnlineSession
  let sound: RoomSound
  private(set) var links: RoomLinks
  private(set) var way: RoomWay
  private(set) var role: ChannelRole
  private(set) var uid: UInt32 = 0
  private(set) var joined: Instant?
  private(set) var closing: (reason: ChannelReason, at: Instant)?
  private(set) var code = ExitCode.done
  private(set) var isOver = false
  /// Members of whom a first frame came, by either way.
  private(set) var heard: Set<UInt32> = []
  private(set) var relay: ChannelRelay?
  private var overlap = RoomOverlap()
  private(set) var hasHadRelay = false
  private(set) var relayCounts = RelayedCounts()
  var roll = RoomRoll()
  private(set) var isMuted = false
  private(set) var isVideoMuted = false

  /// What went by relays, over all seats.
  struct RelayedCounts {
    var sent = 0
    var opened = 0
    var unopened = 0
    var losses = 0
    var fingerprint: String?
    /// The one of now; `nil` while there are no keys.
    var presentFingerprint: String?
  }

  init(
    _ channel: Channel, as role: ChannelRole, _ command: JoinCommand, _ session: OnlineSession,
    _ sound: RoomSound
  ) {
    self.channel = channel
    self.role = role
    self.command = command
    self.session = session
    self.sound = sound
    way = RoomWay(command.way)
    links = RoomLinks(own: session.endpoint.id, checks: channel.name.needsToken)
  }

  // MARK: - Inputs

  func handleStep(_ step: ChannelStep) async {
    let isKnown = step == .relayUnavailable && way.isUnavailable
    if !isKnown, let words = ChannelWords.sentence(step, in: channel.name) {
      let console = session.console
      if step.isUpToOthers { console.sayOfOthers(words) } else { console.say(words) }
    }
    switch step {
    case .joined(let uid, _):
      self.uid = uid
      joined = SystemClock.now
    case .userJoined(let user, _), .audienceJoined(let user):
      links.add(user)
      roll.add(user)
    case .userOffline(let uid, .becameAudience):
      links.setAudience(uid)
      roll.setAudience(uid)
    case .userOffline(let uid, _), .audienceLeft(let uid, _):
      roll.leave(uid, heard: sound.heard(uid, in: channel.name))
      sound.remove(uid, in: channel.name)
      overlap.remove(uid)
      if let call = links.remove(uid) { await session.endpoint.call(call).hangUp() }
    case .memberChecked(let uid, let isGenuine):
      links.check(uid, isGenuine: isGenuine)
      if !isGenuine { session.console.sayOfOthers("The token of \(uid) is not genuine.") }
    case .roleChanged(_, let new): await changeRole(to: new)
    case .stateChanged(.failed, let reason): fail(reason, ChannelWords.code(of: reason))
    case .left: isOver = true
    case .relayUnavailable:
      way.handleUnavailable()
      // One that is gone for a while is asked for again, and the members talk host to host.
      if way.choice.isByRelay, !hasHadRelay { fail(.noRelay, .unreachable) }
    default: break
    }
    await relay?.handle(step)
  }

  func handleRelay(_ step: ChannelRelayStep) {
    RelayLine.write(channel.name, step, to: session.lines)
    switch step {
    case .connected:
      session.console.say("Audio goes by a relay, sealed for the members.")
      way.handleConnected()
      hasHadRelay = true
      overlap.handleConnected(now: SystemClock.now)
    case .lost:
      relayCounts.losses += 1
      let meanwhile = way.choice == .relayOnly ? "it is waited for" : "host to host meanwhile"
      session.console.say("No contact with the relay; \(meanwhile).")
      way.handleLost()
      links.retryAll()
    case .refused(let reason): handleRefusal(reason)
    case .firstFrame(let uid, _): heard.insert(uid)
    case .statistics(let all), .ended(let all): handleNumbers(all)
    case .firstPicture, .pictureStreamChanged, .volumes, .activeSpeakerChanged, .message,
      .messagesMissed, .messageDelivery, .progress, .audioQualityChanged:
      break
    case .audioMuted, .seatChanged, .subscribeFallback, .publishFallback, .picturesPaused:
      session.console.say(ChannelWords.sentence(step))
    case .rosterDiffers: session.console.sayOfOthers(ChannelWords.sentence(step))
    case .audioFailed(let reason), .videoFailed(let reason): session.console.sayFailed(reason)
    }
  }

  private func handleRefusal(_ reason: RelayRefusal) {
    session.console.say(ChannelWords.sentence(reason, way.choice))
    guard reason == .relayFull else { return }
    way.handleFull()
    links.retryAll()
    if way.choice.isByRelay, !hasHadRelay {
      let option = way.choice == .relay ? "--relay" : "--relay-only"
      fail(
        .channelFull, .refused,
        "the relay has no room; leave out \(option), or let its operator raise --limit-seats")
    }
  }

  /// The first audio frame of a call has come.
  func handleFirstFrame(of call: CallID) {
    if links.hear(call), let uid = links.uid(of: call) { heard.insert(uid) }
  }

  func handleEnd(of call: CallID, _ numbers: CallStatistics?) {
    if let uid = links.uid(of: call) {
      if let numbers { roll.setNumbers(numbers, of: uid) }
      sound.endCall(with: uid, in: channel.name)
      roll.setNumbers(nil, of: uid)
    }
    links.end(call, now: SystemClock.now)
  }

  func handleNumbers(_ numbers: CallStatistics, of call: CallID) {
    if let uid = links.uid(of: call) { roll.setNumbers(numbers, of: uid) }
  }

  /// What follows from all that has happened; comes after each input.
  func advance() async {
    guard ending == nil, let joined else { return }
    let now = SystemClock.now
    let counts = links.counts
    let step = way.update(
      hosts: counts.hosts + (role == .host ? 1 : 0), members: counts.members + 1,
      isLinked: links.isComplete(own: role), stay: now - joined, now: now)
    switch step {
    case .startRelay: await startRelay()
    case .restRelay:
      await countRelay()
      await relay?.rest()
      session.console.say("The channel is small enough again: host to host.")
      tellWay("mesh")
    case .refuse:
      return fail(.channelFull, .refused, way.refusal(members: counts.members + 1))
    case nil: break
    }
    let fingerprint = await relay?.standing.fingerprint ?? ""
    relayCounts.presentFingerprint = fingerprint.isEmpty ? nil : fingerprint
    if relay != nil, !links.calls.isEmpty { await reviewCalls(now: now) }
    links.setCallsAll(way.callsAll, now: now)
    if way.makesCalls(now: now) { await dial(now: now) }
  }

  /// Takes a call of a member, or of somebody who says so.
  ///
  /// - Returns: Whether it is about this channel.
  func answer(_ call: IncomingCall) async -> Bool {
    let isSeatless = call.userExtension == words(isSeatless: true)
    guard isSeatless || call.userExtension == words(isSeatless: false) else { return false }
    let link = await session.endpoint.call(call.id)
    let now = SystemClock.now
    do throws(EarshotError) {
      guard ending == nil, way.takesCalls(now: now),
        let uid = links.caller(call.peer, own: role, isSeatless: isSeatless)
      else {
        try await link.reject(reason: "not in the channel")
        return true
      }
      links.begin(call.id, with: uid, isSeatless: isSeatless)
      try await link.accept(options(for: uid))
    } catch {
      session.console.log(.info, error.message)
      handleEnd(of: call.id, nil)
    }
    return true
  }

  func leave() async {
    guard ending == nil else { return isOver = true }
    closing = (.left, SystemClock.now)
    await hangUp(links.calls)
    await countRelay()
    await relay?.stop()
    relay = nil
    await channel.leave()
  }

  /// Keeps the own sound back, or lets it go on; it holds for whoever comes later as well.
  func setMuted(_ isMuted: Bool) async {
    self.isMuted = isMuted
    await muteCalls()
    await relay?.setAudioMuted(isMuted)
  }

  /// Keeps the own pictures back, or lets them go on, in the same way.
  func setVideoMuted(_ isMuted: Bool) async {
    isVideoMuted = isMuted
    await muteCalls()
    await relay?.setVideoMuted(isMuted)
  }

  /// Asks for the other role; the channel tells what comes of it.
  func toggleRole() async {
    do throws(EarshotError) {
      try await channel.setRole(role == .host ? .audience : .host)
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

  var nextDeadline: Instant? {
    guard ending == nil, joined != nil else { return nil }
    let now = SystemClock.now
    var next = earliest(
      way.nextDeadline(after: now), way.makesCalls(now: now) ? links.nextRetry(own: role) : nil)
    if relay != nil, !links.calls.isEmpty { next = earliest(next, now + .milliseconds(250)) }
    return next
  }

  // MARK: - Parts

  private func fail(_ reason: ChannelReason, _ code: ExitCode, _ words: String? = nil) {
    isOver = true
    guard ending == nil else { return }
    closing = (reason, SystemClock.now)
    self.code = code
    session.console.sayFailed(
      "\(channel.name.shortText): \(words ?? ChannelWords.text(of: reason))")
  }

  private func changeRole(to new: ChannelRole) async {
    role = new
    await hangUp(links.unwanted(own: new))
    await muteCalls()
  }

  private var isVideoKept: Bool { role == .audience || isVideoMuted }

  private func muteCalls() async {
    for (_, call) in links.linked {
      do throws(EarshotError) {
        let link = await session.endpoint.call(call)
        try await link.setAudioMuted(role == .audience || isMuted)
        if command.video.picture != nil { try await link.setVideoMuted(isVideoKept) }
      } catch {
        session.console.log(.info, error.message)
      }
    }
  }

  private func hangUp(_ calls: [CallID]) async {
    for call in calls { await session.endpoint.call(call).hangUp() }
  }

  // MARK: - The mesh

  /// Calls those whom we are to call: the lesser ID does.
  private func dial(now: Instant) async {
    while let user = links.nextToDial(own: role, now: now) {
      do throws(EarshotError) {
        let call = try await session.endpoint.call("\(user.id)", options: options(for: user.uid))
        links.begin(call.id, with: user.uid)
      } catch {
        session.console.log(.info, "no link to \(user.uid): \(error.message)")
        links.fail(user.uid, now: now)
      }
    }
  }

  /// What tells a call of the mesh from others, and that its caller has no seat at the relay.
  private func words(isSeatless: Bool) -> String {
    "{\"channel\":\"\(channel.name.audience)\"\(isSeatless ? ",\"seat\":false" : "")}"
  }

  private func options(for uid: UInt32) -> CallOptions {
    var options = CallOptions(
      source: sound.makeSource(), sink: sound.makeSink(uid, in: channel.name, by: .mesh))
    options.startsMuted = role == .audience || isMuted
    options.startsVideoMuted = isVideoKept
    sound.addPictures(to: &options, with: uid, in: channel.name)
    options.bitrate = command.bitrate
    options.userExtension = words(isSeatless: way.callsAll)
    options.remembersPeer = false
    return options
  }

  // MARK: - The relay

  private func startRelay() async {
    tellWay("relay")
    if relay == nil {
      let (sound, feed, name) = (self.sound, session.inbox.feed, channel.name)
      var options = ChannelRelay.Options(
        makeSource: { sound.makeSource() },
        makeSink: { sound.makeSink($0, in: name, by: .relay) },
        onStep: { feed.yield(.relay(name, $0)) })
      options.bitrate = command.bitrate
      options.maxVideoBitrate = command.video.maxBitrate
      options.fallback = command.video.fallback
      if command.video.picture != nil { options.makeVideoSource = { sound.makePictures() } }
      if command.video.save != nil { options.makeVideoSink = { sound.makeScreen($0, in: name) } }
      relay = ChannelRelay(channel, options)
      await relay?.setAudioMuted(isMuted)
      await relay?.setVideoMuted(isVideoMuted)
    }
    await relay?.start()
  }

  /// Ends the calls whose other ends have a seat as we have.
  private func reviewCalls(now: Instant) async {
    guard let relay else { return }
    let seatless = links.seatless
    for (user, call) in links.linked where !seatless.contains(call) {
      let silence = await relay.silence(of: user.uid)
      let isRelayed = silence.map { $0 < .milliseconds(500) } ?? false
      let isSeated = await relay.isSeated(user.uid)
      sound.setRelayed(isRelayed, user.uid, in: channel.name)
      overlap.update(user.uid, isHeard: isRelayed, isSeated: isSeated, now: now)
      if way.endsCalls, overlap.isOver(with: user.uid, now: now) { await hangUp([call]) }
    }
  }

  private func tellWay(_ way: String) {
    guard command.way == .auto else { return }
    session.lines.write("event") { object in
      object.add("name", "channelWayChanged")
      object.add("channel", channel.name.description)
      object.add("way", way)
    }
  }

  private func countRelay() async {
    guard let relay else { return }
    let (counts, standing) = (await relay.counts, await relay.standing)
    relayCounts.sent += Int(clamping: counts.sent)
    relayCounts.opened += Int(clamping: counts.opened)
    relayCounts.unopened += Int(clamping: counts.unopened)
    if !standing.fingerprint.isEmpty { relayCounts.fingerprint = standing.fingerprint }
  }
}
