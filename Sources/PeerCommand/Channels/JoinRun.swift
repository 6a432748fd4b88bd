internal import Earshot
internal import Primitives
internal import Reactor

/// One stay in a channel: what happens becomes lines, and with each member that is to be heard, or
/// is to hear us, there is a call. So a channel of this program is a mesh.
package final class JoinRun {
  /// Calls at once: the mesh's 8 members without us, and one that a restarted member begins.
  package static let mostLinks = 8

  package private(set) var isOver = false
  package private(set) var code = ExitCode.done
  private let command: JoinCommand
  private let channel: Channel
  private let session: OnlineSession
  private let sound: RoomSound
  private var links: RoomLinks
  private var role: ChannelRole
  private var uid: UInt32 = 0
  private var joined: Instant?
  private var heardCount = 0
  /// The way by a relay, where it is wanted and the channel is joined.
  private var relay: ChannelRelay?
  /// Whether calls are made: always without a relay, and while it is lost.
  private var isMesh: Bool
  private var hasHadRelay = false
  private var relayLosses = 0
  private var relayCounts: (sent: Int, opened: Int, unopened: Int)?
  private var fingerprint: String?
  private var ending: ChannelReason?
  private var deadlines = Deadlines<Timer>()

  enum Timer: CaseIterable, Hashable, Sendable {
    /// `--duration` is over.
    case duration
    /// Links that came to nothing are tried again.
    case links
    /// Leaving takes no longer.
    case leaving
  }

  init(_ command: JoinCommand, _ channel: Channel, _ session: OnlineSession, _ sound: RoomSound) {
    self.command = command
    self.channel = channel
    self.session = session
    self.sound = sound
    role = command.role
    isMesh = !command.usesRelay
    links = RoomLinks(own: session.endpoint.id, checks: channel.name.needsToken)
  }

  package func handle(_ input: SessionInput) async {
    switch input {
    case .endpoint(.channel(let name, let step)) where name == channel.name: await handleStep(step)
    case .endpoint(.incomingCall(let call)): await answer(call)
    case .endpoint(.callProgress(_, .firstFrameReceived)): heardCount += 1
    case .endpoint(.callEnded(let id, _)): links.end(id, now: SystemClock.now)
    case .relay(let step): await handleRelay(step)
    case .signal(.interrupt), .signal(.terminate), .signal(.hangUp), .key("q"), .key("Q"):
      await leave()
    case .wake: await wake()
    default: break
    }
    if ending == nil, joined != nil, isMesh { await dial() }
    session.inbox.wake(at: deadlines.next)
  }

  // MARK: - The channel

  private func handleStep(_ step: ChannelStep) async {
    if let words = ChannelWords.sentence(step, in: channel.name) {
      let console = session.console
      if step.isUpToOthers { console.sayOfOthers(words) } else { console.say(words) }
    }
    switch step {
    case .joined(let uid, _):
      self.uid = uid
      joined = SystemClock.now
      if let duration = command.duration {
        deadlines.set(.duration, at: SystemClock.now + .milliseconds(Int64(duration * 1000)))
      }
      if command.usesRelay { await beginRelay() }
    case .userJoined(let user, _), .audienceJoined(let user): links.add(user)
    case .userOffline(let uid, .becameAudience): links.setAudience(uid)
    case .userOffline(let uid, _), .audienceLeft(let uid, _):
      if let call = links.remove(uid) { await session.endpoint.call(call).hangUp() }
    case .memberChecked(let uid, let isGenuine):
      links.check(uid, isGenuine: isGenuine)
      if !isGenuine { session.console.sayOfOthers("The token of \(uid) is not genuine.") }
    case .roleChanged(_, let new): role = new
    case .stateChanged(.failed, let reason):
      ending = reason
      code = Self.code(of: reason)
      session.console.sayFailed("\(channel.name.shortText): \(ChannelWords.text(of: reason))")
      isOver = true
    case .left: isOver = true
    // One that is gone for a while is asked for again, and the members talk host to host.
    case .relayUnavailable where relay != nil && !hasHadRelay:
      ending = .noRelay
      code = .unreachable
      session.console.sayFailed("\(channel.name.shortText): \(ChannelWords.text(of: .noRelay))")
      isOver = true
    default: break
    }
    await relay?.handle(step)
  }

  private static func code(of reason: ChannelReason) -> ExitCode {
    switch reason {
    case .tokenNeeded, .tokenRefused, .tokenExpired, .notPermitted: .identity
    case .contactLost: .unreachable
    default: .refused
    }
  }

  private func leave() async {
    guard ending == nil else { return isOver = true }
    ending = .left
    await hangUpAll()
    await endRelay()
    await channel.leave()
    deadlines.set(.leaving, at: SystemClock.now + .seconds(2))
  }

  private func wake() async {
    while let timer = deadlines.popDue(at: SystemClock.now) {
      switch timer {
      case .duration: await leave()
      case .links: break  // `dial` comes after each input.
      case .leaving: isOver = true
      }
    }
  }

  // MARK: - The mesh

  /// Calls those whom we are to call: the lesser ID does.
  private func dial() async {
    while let user = links.nextToDial(own: role, now: SystemClock.now) {
      do throws(EarshotError) {
        let call = try await session.endpoint.call("\(user.id)", options: callOptions)
        links.begin(call.id, with: user.uid)
      } catch {
        session.console.log(.info, "no link to \(user.uid): \(error.message)")
        links.fail(user.uid, now: SystemClock.now)
      }
    }
    if let retry = links.nextRetry { deadlines.set(.links, at: retry) }
  }

  private func answer(_ call: IncomingCall) async {
    let link = await session.endpoint.call(call.id)
    do throws(EarshotError) {
      guard isMesh, call.userExtension == words, let uid = await caller(call.peer) else {
        return try await link.reject(reason: "not in the channel")
      }
      links.begin(call.id, with: uid)
      try await link.accept(callOptions)
    } catch {
      session.console.log(.info, error.message)
      links.end(call.id, now: SystemClock.now)
    }
  }

  /// Its uid, if it may call us: a member whom we have checked, as far as there is anything to be
  /// checked. Whoever is not on our roster yet calls again in a second.
  private func caller(_ peer: PeerID) async -> UInt32? { links.caller(peer, own: role) }

  /// What tells a call of the mesh from others.
  private var words: String { "{\"channel\":\"\(channel.name.audience)\"}" }

  private var callOptions: CallOptions {
    var options = CallOptions(
      source: role == .host ? sound.makeSource() : nil, sink: sound.makeSink())
    options.bitrate = command.bitrate
    options.userExtension = words
    options.remembersPeer = false
    return options
  }

  private func hangUpAll() async {
    for call in links.calls { await session.endpoint.call(call).hangUp() }
  }

  // MARK: - The relay

  private func beginRelay() async {
    let (sound, feed) = (self.sound, session.inbox.feed)
    var options = ChannelRelay.Options(
      source: role == .host ? sound.makeSource() : nil, makeSink: { _ in sound.makeSink() },
      onStep: { feed.yield(.relay($0)) })
    options.bitrate = command.bitrate
    let relay = ChannelRelay(channel, options)
    self.relay = relay
    await relay.start()
  }

  private func handleRelay(_ step: ChannelRelayStep) async {
    RelayLine.write(channel.name, step, to: session.lines)
    switch step {
    case .connected:
      session.console.say("Audio goes by a relay, sealed for the members.")
      isMesh = false
      hasHadRelay = true
      await hangUpAll()
    case .lost:
      relayLosses += 1
      session.console.say("No contact with the relay; host to host meanwhile.")
      isMesh = true
      links.retryAll()
    case .refused: session.console.log(.warning, "the relay does not take the grant")
    case .firstFrame: heardCount += 1
    case .audioFailed(let reason): session.console.sayFailed(reason)
    }
  }

  private func endRelay() async {
    guard let relay else { return }
    let (counts, standing) = (await relay.counts, await relay.standing)
    relayCounts = (
      Int(clamping: counts.sent), Int(clamping: counts.opened), Int(clamping: counts.unopened)
    )
    fingerprint = standing.fingerprint
    await relay.stop()
    self.relay = nil
  }

  // MARK: - The end

  package func writeSummary() {
    session.lines.write("summary") { object in
      object.add("outcome", ending == .left ? "completed" : "failed")
      object.add("reason", ending?.rawValue)
      object.add("channel", channel.name.description)
      object.add("uid", Int(uid))
      object.add("role", role.rawValue)
      object.add("durationMs", joined.map { Int((SystemClock.now - $0).milliseconds) })
      object.add("membersMet", links.metCount)
      object.add("membersHeard", heardCount)
      guard let relayCounts else { return }
      object.add("relayFramesSent", relayCounts.sent)
      object.add("relayFramesOpened", relayCounts.opened)
      object.add("relayFramesUnopened", relayCounts.unopened)
      object.add("relayLosses", relayLosses)
      object.add("rosterFingerprint", fingerprint)
    }
  }
}
