internal import Primitives
internal import Reactor

/// The calls with members.
extension ChannelMedia {
  /// What tells a call of the mesh from others, and that its caller has no seat at the relay
  /// (docs/protocol/channels.md §8).
  nonisolated func words(isSeatless: Bool) -> String {
    "{\"channel\":\"\(channel.name.audience)\"\(isSeatless ? ",\"seat\":false" : "")}"
  }

  /// Takes a call of a member, or of somebody who says so.
  func answer(_ call: IncomingCall) async {
    let link = await channel.endpoint.call(call.id)
    let isSeatless = call.userExtension == words(isSeatless: true)
    do throws(EarshotError) {
      guard ending == nil, way.takesCalls(now: SystemClock.now),
        let uid = links.caller(call.peer, own: role, isSeatless: isSeatless)
      else { return try await link.rejectAsBusy() }  // Another program of ours may take it.
      links.begin(call.id, with: uid, isSeatless: isSeatless)
      try await link.accept(callOptions(for: uid))
      await mutes.applyUnwanted(to: link, with: call.peer)
    } catch {
      // It is over already: the caller gave up.
      endLink(call.id)
    }
  }

  /// Calls those whom we are to call: the lesser ID does.
  func dial(now: Instant) async {
    while let user = links.nextToDial(own: role, now: now) {
      do throws(EarshotError) {
        let options = callOptions(for: user.uid)
        let call = try await channel.endpoint.call("\(user.id)", options: options)
        links.begin(call.id, with: user.uid)
        await mutes.applyUnwanted(to: call, with: user.id)
      } catch {
        // As many calls as may be, or the endpoint is closed; it is tried again.
        links.fail(user.uid, now: now)
      }
    }
  }

  func handleProgress(_ progress: CallProgress, of call: CallID) {
    if let delivery = flights.delivery(progress, of: call) { return options.onStep(delivery) }
    guard let uid = links.uid(of: call) else { return }
    switch progress {
    case .message(let stream, let bytes):
      return options.onStep(.message(uid: uid, stream: stream, bytes))
    case .messagesMissed(let stream, let missed, _):
      return options.onStep(.messagesMissed(uid: uid, stream: stream, missed: missed))
    case .messageDelivery: return
    case .firstFrameReceived: _ = links.hear(call)
    case .replaced(let new): links.replace(call, by: new)
    default: break
    }
    options.onStep(.progress(uid: uid, progress))
    switch progress {
    case .firstFrameReceived: handleFirstFrame(of: uid)
    case .remoteAudioMuted(let isMuted): options.onStep(.muted(uid: uid, isMuted))
    default: break
    }
  }

  func handleEnd(of call: CallID, _ report: CallReport) async {
    flights.end(of: call).forEach(options.onStep)
    guard let uid = links.uid(of: call) else { return }
    if let numbers = report.statistics { roll.setNumbers(numbers, of: uid) }
    endLink(call)
    await relay?.updateSilence(of: uid)
    options.onStep(.callEnded(uid: uid, report))
  }

  func hangUp(_ calls: [CallID]) async {
    for call in calls { await channel.endpoint.call(call).hangUp() }
  }

  /// The numbers now of all calls with members; none of a call that is not connected yet. `members`
  /// has them as well from then on.
  public func callStatistics() async
    -> [(user: ChannelUser, call: CallID, numbers: CallStatistics)]
  {
    await carryOut { media in
      var found: [(user: ChannelUser, call: CallID, numbers: CallStatistics)] = []
      for (user, call) in media.links.linked {
        guard let numbers = await media.channel.endpoint.call(call).statistics() else { continue }
        media.roll.setNumbers(numbers, of: user.uid)
        found.append((user, call, numbers))
      }
      return found
    }
  }

  private func endLink(_ call: CallID) {
    if let uid = links.uid(of: call) {
      voices.endCall(with: uid)
      roll.setNumbers(nil, of: uid)
    }
    links.end(call, now: SystemClock.now)
  }

  private func callOptions(for uid: UInt32) -> CallOptions {
    var settings = options.call(voices, with: uid)
    settings.startsMuted = role == .audience || mutes.isSilent
    settings.startsVideoMuted = role == .audience || mutes.isDark
    settings.userExtension = words(isSeatless: way.callsAll)
    return settings
  }
}
