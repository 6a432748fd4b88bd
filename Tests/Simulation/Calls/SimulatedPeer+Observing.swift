import Calling
import LastMile
import Peer
import Primitives
import Wire

/// What the program tells the user, what the user then does, and the media meanwhile.
extension SimulatedPeer {
  func observe(_ event: PeerEvent, _ now: Instant) {
    // Many, and what they say is in `heard`.
    if case .link(let call, .audioArrived) = event { return collect(call) }
    note(event, now)
    world.log.note(at: now, "\(name) hears: \(Self.text(of: event))")
    switch event {
    case .registration(.registered): noteRegistered(now)
    case .registration(.doubted): break
    case .registration: isRegistered = false
    case .nameReceipt(let message, _): keep(message.receipt)
    case .rendezvousIdentified, .rendezvousNodes, .relay, .relaysOffered, .relayStream,
      .probe, .token, .channel, .memberChecked:
      break
    case .calling(let event): observe(event, now)
    case .link(let call, let step): observe(step, of: call, now)
    case .unresolved(let call, _):
      endMedia(call)
      world.testimony.end(call, at: hostID, .unreachable, isLocal: true, now: now)
    }
  }

  private func observe(_ event: CallEvent, _ now: Instant) {
    switch event {
    case .incoming(let call, _):
      world.testimony.begin(call, at: hostID, isCaller: false, now: now)
      beginMedia(call)
      answer(call)
    case .replaced(let old, let new):
      endMedia(old)
      world.testimony.replace(old, by: new, at: hostID, now: now)
      if !pumping.contains(new) { beginMedia(new) }
    case .delivered(let call): world.testimony.note(.delivered, call, at: hostID, now: now)
    case .stateChanged(let call, .calling, .localCall):
      world.testimony.note(.sent, call, at: hostID, now: now)
    case .stateChanged(let call, .connecting, _):
      world.testimony.note(.accepted, call, at: hostID, now: now)
      planHangUp(call)
    case .stateChanged(let call, .connected, _):
      world.testimony.note(.connected, call, at: hostID, now: now)
      world.watchHearing()
    case .ended(let summary):
      endMedia(summary.callID)
      if summary.cause == .internalFailure {
        world.testimony.noteInternalFailure(summary.callID, at: hostID)
      }
      if [.answeredElsewhere, .declinedElsewhere].contains(summary.cause) {
        world.testimony.noteElsewhere(summary.callID, at: hostID)
      }
      world.testimony.end(
        summary.callID, at: hostID, summary.outcome, isLocal: summary.cause.isLocal, now: now)
    case .resumed(let call): world.checkResumed(call, at: self)
    case .stateChanged, .interrupted, .connectionLost, .away, .rejoined, .remoteMediaChanged,
      .refused:
      break
    }
  }

  private func observe(_ step: LinkStep, of call: CallID, _ now: Instant) {
    switch step {
    case .pathReady: world.testimony.note(.pathReady, call, at: hostID, now: now)
    case .firstFrameSent: world.testimony.note(.firstFrameSent, call, at: hostID, now: now)
    case .firstFrameReceived: world.testimony.note(.firstFrameReceived, call, at: hostID, now: now)
    case .mediaMayFlow: pumpAtOnce(call)
    case .audioArrived, .videoArrived, .publishFallback, .subscribeFallback, .remoteWants,
      .lookingAgain, .peerFound, .invitation, .answered, .pathChanged, .shortCode, .mediaMustStop,
      .messageReceived, .messagesMissed, .messageFinished, .said:
      break
    }
  }

  private func note(_ event: PeerEvent, _ now: Instant) { events.append((now, event)) }

  private func noteRegistered(_ now: Instant) {
    isRegistered = true
    registrations.append(now)
  }

  func planPatience(_ call: CallID) {
    guard let patience = habits.patience else { return }
    later(patience, call) { peer in
      if !peer.world.testimony.isAccepted(call, at: peer.hostID) { peer.end(call) }
    }
  }

  private func answer(_ call: CallID) {
    if let decide { habits = decide() }
    switch habits.answer {
    case .never: break
    case .accept(let delay): later(delay, call) { $0.accept(call) }
    case .reject(let delay): later(delay, call) { $0.reject(call) }
    }
  }

  private func planHangUp(_ call: CallID) {
    guard let talk = habits.talk else { return }
    later(talk, call) { $0.end(call) }
  }

  /// Does something about a call later, if it is still there. Users act in their own time: never
  /// from within an event.
  func later(_ delay: Duration, _ call: CallID, _ action: @escaping (SimulatedPeer) -> Void) {
    world.simulator.plan(after: delay) { [weak self] in
      guard let self, world.testimony.isOpen(call, at: hostID) else { return }
      action(self)
    }
  }

  /// The event without what is long or secret.
  private static func text(of event: PeerEvent) -> String {
    switch event {
    case .registration(let state): "registration \(state)"
    case .rendezvousIdentified(let id, _): "rendezvous \(id)"
    case .rendezvousNodes(let list): "nodes, serial \(list.serial)"
    case .nameReceipt(let message, _): "a receipt for \(message.name)"
    case .relay(let event): "relay \(event)"
    case .token(let step): "token \(step)"
    case .channel(_, let event): "channel \(event)"
    case .memberChecked(_, let uid, let fault):
      "member \(uid) is \(fault == nil ? "genuine" : "not")"
    case .relayStream(let action): "stream \(action)"
    case .relaysOffered(let offer): "relays \(offer.servers.map(\.uri))"
    case .calling(.ended(let end)):
      "\(end.callID) ended: \(end.outcome), \(end.cause), \(end.durationMilliseconds) ms"
    case .calling(let event): "\(event)"
    case .link(let call, .peerFound(let id, _)): "\(call) found \(id)"
    case .link(let call, .invitation(let notice)): "\(call) invitation of \(notice.peer)"
    // Written out, the bytes of a file took most of the time of a simulation.
    case .link(let call, .messageReceived(let stream, let bytes, let time)):
      "\(call) message \(stream) at \(time ?? 0), \(bytes.count) B \(RunLog.digest(of: bytes.span))"
    case .link(let call, let step): "\(call) \(step)"
    case .unresolved(let call, let failure): "\(call) unresolved: \(failure)"
    case .probe(let progress): "probe \(progress.word)"
    }
  }
}

extension CallCause {
  /// Whether a side can end a call for this without a word from the other one.
  fileprivate var isLocal: Bool {
    switch self {
    case .remoteRejected, .remoteBusy, .notAllowed, .remoteCancelled, .remoteHangUp,
      .remoteRingTimeout, .answeredElsewhere, .declinedElsewhere:
      false
    case .localCall, .remoteCall, .localAccepted, .remoteAccepted, .localRejected,
      .localCancelled, .localHangUp, .firstFrame, .localRingTimeout, .recalled, .glare,
      .notOnline, .undelivered, .noPath, .noMedia, .peerLost, .unsupportedVersion,
      .identityChanged, .shuttingDown, .internalFailure:
      true
    }
  }
}
