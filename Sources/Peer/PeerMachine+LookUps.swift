import Calling
import Cryptography
import Primitives
import SecureSession
import Wire

/// A call by name or ID whose card has not come yet.
struct PendingLookUp {
  let callID: CallID
  var request: UInt32
  let target: CallTarget
  var options: InviteOptions
  let began: Instant
  var expires: Instant { began + PeerMachine.lookUpLife }
  /// Known and not online: whom it is about, and when to ask again.
  var offline: PeerID?
  var again: Instant?

  /// Whether it is `peer` that is wanted, as far as that is known.
  ///
  /// - Parameter name: whose the rendezvous says that it is: it would answer the look-up so.
  func isFor(_ peer: PeerID, named name: PeerName?) -> Bool {
    if target == .id(peer) || offline == peer { return true }
    return name.map { target == .name($0) } ?? false && options.expectedID ?? peer == peer
  }
}

/// From a name to an invitation (docs/protocol/rendezvous.md §3).
extension PeerMachine {
  mutating func handle(_ event: RendezvousLink.Event, now: Instant) {
    switch event {
    case .registration(let step):
      publish(.registration(step))
      if case .registered = step {
        tellSearches(now: now)
        noteRegistered(now: now)
      }
    case .identified(let id, let card): publish(.rendezvousIdentified(id, card: card))
    case .found(let result): handle(result, now: now)
    case .forwarded(let body, let peer, let presence, let name):
      handleSignal(body, from: peer, presence, named: name, now: now)
    case .passedOn(let count, let callID, let type):
      ledger.handleForwarded(type, to: count, callID, now: now)
    case .notForwarded(let failure, let callID, let type):
      ledger.handleForwardFailure(failure, of: type, callID, now: now)
    case .probe(let progress): publish(.probe(progress))
    case .located: noteOwnAddress(now: now)
    case .token(let step): publish(.token(step))
    case .relays(let offer): publish(.relaysOffered(offer))
    }
  }

  private mutating func handle(_ result: LookUpResult, now: Instant) {
    guard let index = lookups.firstIndex(where: { $0.request == result.request }) else { return }
    let lookup = lookups.remove(at: index)
    switch result.status {
    case .unknown: askAgain(lookup, orSay: .unknown, now: now)
    case .offline: handleOffline(lookup, result.card, now: now)
    case .tooManyRequests: publish(.unresolved(lookup.callID, .tooManyRequests))
    case .online:
      do throws(LookUpRefusal) {
        try invite(lookup, card: result.card, now: now)
      } catch {
        publish(.unresolved(lookup.callID, error.failure))
      }
    }
  }

  private mutating func handleOffline(_ lookup: PendingLookUp, _ card: [UInt8], now: Instant) {
    var lookup = lookup
    lookup.offline = believe(card, from: nil, now: now)?.id
    if let peer = lookup.offline, joinTheirs(lookup, peer, now: now) { return }
    askAgain(lookup, orSay: .notOnline, now: now)
  }

  /// The other one may be calling us in this moment, and be there a little later than we, perhaps
  /// for the first time. So a program that makes a call asks again for 1.5 s. A call of the other
  /// one ends that at once.
  private mutating func askAgain(
    _ lookup: PendingLookUp, orSay failure: LookUpFailure, now: Instant
  ) {
    let end = lookup.began + Self.offlinePatience
    guard configuration.presence == .calling, peerProbe?.callID != lookup.callID, now < end else {
      publish(.unresolved(lookup.callID, failure))
      // Who rang meanwhile is not the one that was meant.
      if lookups.isEmpty { refuseOthers(now: now) }
      return
    }
    var lookup = lookup
    lookup.again = min(now + Self.offlinePace, end)
    lookups.append(lookup)
  }

  private mutating func askAgain(now: Instant) {
    for index in lookups.indices {
      guard let again = lookups[index].again, again <= now else { continue }
      lookups[index].again = nil
      lookups[index].request = UInt32(truncatingIfNeeded: random.next())
      rendezvous.lookUp(lookups[index].target, request: lookups[index].request, now: now)
    }
  }

