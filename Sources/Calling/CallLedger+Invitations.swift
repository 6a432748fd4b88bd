package import Primitives
package import Wire

/// An INVITE that opened: its seal, its prologue and its card were right.
package struct Invitation: Hashable, Sendable {
  package var callID: CallID
  /// As the rendezvous proves it and the handshake confirms it.
  package var from: PeerID
  /// The caller's program, as the rendezvous says.
  package var presence: PresenceID
  /// In whose mesh the call is to be, of those that the owner is in; `nil` in none.
  package var channel: Bytes32?
  /// In ms of the rendezvous' clock.
  package var createdMilliseconds: UInt64
  /// What the caller asked for; `nil` = none.
  package var ringTimeout: Duration?
  /// Why the owner will not have this call: policy, or no common codec; `nil` = it may ring.
  package var refusal: CallReason?

  package init(
    callID: CallID, from: PeerID, presence: PresenceID = .every, in channel: Bytes32? = nil,
    createdMilliseconds: UInt64, ringTimeout: Duration?, refusal: CallReason? = nil
  ) {
    self.callID = callID
    self.from = from
    self.presence = presence
    self.channel = channel
    self.createdMilliseconds = createdMilliseconds
    self.ringTimeout = ringTimeout
    self.refusal = refusal
  }
}

/// What to do with an INVITE before any key agreement is spent on it.
package enum InviteAdmission: Hashable, Sendable {
  /// Open it, and hand it to `handleInvite`.
  case open
  /// A repetition: it was answered as before, where it is to be answered.
  case repeated
  case dropped(IgnoredSignal)
}

/// Rules for invitations that arrive (docs/protocol/calling.md §2, §3).
extension CallLedger {
  /// Looks at an INVITE that is still sealed: at its call ID and its proven sender.
  package mutating func admitInvite(
    _ callID: CallID, from peer: PeerID, now: Instant
  ) -> InviteAdmission {
    guard peer != ownID else { return drop(.ownID) }
    if let known = self.peer(of: callID) {
      guard known == peer else { return drop(.wrongPeer) }
      handle(.invite, callID, from: peer, now: now)
      return .repeated
    }
    let isFamiliar = familiars.contains(peer)
    let refusal = filter.refusal(of: callID, from: peer, isFamiliar: isFamiliar, now: now)
    return refusal.map { drop($0) } ?? .open
  }

  /// Takes an INVITE that was admitted and opened.
  ///
  /// - Parameter rendezvousMilliseconds: What the rendezvous' clock shows now.
  package mutating func handleInvite(
    _ invitation: Invitation, rendezvousMilliseconds: UInt64, now: Instant
  ) {
    let reason = filter.refusal(of: invitation, rendezvousNow: rendezvousMilliseconds, now: now)
    if let reason { return ignored.count(reason) }
    filter.insert(invitation.callID, now: now)
    admit(ArrivedInvitation(invitation, rendezvousNow: rendezvousMilliseconds, now: now), now: now)
    updateDeadline()
  }

  /// Answers an invitation, or holds it.
  mutating func admit(_ arrived: ArrivedInvitation, now: Instant) {
    let invitation = arrived.invitation
    if let reason = invitation.refusal {
      refuse(invitation, reason, now: now)
    } else if let ours = open.invitation(against: invitation) {
      // A program that has sent RINGING was not inviting us: what comes then from it is no glare.
      resolveGlare(ours, invitation, now: now)
    } else if let due = held.due(
      of: arrived, beside: open.call(with: invitation.from, in: invitation.channel), now: now)
    {
      held.append(arrived, until: due)
    } else if makeRoom(for: arrived, now: now) {
      ring(invitation, now: now)
    } else {
      refuse(invitation, .busy, now: now)
    }
  }

  private mutating func drop(_ reason: IgnoredSignal) -> InviteAdmission {
    ignored.count(reason)
    return .dropped(reason)
  }

