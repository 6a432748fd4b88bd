import Calling
import Connectivity
package import LastMile
package import Primitives
import Wire

/// A probe of the line to another peer: a call without media, whose invitation says so, that rings
/// nowhere (docs/protocol/probe.md §3).
struct PeerProbe: Sendable {
  var callID: CallID
  var plan: ProbePlan
  var began: Instant
  var expires: Instant { began + .nanoseconds(Int64(plan.seconds * 1e9)) }
}

extension PeerMachine {
  /// Measures the line to a peer; progress and the result come as events, the result within the
  /// plan's duration. The other side answers by itself, unless it is in a call or does not allow
  /// it.
  package mutating func probe(
    _ target: CallTarget, _ plan: ProbePlan, _ options: InviteOptions = InviteOptions(),
    now: Instant
  ) throws(PeerRefusal) {
    guard plan.isValid else { throw .badPlan }
    guard !rendezvous.isProbing, peerProbe == nil else { throw .probing }
    guard !ledger.hasOpenCalls, lookups.isEmpty else { throw .call(.busy) }
    var options = options
    options.media = MediaDescription([.init(.probe, stream: 0)])
    options.ringTimeout = .nanoseconds(Int64(plan.seconds * 1e9))
    let callID = try invite(target, options, now: now)
    peerProbe = PeerProbe(callID: callID, plan: plan, began: now)
    publish(.probe(.phaseBegan(.asking)))
  }

  /// Ends a probe to a peer, on either side, because of `ending`.
  mutating func endPeerProbe(_ ending: LineReport.Ending, now: Instant) {
    if let probe = peerProbe {
      finish(probe, ending, now: now)
      _ = lookups.remove(probe.callID)
      hangUpProbe(probe.callID, now: now)
    } else if let link = links.first(where: { $0.isProbe && ledger.isOpen($0.callID) }) {
      link.probe.stopReflecting()
      hangUpProbe(link.callID, now: now)
    }
  }

  private mutating func hangUpProbe(_ callID: CallID, now: Instant) {
    guard ledger.isOpen(callID) else { return }
    do throws(CallRefusal) {
      try ledger.end(callID, .userHungUp, now: now)
    } catch {
      // It has ended already.
    }
    while let action = ledger.pollAction() { handleAction(action, now: now) }
  }

  private mutating func finish(
    _ probe: PeerProbe, _ ending: LineReport.Ending, now: Instant
  ) {
    guard peerProbe != nil else { return }
    peerProbe = nil
    guard let link = link(probe.callID), link.probe.isProbing else {
      publish(.probe(.finished(LineReport(plan: probe.plan, ending: ending))))
      return
    }
    link.probe.end(ending, now: now)
    while let event = link.probe.pollEvent() { publish(.probe(event.with(probe.plan))) }
    link.probe.stop()
  }

  // MARK: - The caller

  /// The session and the path are there: the probe begins.
  mutating func beginPeerProbe(_ link: CallLink, now: Instant) {
    guard let probe = peerProbe, probe.callID == link.callID, !link.probe.isProbing,
      let remote = link.path.agent.selected
    else { return }
    var plan = probe.plan
    plan.seconds = max(1, probe.plan.seconds - Double(now.nanoseconds(since: probe.began)) / 1e9)
    var facts = link.path.facts(of: remote)
    facts.seenAs = facts.seenAs ?? rendezvous.seenAddress
    facts.mapping = mapping(of: link, remote)
    link.probe.begin(
      Prober(
        plan, run: UInt32(truncatingIfNeeded: random.next()), overhead: remote.headerByteCount,
        path: facts, now: now))
  }

  /// How the translator on the way to a peer maps: the rendezvous saw the same socket.
  func mapping(of link: CallLink, _ remote: SocketAddress) -> PathFacts.Mapping? {
    var sightings: [SeenAddress] = []
    if let seen = link.path.agent.seenAs { sightings.append(SeenAddress(by: remote, seen: seen)) }
    if let seen = rendezvous.seenAddress {
      sightings.append(SeenAddress(by: rendezvous.address, seen: seen))
    }
    return PathFacts.Mapping(sightings, own: configuration.hostCandidates)
  }

  /// Keeps what a proven path shows of our translator, for a later probe of the rendezvous.
  mutating func recordMapping(of link: CallLink, _ remote: SocketAddress) {
    guard let seen = rendezvous.seenAddress, let found = mapping(of: link, remote),
      found != .none, found != .translated
    else { return }
    rendezvous.lineProbe.knownMapping = (seen, found)
  }

