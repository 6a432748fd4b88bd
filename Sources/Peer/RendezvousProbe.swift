import LastMile
import Primitives
import SecureSession
import Wire

/// The line to the rendezvous, probed (docs/protocol/probe.md): the probe that runs, and one that
/// waits for the session.
struct RendezvousProbe {
  /// A probe that was asked for before there was a session.
  private struct Waiting {
    var plan: ProbePlan
    var run: UInt32
    var began: Instant
    var expires: Instant { began + .nanoseconds(Int64(plan.seconds * 1e9)) }
  }

  private var prober: Prober?
  private var waiting: Waiting?
  /// What a path to a peer showed of our translator, while it mapped to `seen`.
  var knownMapping: (seen: SocketAddress, mapping: PathFacts.Mapping)?

  var isProbing: Bool { prober.map { $0.ending == nil } ?? false || waiting != nil }

  /// Whether one waits, and the one before has said its last word.
  var awaitsSession: Bool { waiting != nil && prober.map { $0.isOver } ?? true }

  // MARK: - Commands

  mutating func ask(_ plan: ProbePlan, run: UInt32, now: Instant) {
    waiting = Waiting(plan: plan, run: run, began: now)
  }

  /// The session is there: the probe that waits begins.
  ///
  /// - Parameters:
  ///   - address: The rendezvous'.
  ///   - seen: Ours, as the rendezvous sees it.
  ///   - own: Ours, as the host knows them.
  /// - Returns: what the one before has not told yet.
  mutating func begin(
    to address: SocketAddress, seenAs seen: SocketAddress?, own: [SocketAddress], now: Instant
  ) -> [ProbeProgress] {
    guard let waiting else { return [] }
    self.waiting = nil
    var untold: [ProbeProgress] = []
    while let event = prober?.pollEvent() { untold.append(event) }
    // The wait for the session is part of the duration.
    var plan = waiting.plan
    plan.seconds = max(1, plan.seconds - Double(now.nanoseconds(since: waiting.began)) / 1e9)
    prober = Prober(
      plan, run: waiting.run, overhead: address.headerByteCount,
      path: path(to: address, seenAs: seen, own: own), now: now)
    return untold
  }

  private func path(
    to address: SocketAddress, seenAs seen: SocketAddress?, own: [SocketAddress]
  ) -> PathFacts {
    var facts = PathFacts()
    facts.kind = .direct
    facts.remote = address
    facts.family = address.family
    guard let seen else { return facts }
    facts.seenAs = seen
    facts.mapping = PathFacts.Mapping([SeenAddress(by: address, seen: seen)], own: own)
    // A peer saw the same socket behind the same mapping: that has told more.
    if let known = knownMapping, known.seen == seen { facts.mapping = known.mapping }
    return facts
  }

  /// Ends the probe that runs, if one does; its report is its last event.
  ///
  /// - Returns: the report of one that waited.
  mutating func end(_ ending: LineReport.Ending, now: Instant) -> ProbeProgress? {
    let waiting = waiting.take()
    prober?.end(ending, now: now)
    return waiting.map { .finished(LineReport(plan: $0.plan, ending: ending)) }
  }

  // MARK: - Time and frames

  /// Whether the one that waits has waited for as long as it may last.
  func hasExpired(now: Instant) -> Bool { waiting.map { $0.expires <= now } ?? false }

  mutating func handleTimeout(now: Instant) { prober?.handleTimeout(now: now) }

  /// A frame that no other part of the link takes.
  mutating func handle(
    _ frame: Frame, in packet: Span<UInt8>, byteCount: Int, ecn: UInt8, now: Instant
  ) {
    switch frame {
    case .probeAnswer(let answer): prober?.handle(answer, now: now)
    case .probePacket(let test): prober?.handle(test, byteCount: byteCount, ecn: ecn, now: now)
    case .probeReport(let report): prober?.handle(report, in: packet, now: now)
    // A rendezvous does not probe.
    default: return
    }
    prober?.noteReceived(byteCount: byteCount)
  }

  // MARK: - Outputs

  mutating func pollEvent() -> ProbeProgress? {
    if let event = prober?.pollEvent() { return event }
    if prober?.isOver == true { prober = nil }
    return nil
  }

  @_lifetime(packet: copy packet)
  mutating func write(
    into packet: inout OutputSpan<UInt8>, on association: Association, now: Instant
  ) -> Bool {
    guard prober != nil, !association.isClosing else { return false }
    Session.beginPacket(&packet)
    let hasWritten = prober?.writeFrames(
      into: &packet, tagByteCount: SealedPacket.tagByteCount, now: now)
    guard hasWritten == true else {
      packet.removeAll()
      return false
    }
    return association.seal(&packet, elicits: false, hasMessages: false, now: now)
  }

  /// Whether the last word of a probe is out, so that the next one need not wait any longer.
  var isOver: Bool { prober?.isOver == true }

  /// - Parameter canSend: There is a session that nobody has begun to close.
  func nextDeadline(canSend: Bool) -> Instant? {
    canSend ? earliest(prober?.nextDeadline, waiting?.expires) : waiting?.expires
  }
}

extension RendezvousLink {
  mutating func probe(_ plan: ProbePlan, run: UInt32, now: Instant) {
    lineProbe.ask(plan, run: run, now: now)
    beginWaitingProbe(now: now)
  }

  /// Ends a probe, if one runs; its report is the last event.
  mutating func endProbe(_ ending: LineReport.Ending, now: Instant) {
    if let report = lineProbe.end(ending, now: now) { events.append(.told(.probe(report))) }
  }

  mutating func beginWaitingProbe(now: Instant) {
    guard lineProbe.awaitsSession, standing.isConfirmed, association?.isClosing == false else {
      return
    }
    let untold = lineProbe.begin(
      to: address, seenAs: seenAddress, own: configuration.hostCandidates, now: now)
    for event in untold { events.append(.told(.probe(event))) }
  }
}