  /// Whom we are looking up calls us: both called each other.
  mutating func joinIfDialled(_ link: CallLink, named name: PeerName?, now: Instant) {
    guard !link.isProbe, let lookup = lookups.first(where: { $0.isFor(link.peer, named: name) }),
      joinTheirs(lookup, link.peer, now: now)
    else { return }
    lookups.removeAll { $0.callID == lookup.callID }
  }

  private static var offlinePace: Duration { .milliseconds(500) }
  /// How long a program that makes a call looks for somebody who is not there.
  package static var offlinePatience: Duration { .milliseconds(1500) }

  private struct LookUpRefusal: Error {
    var failure: LookUpFailure
  }

  private mutating func invite(
    _ lookup: PendingLookUp, card bytes: [UInt8], now: Instant
  ) throws(LookUpRefusal) {
    var wanted: PeerID?
    if case .id(let id) = lookup.target { wanted = id }
    guard let card = believe(bytes, from: wanted, now: now), !newestCards.hasSuperseded(card) else {
      throw LookUpRefusal(failure: .badCard)
    }
    if let expected = lookup.options.expectedID, expected != card.id {
      throw LookUpRefusal(failure: .identityChanged(expected: expected, found: card.id))
    }
    guard card.id != identity.id else { throw LookUpRefusal(failure: .ownID) }
    if joinTheirs(lookup, card.id, now: now) { return }
    refuseOthers(now: now)
    guard ledger.room > 0, ledger.openCall(with: card.id) == nil else {
      throw LookUpRefusal(failure: .cancelled)
    }
    publish(.link(lookup.callID, .peerFound(card.id, card: card.bytes)))
    try open(lookup, card, now: now)
  }

  /// Both called each other, and the other's invitation came while we still looked up its card: the
  /// same as glare (docs/protocol/calling.md §3), decided before our INVITE was sent.
  private mutating func joinTheirs(
    _ lookup: PendingLookUp, _ peer: PeerID, now: Instant
  ) -> Bool {
    guard let theirs = ledger.openCall(with: peer), ledger.state(of: theirs) == .calling,
      let link = link(theirs), link.role == .callee
    else { return false }
    // That it rings is told before that it was accepted.
    while let action = ledger.pollAction() { perform(action, now: now) }
    link.terms.answer = AnswerOptions(lookup.options)
    publish(.calling(.replaced(lookup.callID, by: theirs)))
    do throws(CallRefusal) {
      try ledger.accept(theirs, now: now)
      return true
    } catch {
      return false
    }
  }

  private mutating func open(
    _ lookup: PendingLookUp, _ card: ContactCard, now: Instant
  ) throws(LookUpRefusal) {
    let link = CallLink(
      lookup.callID, .caller, peer: card.id, peerStatic: card.staticKey,
      program: rendezvous.presence.id, limits: configuration.limits, random: &random)
    if peerProbe?.callID == lookup.callID { link.probe.purpose = .probe }
    link.path.ringIDs.local = makeConnectionID()
    link.signalling.sessionIDs.local = makeConnectionID()
    link.begin(lookup.options)
    // The callee checks them when it is prepared to.
    link.path.roaming.told = ownCandidates
    let offer = CallOffer(
      card: rendezvous.ownCard, candidates: link.path.roaming.told, media: link.terms.own,
      userExtension: lookup.options.userExtension,
      rejoinSeconds: lookup.options.absence.wireSeconds)
    do {
      try link.makeInvite(
        identity: identity, offer: offer, created: rendezvousMilliseconds(now: now),
        ringTimeout: lookup.options.ringTimeout, random: &random)
      try ledger.call(
        lookup.callID, to: card.id, ringTimeout: lookup.options.ringTimeout, zero: lookup.began,
        now: now)
      // Before anybody polls what the ledger decided; after it, so that a refusal leaves no link.
      links.append(link)
      newestCards.note(card)
    } catch {
      throw LookUpRefusal(failure: .badCard)
    }
  }

  mutating func expireLookUps(now: Instant) {
    askAgain(now: now)
    while let index = lookups.firstIndex(where: { $0.expires <= now }) {
      publish(.unresolved(lookups.remove(at: index).callID, .noAnswer))
    }
  }
}