  /// PROBE frames came, or time passed.
  mutating func handleProbeProgress(_ link: CallLink, hasHeard: Bool, now: Instant) {
    guard link.isProbe else { return }
    if hasHeard, link.progress.heard == .awaited {
      link.progress.heard = .begun
      ledger.handleFirstFrameReceived(link.callID, now: now)
    }
    guard let probe = peerProbe, probe.callID == link.callID else { return }
    while let event = link.probe.pollEvent() {
      // That we ask was told when the other side was called.
      if case .phaseBegan(.asking) = event { continue }
      publish(.probe(event.with(probe.plan)))
      guard case .finished = event else { continue }
      peerProbe = nil
      link.probe.stop()
      hangUpProbe(link.callID, now: now)
    }
  }

  mutating func expirePeerProbe(now: Instant) {
    guard let probe = peerProbe, probe.expires <= now else { return }
    let link = link(probe.callID)
    let isPathless = link?.association != nil && link?.path.agent.selected == nil
    endPeerProbe(isPathless ? .noPath : .noAnswer, now: now)
  }

  // MARK: - The callee

  /// Whether an invitation is a probe's, and what to say to it; `nil` as a refusal = it is served.
  func probeRefusal(_ offer: CallOffer) -> CallReason? {
    guard configuration.allowsProbes else { return .notAllowed }
    return rendezvous.isProbing || peerProbe != nil || ledger.hasOpenCalls ? .busy : nil
  }

  /// Accepts what rings for a probe; nobody is asked.
  mutating func acceptProbe(_ link: CallLink, now: Instant) {
    guard ledger.isOpen(link.callID) else { return }
    link.terms.answer.media = MediaDescription([.init(.probe, stream: 0)])
    do throws(CallRefusal) {
      try ledger.accept(link.callID, now: now)
    } catch {
      // It was refused, or withdrawn in this moment.
    }
  }

  // MARK: - Events

  /// What happens in a probe's call is not told as a call.
  mutating func takesForProbe(_ event: PeerEvent) -> Bool {
    guard let callID = event.callID else { return false }
    guard let probe = peerProbe, probe.callID == callID else {
      return link(callID)?.isProbe ?? false
    }
    switch event {
    case .calling(.ended(let summary)):
      finish(probe, LineReport.Ending(summary), now: latest)
    case .unresolved(_, let failure):
      finish(probe, LineReport.Ending(failure), now: latest)
    default: break
    }
    return true
  }
}

extension PeerEvent {
  fileprivate var callID: CallID? {
    switch self {
    case .registration, .rendezvousIdentified, .rendezvousNodes, .nameReceipt, .relay,
      .relaysOffered, .relayStream, .probe, .token, .channel, .memberChecked:
      nil
    case .link(let callID, _), .unresolved(let callID, _): callID
    case .calling(let event):
      switch event {
      case .incoming(let id, _), .delivered(let id), .stateChanged(let id, _, _),
        .interrupted(let id), .connectionLost(let id), .resumed(let id), .away(let id, _),
        .rejoined(let id, _), .remoteMediaChanged(let id, _), .refused(let id, _, _):
        id
      case .replaced(let old, _): old
      case .ended(let summary): summary.callID
      }
    }
  }
}

extension ProbeProgress {
  /// With the plan that was asked for; what ran was shorter by the time that the call took.
  fileprivate func with(_ plan: ProbePlan) -> ProbeProgress {
    switch self {
    case .phaseBegan, .progressed: return self
    case .firstGrade(var report):
      report.plan = plan
      return .firstGrade(report)
    case .finished(var report):
      report.plan = plan
      return .finished(report)
    }
  }
}

extension LineReport.Ending {
  fileprivate init(_ summary: CallSummary) {
    switch summary.outcome {
    case .busy: self = .busy
    case .rejected: self = summary.cause == .notAllowed ? .notAllowed : .callInProgress
    case .unreachable where summary.cause == .notOnline: self = .notOnline
    case .unreachable where summary.cause == .noPath: self = .noPath
    case .timeout, .unreachable: self = .noAnswer
    case .cancelled: self = .cancelled
    case .failed where summary.cause == .unsupportedVersion: self = .notSupported
    case .failed where summary.cause == .identityChanged: self = .identityChanged
    case .completed, .lost, .failed: self = .sessionLost
    }
  }

  fileprivate init(_ failure: LookUpFailure) {
    switch failure {
    case .unknown: self = .unknownPeer
    case .notOnline: self = .notOnline
    case .identityChanged, .badCard: self = .identityChanged
    case .tooManyRequests, .unavailable: self = .busy
    case .noAnswer: self = .noAnswer
    case .cancelled: self = .cancelled
    case .ownID: self = .ownIdentity
    }
  }
}
