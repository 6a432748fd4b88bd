package import Calling
package import Peer
package import Primitives
package import Wire

/// What the program tells the user, what the user then does, and the media meanwhile.
extension SimulatedPeer {
  func observe(_ event: PeerEvent, _ now: Instant) {
    events.append((now, event))
    world.log.note(at: now, "\(name) hears: \(Self.text(of: event))")
    switch event {
    case .registration(.registered):
      isRegistered = true
      registrations.append(now)
    case .registration: isRegistered = false
    case .rendezvousIdentified: break
    case .call(let call, let event): observe(event, of: call, now)
    }
  }

  private func observe(_ event: CallEvent, of call: CallID, _ now: Instant) {
    switch event {
    case .incoming:
      world.ledger.begin(call, at: hostID, isCaller: false, now: now)
      beginMedia(call)
      answer(call)
    case .delivered: world.ledger.note(.delivered, call, at: hostID, now: now)
    case .accepted:
      world.ledger.note(.accepted, call, at: hostID, now: now)
      planHangUp(call)
    case .pathReady: world.ledger.note(.pathReady, call, at: hostID, now: now)
    case .firstFrameSent: world.ledger.note(.firstFrameSent, call, at: hostID, now: now)
    case .firstFrameReceived: world.ledger.note(.firstFrameReceived, call, at: hostID, now: now)
    case .connected: world.ledger.note(.connected, call, at: hostID, now: now)
    case .ended(let end):
      endMedia(call)
      world.ledger.end(
        call, at: hostID, Self.ending(of: end), isLocal: end.endedBy == .local, now: now)
    case .peerFound, .pathChanged, .mediaMayFlow, .interrupted, .resumed, .remoteAudioMuted,
      .messageReceived, .messageDelivered, .messageFailed, .deliveryFailed, .shortCode:
      break
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
    later(talk, call) { $0.hangUp(call) }
  }

  /// Does something about a call later, if it is still there. Users act in their own time: never
  /// from within an event.
  func later(_ delay: Duration, _ call: CallID, _ action: @escaping (SimulatedPeer) -> Void) {
    world.simulator.plan(after: delay) { [weak self] in
      guard let self, world.ledger.isOpen(call, at: hostID) else { return }
      action(self)
    }
  }

  private static func ending(of end: CallEnd) -> CallLedger.Ending {
    switch end.outcome {
    case .completed: .answered
    case .rejected: .rejected
    case .busy: .busy
    case .cancelled: .cancelled
    case .timeout: .timeout
    case .unreachable: .unreachable
    case .lost: .lost
    case .superseded: .superseded
    case .failed: .failed
    }
  }

  /// The event without what is long or secret.
  private static func text(of event: PeerEvent) -> String {
    switch event {
    case .registration(let state): "registration \(state)"
    case .rendezvousIdentified(let id, _): "rendezvous \(id)"
    case .call(let call, .incoming): "\(call) incoming"
    case .call(let call, .peerFound(let id, _)): "\(call) found \(id)"
    case .call(let call, .ended(let end)):
      "\(call) ended: \(end.outcome) \(end.reason) by \(end.endedBy), \(end.timeline)"
    case .call(let call, let event): "\(call) \(event)"
    }
  }
}
