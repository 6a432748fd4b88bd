internal import Earshot
internal import Primitives
internal import Reactor

/// What becomes of a call of which one end brings in a third: a channel of all of them, in which
/// the call goes on (docs/protocol/channels.md §10). Before that it does nothing.
final class CallRoom {
  /// Who is brought in.
  private struct Guest {
    let call: CallID
    let target: String
    let voice: RoomVoice
  }

  /// The call with the other end.
  var pair: CallID
  private let session: OnlineSession
  private let sound: SoundOptions
  /// Nobody else can call the program of somebody who called.
  private let dialsAll: Bool
  /// `nil` where the sound is nobody else's.
  private var growing: GrowingSound?
  /// At the other end of the call, once there is a channel.
  private var other: PeerID?
  private var growth = CallGrowth()
  private var guest: Guest?
  /// Of the channel, where this end has made it.
  private var key: ChannelKey?
  private var stay: RoomStay?
  private var hasInvited = false
  private var hasGrown = false
  private var isLeaving = false
  private var isMuted: Bool
  /// Of the call, which is over while others are still there.
  private var report: CallReport?
  /// What was typed of whom to invite.
  private(set) var typed: String?

  init(_ pair: CallID, _ session: OnlineSession, _ sound: SoundOptions, dialsAll: Bool) {
    self.pair = pair
    self.session = session
    self.sound = sound
    self.dialsAll = dialsAll
    isMuted = sound.startsMuted
  }

  func use(_ growing: GrowingSound?) { self.growing = growing }

  // MARK: - Inputs

  func handle(_ input: SessionInput) async {
    if case .endpoint(let event) = input { await handleEvent(event) }
    await advance()
  }

  /// Calls a third; the other end hears nothing of it before that one has answered.
  func invite(_ target: String) async {
    guard let growing else { return refuse("Others cannot share the sound of this call.") }
    guard growth.third == nil else { return refuse("Somebody is being called already.") }
    guard stay == nil || key != nil else {
      return refuse("Whoever brought others into this call invites more of them.")
    }
    let mix = growing.grow(now: SystemClock.now)
    let voice = RoomVoice(mix.mixer)
    var options = CallOptions(
      source: SharedEar(mix.source), sink: voice.makeSink(.mesh))
    options.bitrate = sound.bitrate
    options.startsMuted = isMuted
    options.userExtension = Self.invitation
    writeEvent("inviteStarted", target)
    do throws(EarshotError) {
      try await openUp()
      let call = try await session.endpoint.call(target, options: options)
      growth.ring(call.id)
      guest = Guest(call: call.id, target: target, voice: voice)
      session.console.say("Calling \(who(target)) ...")
    } catch {
      writeEvent("inviteFinished", target, "failed")
      refuse("\(error.message) \(error.advice)")
    }
  }

  /// Letters of whom to invite.
  ///
  /// - Returns: Whether the key was one of them.
  func takeKey(_ key: Character) async -> Bool {
    guard let text = typed else { return false }
    switch key {
    case "\n":
      typed = nil
      if !text.isEmpty { await invite(text) }
    case "\u{7F}": typed = text.isEmpty ? nil : String(text.dropLast())
    default: if text.utf8.count < Self.longestTarget { typed = text + String(key) }
    }
    return true
  }

  func startTyping() { typed = "" }

  /// In all calls.
  func setMuted(_ isMuted: Bool) async throws(EarshotError) {
    if report == nil { try await session.endpoint.call(pair).setAudioMuted(isMuted) }
    self.isMuted = isMuted
    await stay?.setMuted(isMuted)
    guard let third = growth.third else { return }
    do throws(EarshotError) {
      try await session.endpoint.call(third).setAudioMuted(isMuted)
    } catch {
      session.console.log(.info, error.message)
    }
  }

  /// The call is over; others may still be there.
  func end(_ report: CallReport) async {
    self.report = report
    if hasOthers, !isLeaving {
      session.console.say("The other end has left; others are still there.")
    }
    if growth.isRinging, let third = growth.third {
      growth.cancel()
      await session.endpoint.call(third).hangUp()
    }
  }

  /// Of the call, once nobody else is there any more.
  func takeReport() -> CallReport? {
    guard isLeaving || (growth.third == nil && !hasOthers) else { return nil }
    return report.take()
  }

  /// Leaves; the call with the other end is for whoever has it.
  func leave() async {
    isLeaving = true
    if let third = growth.third { await session.endpoint.call(third).hangUp() }
    await stay?.leave()
  }

  /// All is over.
  func close() async {
    if let stay {
      if !stay.isOver { await stay.leave() }
      stay.writeSummary(as: "channelSummary")
    }
    stay = nil
    growing?.finish()
    guard hasGrown else { return }
    do throws(EarshotError) {
      try await session.endpoint.setMaximumCalls(session.options.transport.maximumCalls)
    } catch {
      session.console.log(.info, error.message)
    }
  }

  var nextDeadline: Instant? {
    guard let stay else { return growth.nextDeadline }
    return earliest(growth.nextDeadline, stay.nextDeadline)
  }

  // MARK: - Events

  private func handleEvent(_ event: EndpointEvent) async {
    switch event {
    case .callProgress(let call, .channelOffered(let pass)) where call == pair: await join(pass)
    case .callProgress(let call, .replaced(let new)): stay?.handleReplaced(call, by: new)
    case .callProgress(let call, .firstFrameReceived): stay?.handleFirstFrame(of: call)
    case .callStateChanged(let call, .connected, _): await handleConnected(call)
    case .callEnded(let call, let report):
      stay?.handleEnd(of: call)
      if growth.handleEnded(call) == .giveUp { giveUp(report) }
    case .channel(let name, let step) where stay?.channel.name == name:
      await stay?.handleStep(step)
    case .incomingCall(let call) where hasGrown: await answer(call)
    default: break
    }
  }

