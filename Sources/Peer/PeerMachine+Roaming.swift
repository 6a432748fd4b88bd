import Calling
import Connectivity
package import Primitives
import Relay
import SecureSession
import Wire

/// Calls go on when an address of either side changes (docs/protocol/calling.md §4, "Moving").
extension PeerMachine {
  /// The host has other addresses now, or other routes.
  ///
  /// - Parameter alternates: Addresses on other interfaces than the one that the routes choose.
  package mutating func changeHostCandidates(
    _ addresses: [SocketAddress], alternates: [AlternateSource] = [], now: Instant
  ) {
    configuration.hostCandidates = addresses
    setAlternates(alternates)
    relay?.checkAllocation(.ownAddresses, now: now)
    rendezvous.locate(now: now)
    for link in links {
      link.association?.ping()
      // Of the peer's addresses those may be of use now that were not.
      if link.path.isFinding { addCandidates(to: link, now: now) }
      if link.canSearch { beginSearch(link, .ownAddresses, now: now) }
    }
    settle(now: now)
  }

  /// What may be sent from besides the routes' choice, where that carries nothing.
  package mutating func setAlternates(_ sources: [AlternateSource]) {
    configuration.alternates = sources
    rendezvous.route.reset(own: configuration.hostCandidates, alternates: sources)
    for link in links { link.path.agent.setAlternates(sources) }
  }

  /// Tells the peer our addresses, if there is a reason to.
  mutating func driveSearch(_ link: CallLink, now: Instant) {
    let isSilent = link.path.agent.silentAt.map { $0 <= now } ?? false
    link.path.roaming.search.settle(lastAnswer: link.path.agent.lastAnswer, isSilent: isSilent)
    if isSilent, link.canSearch, !link.path.roaming.search.isActive {
      beginSearch(link, .silence, now: now)
    }
    guard link.path.roaming.search.poll(now: now) else { return }
    // A stream holds back what is said while the line is away for longer than the outage lasts.
    if link.path.roaming.search.isLong(now: now) { relay?.checkAllocation(.longSilence, now: now) }
    rendezvous.locate(now: now)
    sendCandidates(link, now: now)
  }

  mutating func beginSearch(_ link: CallLink, _ cause: PathSearch.Cause, now: Instant) {
    link.path.roaming.search.begin(cause, now: now)
    link.pair.hurry(now: now)
    if cause == .ownAddresses { link.path.agent.checkAll(now: now) }
    // A relay whose server was started anew, or sees us elsewhere, says nothing by itself.
    relay?.checkAllocation(.silence, now: now)
    rendezvous.locate(now: now)
  }

  mutating func sendCandidates(_ link: CallLink, now: Instant) {
    guard link.canSearch, rendezvous.isRegistered,
      let body = link.path.roaming.makeBody(link.callID, ownCandidates, random: &random)
    else { return }
    rendezvous.forward(
      body, to: link.peer, link.path.programs.remote, about: (link.callID, .candidates),
      lifeSeconds: Self.candidatesLife, now: now)
  }

  /// The rendezvous has shown where we are.
  mutating func handleOwnAddress(now: Instant) {
    relay?.hurry(now: now)
    for link in links
    where link.path.roaming.search.isActive && link.path.roaming.told != ownCandidates {
      link.path.roaming.search.noteNewAddress(now: now)
      driveSearch(link, now: now)
    }
    sendRelayCandidate(now: now)
  }

  /// The shorter of what the two sides allow holds.
  mutating func allowAbsence(_ link: CallLink) {
    guard !link.isProbe, let absence = link.path.roaming.agreed(link.terms.answer) else { return }
    link.path.roaming.absence = absence
    link.association?.session.allowAbsence(absence)
    link.path.agent.mayPeerBeAway = true
    ledger.allowAbsence(link.callID, absence)
  }

  /// The peer was away: whoever gets the keys of before is not to read what is said now.
  mutating func renewKeys(of callID: CallID, now: Instant) {
    link(callID)?.association?.session.requestRekey(now: now, random: &random)
  }

  /// The rendezvous carries again what is said to it.
  mutating func resumeSearches(now: Instant) {
    relay?.hurry(now: now)
    for link in links where link.path.roaming.search.isActive {
      link.path.roaming.search.noteNewAddress(now: now)
      driveSearch(link, now: now)
    }
  }

  /// Where only a new relay reaches the rendezvous, the path by that relay may answer before the
  /// rendezvous does. Then the search has ended, and the peer does not know that it is a relay's.
  private mutating func sendRelayCandidate(now: Instant) {
    guard let relayed = relay?.relayedAddress else { return }
    for link in links where link.canSearch && !link.path.roaming.search.isActive {
      let isTold = link.path.roaming.told.candidates.contains { $0.address == relayed }
      if !isTold { sendCandidates(link, now: now) }
    }
  }

  /// Our addresses are others than those that INVITE told.
  mutating func catchUp(_ link: CallLink, now: Instant) {
    guard link.role == .caller, link.path.roaming.told != ownCandidates, link.canSearch else {
      return
    }
    beginSearch(link, .ownAddresses, now: now)
  }

  mutating func handleCandidates(_ sealed: SealedCandidates, _ link: CallLink, now: Instant) {
    guard ledger.isOpen(link.callID) else {
      return ledger.handleSearch(link.callID, from: link.peer, now: now)
    }
    guard let list = link.path.roaming.read(sealed, link.callID) else {
      return ledger.countIgnored(.forged)
    }
    link.path.remoteCandidates = list.candidates
    link.path.roaming.search.noteWord(now: now)
    guard link.path.isFinding else { return }
    link.path.agent.renewCandidates(
      configuration.usable(list.candidates), byRelay: hasRelay, now: now)
    link.addPairRelay(now: now)
    updateRelayPeers(now: now)
  }

  var ownCandidates: CandidateList {
    configuration.candidates(seenAs: rendezvous.seenAddress, relayed: relay?.relayedAddress)
  }

  /// How long the rendezvous tries to deliver CANDIDATES, in s: later ones say more.
  private static var candidatesLife: UInt16 { 2 }
}