  /// Whether the invitation may ring: there is room for another call, and none with this peer, or
  /// one that is void.
  ///
  /// An honest peer invites us only when it has no call with us. So a new invitation of a peer that
  /// we are in a call with says that this call is dead over there (its program was restarted): that
  /// is believed when nothing was heard in the old call for 1.5 s, and of an invitation that still
  /// rings when it is 3 s old. Otherwise it is answered "busy": a flood does not ring twice, none
  /// takes the place of another program that lives, and a message held back by the network does
  /// not end a live call.
  private mutating func makeRoom(for arrived: ArrivedInvitation, now: Instant) -> Bool {
    let invitation = arrived.invitation
    guard let call = open.call(with: invitation.from, in: invitation.channel) else {
      return room > 0 || endStranger(for: invitation, now: now)
    }
    let callID = call.callID
    if call.incoming?.canBeRecalled(after: policy.recallAfter, now: now) == true {
      let action = open[callID]?.incoming?.giveWayToRecall(
        byOther: call.caller != invitation.presence)
      if let action { apply(action, to: callID, now: now) }
    } else if let ongoing = call.ongoing, now >= ongoing.deadAt(arrived) {
      let outcome: CallOutcome = call.state == .connected ? .lost : .unreachable
      endOpen(callID, CallEnding(outcome, .recalled), now: now)
    }
    return open[callID] == nil
  }

  /// What rings of a stranger gives way to a familiar caller.
  private mutating func endStranger(for invitation: Invitation, now: Instant) -> Bool {
    guard familiars.contains(invitation.from) else { return false }
    for call in open.calls where call.incoming != nil && !familiars.contains(call.peer) {
      let action = open[call.callID]?.incoming?.reject(.busy, .empty)
      if let action { apply(action, to: call.callID, now: now) }
      return open[call.callID] == nil
    }
    return false
  }

  private mutating func ring(_ invitation: Invitation, now: Instant) {
    let isFamiliar = familiars.contains(invitation.from)
    let call = OpenCall(ringing: invitation, isFamiliar: isFamiliar, policy: policy, now: now)
    open[call.callID] = call
    if let ringing = call.incoming?.ringing { send(ringing, about: call.callID) }
    if policy.preparesOnRinging(isFamiliar: isFamiliar) { seekPath(call.callID) }
    notify(.incoming(call.callID, from: call.peer))
    notify(.stateChanged(call.callID, .calling, .remoteCall))
  }

  /// REJECT, without a ring.
  mutating func refuse(_ invitation: Invitation, _ reason: CallReason, now: Instant) {
    let word = CallSignal.reject(reason, .empty)
    ended.append(
      EndedCall(
        invitation.callID, peer: invitation.from, lastWord: word, answer: word,
        isStranger: !familiars.contains(invitation.from), policy: policy, now: now), &actions)
    act(.send(word, invitation.callID, to: invitation.from, .rendezvous))
    notify(.refused(invitation.callID, from: invitation.from, reason))
  }

  /// Both call each other: the lesser ID stands, at both ends.
  private mutating func resolveGlare(
    _ ours: OpenCall, _ invitation: Invitation, now: Instant
  ) {
    guard invitation.callID < ours.callID else {
      // Ours stands. Nothing is sent: the other side drops its own when ours arrives there.
      ignored.count(.glare)
      return ended.append(
        EndedCall(
          invitation.callID, peer: invitation.from, lastWord: nil, answer: nil, policy: policy,
          now: now), &actions)
    }
    // Nothing is sent for ours, unless the other side shows that it rings there: it may have
    // cancelled its own before it saw ours.
    let ringing = ours.outgoing?.ringing ?? []
    ended.append(
      EndedCall(
        ours.callID, peer: ours.peer, lastWord: .cancel(.superseded), answer: nil,
        others: (ringing, nil), isSaidOnlyIfAsked: ringing.isEmpty, policy: policy, now: now),
      &actions)
    for presence in ringing {
      act(.sendTo(presence, .cancel(.superseded), ours.callID, of: ours.peer))
    }
    act(.close(ours.callID))
    var call = OpenCall(invitation, zero: ours.timeline.zero)
    call.ownMedia = ours.ownMedia
    open[ours.callID] = nil
    open[call.callID] = call
    notify(.replaced(ours.callID, by: call.callID))
    connect(call.callID, .glare, now: now)
  }
}