  private func handleConnected(_ call: CallID) async {
    if call == pair, let target = sound.invite, !hasInvited {
      hasInvited = true
      await invite(target)
    }
    if growth.handleConnected(call, now: SystemClock.now) == .offer { await offer() }
  }

  private func advance() async {
    await stay?.advance()
    if let stay, stay.isOver, !isLeaving {
      // Calls that were made for the channel go with it; the call that was there before goes on.
      for call in stay.linkedCalls where call != pair {
        await session.endpoint.call(call).hangUp()
      }
      stay.writeSummary(as: "channelSummary")
      self.stay = nil
      key = nil
    }
    switch growth.update(areTogether: areTogether, now: SystemClock.now) {
    case .welcome:
      guard let guest else { break }
      writeEvent("inviteFinished", guest.target, "joined")
      session.console.say("\(who(guest.target)) is in the call.")
    case .letGo: await letGo("not all could come into one channel")
    case .offer, .giveUp, nil: break
    }
  }

  /// Another member calls, or somebody for whom this is busy.
  private func answer(_ call: IncomingCall) async {
    if let stay, !stay.isOver, await stay.answer(call) { return }
    do throws(EarshotError) {
      try await session.endpoint.call(call.id).reject(reason: "busy")
    } catch {
      session.console.log(.info, error.message)
    }
  }

  // MARK: - The channel

  /// Whether there is somebody besides the other end of the call.
  private var hasOthers: Bool { stay?.others.contains { $0.id != other } ?? false }

  private var areTogether: Bool {
    guard let stay, let guest else { return false }
    let linked = stay.linkedCalls
    return linked.contains(guest.call) && (linked.contains(pair) || report != nil)
  }

  /// The third has answered: makes the channel, and asks both into it.
  private func offer() async {
    guard let growing, let guest, let other = await session.endpoint.call(pair).peer?.id,
      let third = await session.endpoint.call(guest.call).peer?.id,
      third != other, third != session.endpoint.id
    else { return await letGo("it is in the call already, or the call is over") }
    let key = self.key ?? ChannelKey()
    self.other = other
    do throws(EarshotError) {
      if stay == nil {
        let pass = key.pass(for: session.endpoint.id, manages: true)
        start(try await session.endpoint.join(pass), growing)
        self.key = key
        let mix = growing.grow(now: SystemClock.now)
        await stay?.adopt(pair, with: other, as: mix.first)
      }
      await stay?.adopt(guest.call, with: third, as: guest.voice)
      try await session.endpoint.call(pair).offer(key.pass(for: other))
      try await session.endpoint.call(guest.call).offer(key.pass(for: third))
    } catch {
      await letGo(error.message)
    }
  }

  /// The other end has brought in a third, or this one is the third.
  private func join(_ pass: ChannelPass) async {
    guard let growing, stay == nil, growth.third == nil,
      let other = await session.endpoint.call(pair).peer?.id
    else { return session.console.log(.info, "a channel was offered, and not joined") }
    self.other = other
    do throws(EarshotError) {
      try await openUp()
      start(try await session.endpoint.join(pass), growing)
      let mix = growing.grow(now: SystemClock.now)
      await stay?.adopt(pair, with: other, as: mix.first)
      session.console.say("The call is one of several from now on.")
    } catch {
      session.console.sayFailed("\(error.message) \(error.advice)")
    }
  }

  private func start(_ channel: Channel, _ growing: GrowingSound) {
    let mix = growing.grow(now: SystemClock.now)
    var plan = RoomPlan(way: .mesh, video: sound.video.withoutPictures, bitrate: sound.bitrate)
    plan.dialsAll = dialsAll
    plan.isHurried = true
    stay = RoomStay(
      channel, as: .host, plan, session, RoomSound(mix.source, mix.mixer, sound),
      isMuted: isMuted)
  }

  private func openUp() async throws(EarshotError) {
    hasGrown = true
    try await session.endpoint.setMaximumCalls(JoinRun.mostLinks)
  }

  // MARK: - The third does not come

  private func giveUp(_ report: CallReport) {
    guard let guest else { return }
    self.guest = nil
    writeEvent("inviteFinished", guest.target, report.outcome.rawValue)
    session.console.say(
      "\(who(guest.target)) does not come: \(report.reason) The call goes on as it was.")
  }

  private func letGo(_ reason: String) async {
    growth.cancel()
    guard let guest else { return }
    self.guest = nil
    writeEvent("inviteFinished", guest.target, "failed")
    session.console.sayFailed("\(who(guest.target)) is let go: \(reason).")
    if let stay, let third = await session.endpoint.call(guest.call).peer?.id,
      let user = stay.others.first(where: { $0.id == third })
    {
      await stay.remove(user.uid)
    }
    await session.endpoint.call(guest.call).hangUp()
  }

  // MARK: - Words

  private func refuse(_ words: String) { session.console.sayFailed(words) }

  private func who(_ target: String) -> String { PeerID(target).map(Wording.short) ?? target }

  private func writeEvent(_ name: String, _ target: String, _ outcome: String? = nil) {
    session.lines.write("event") { object in
      object.add("name", name)
      object.add("callId", pair.description)
      object.add("target", target)
      object.add("outcome", outcome)
    }
  }

  /// The user data of an invitation that brings in a third.
  static let invitation = "{\"earshot\":\"third\"}"
  /// A card is longer; it can be imported.
  private static let longestTarget = 64
}
