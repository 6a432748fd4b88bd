import Calling
import Cryptography
import Primitives
import SecureSession
import Wire

/// From a name to an invitation (docs/protocol/rendezvous.md §3).
extension PeerMachine {
  mutating func handle(_ event: RendezvousLink.Event, now: Instant) {
    switch event {
    case .registration(let step):
      publish(.registration(step))
      channels.handleContact(step, now: now)
      guard case .registered = step else { return }
      resumeSearches(now: now)
      handleRegistered(now: now)
    case .told(let event): publish(event)
    case .found(let result): handle(result, now: now)
    case .forwarded(let body, let peer, let presence, let name):
      handleSignal(body, from: peer, presence, named: name, now: now)
    case .passedOn(let count, let callID, let type):
      ledger.handleForwarded(type, to: count, callID, now: now)
    case .notForwarded(let failure, let callID, let type):
      ledger.handleForwardFailure(failure, of: type, callID, now: now)
    case .located: handleOwnAddress(now: now)
    case .token(let step): publish(.token(step))
    case .pair(let result):
      let silent = CallPairs.handle(result, among: links, configuration, now: now)
      if let silent { sendCandidates(silent, now: now) }
    case .channel(let notice): channels.handle(notice, now: now)
    case .seatsEnded, .channelData: break  // We are no relay, and this is none.
    }
  }

  private mutating func handle(_ result: LookUpResult, now: Instant) {
    guard let lookup = lookups.remove(request: result.request) else { return }
    switch result.status {
    case .unknown, .unavailable: askAgain(lookup, orSay: result.status.failure, now: now)
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
  /// for the first time. So a program that makes a call asks again for 1.5 s, or for 0.7 s where
  /// nobody has the name yet. A call of the other one ends that at once. Every program asks again
  /// for somebody who may be on the way from one node to another.
  private mutating func askAgain(
    _ lookup: PendingLookUp, orSay failure: LookUpFailure, now: Instant
  ) {
    let hasNodes = rendezvous.server.nodes.isService
    let mayCome = configuration.presence == .calling || hasNodes && failure == .unavailable
    if mayCome, peerProbe?.callID != lookup.callID,
      let isNews = lookups.retry(lookup, after: failure, hasNodes: hasNodes, now: now)
    {
      if isNews { publish(.link(lookup.callID, .lookingAgain(failure))) }
      return
    }
    publish(.unresolved(lookup.callID, failure))
    // Who rang meanwhile is not the one that was meant.
    if lookups.isEmpty { refuseOthers(now: now) }
  }

  /// Whom we are looking up calls us: both called each other.
  mutating func joinIfDialled(_ link: CallLink, named name: PeerName?, now: Instant) {
    guard !link.isProbe, let lookup = lookups.first(for: link, named: name, channels),
      joinTheirs(lookup, link.peer, now: now)
    else { return }
    _ = lookups.remove(lookup.callID)
  }

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
    guard ledger.room > 0, channels.openCall(with: card.id, lookup.options, ledger) == nil else {
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
    guard let theirs = channels.openCall(with: peer, lookup.options, ledger),
      ledger.state(of: theirs) == .calling, let link = link(theirs), link.role == .callee
    else { return false }
    // That it rings is told before that it was accepted.
    while let action = ledger.pollAction() { handleAction(action, now: now) }
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
      rejoinSeconds: lookup.options.absence.wireSeconds, abilities: lookup.options.abilities)
    do {
      try link.makeInvite(
        identity: identity, offer: offer, created: rendezvousMilliseconds(now: now),
        ringTimeout: lookup.options.ringTimeout, random: &random)
      try ledger.call(
        lookup.callID, to: card.id, in: channels.mesh(of: lookup.options.userExtension),
        ringTimeout: lookup.options.ringTimeout, zero: lookup.began, now: now)
      // Before anybody polls what the ledger decided; after it, so that a refusal leaves no link.
      links.append(link)
      newestCards.insert(card)
    } catch {
      throw LookUpRefusal(failure: .badCard)
    }
  }

  mutating func expireLookUps(now: Instant) {
    for (target, request) in lookups.takeRetries(random: &random, now: now) {
      rendezvous.lookUp(target, request: request, now: now)
    }
    while let callID = lookups.takeExpired(now: now) { publish(.unresolved(callID, .noAnswer)) }
  }
}

extension LookUpResult.Status {
  /// What is said when asking again brought nothing else.
  fileprivate var failure: LookUpFailure { self == .unavailable ? .unavailable : .unknown }
}
