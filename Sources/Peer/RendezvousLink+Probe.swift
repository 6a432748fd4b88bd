import LastMile
import Primitives
import SecureSession
import Wire

/// A probe that was asked for before there was a session.
struct WaitingProbe: Sendable {
  var plan: ProbePlan
  var run: UInt32
  var began: Instant
  var expires: Instant { began + .nanoseconds(Int64(plan.seconds * 1e9)) }
}

/// The line to the rendezvous, probed (docs/protocol/probe.md).
extension RendezvousLink {
  var isProbing: Bool { prober.map { $0.ending == nil } ?? false || waitingProbe != nil }

  mutating func probe(_ plan: ProbePlan, run: UInt32, now: Instant) {
    waitingProbe = WaitingProbe(plan: plan, run: run, began: now)
    beginWaitingProbe(now: now)
  }

  /// Ends a probe, if one runs; its report is the last event.
  mutating func endProbe(_ ending: LineReport.Ending, now: Instant) {
    if let waiting = waitingProbe {
      waitingProbe = nil
      events.append(.probe(.finished(LineReport(plan: waiting.plan, ending: ending))))
    }
    prober?.end(ending, now: now)
  }

  mutating func beginWaitingProbe(now: Instant) {
    guard let waiting = waitingProbe, isConfirmed, association?.isClosing == false,
      prober.map({ $0.isOver }) ?? true
    else { return }
    waitingProbe = nil
    while let event = prober?.pollEvent() { events.append(.probe(event)) }
    // The wait for the session is part of the duration.
    var plan = waiting.plan
    plan.seconds = max(1, plan.seconds - Double(now.nanoseconds(since: waiting.began)) / 1e9)
    prober = Prober(
      plan, run: waiting.run, overhead: address.headerByteCount, path: probedPath, now: now)
  }

  private var probedPath: PathFacts {
    var facts = PathFacts()
    facts.kind = .direct
    facts.remote = address
    facts.family = address.family
    if let seenAddress {
      facts.seenAs = seenAddress
      facts.mapping = PathFacts.Mapping(
        [SeenAddress(by: address, seen: seenAddress)], own: configuration.hostCandidates)
      // A peer saw the same socket behind the same mapping: that has told more.
      if let known = knownMapping, known.seen == seenAddress { facts.mapping = known.mapping }
    }
    return facts
  }

  mutating func expireWaitingProbe(now: Instant) {
    guard let waiting = waitingProbe, waiting.expires <= now else { return }
    endProbe(.noAnswer, now: now)
  }

  mutating func driveProbe(now: Instant) {
    prober?.handleTimeout(now: now)
    beginWaitingProbe(now: now)
  }

  /// A frame that no other part of the link takes.
  mutating func takeProbe(
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

  mutating func pollProbe() -> Event? {
    guard let event = prober?.pollEvent() else {
      if prober?.isOver == true { prober = nil }
      return nil
    }
    return .probe(event)
  }

  @_lifetime(packet: copy packet)
  mutating func writeProbe(into packet: inout OutputSpan<UInt8>, now: Instant) -> Bool {
    // The last word of a probe that was stopped is out: the next one need not wait any longer.
    if prober?.isOver == true { beginWaitingProbe(now: now) }
    guard prober != nil, association?.isClosing == false else { return false }
    Session.beginPacket(&packet)
    let hasWritten = prober?.writeFrames(
      into: &packet, tagByteCount: SealedPacket.tagByteCount, now: now)
    guard hasWritten == true else {
      packet.removeAll()
      return false
    }
    return association?.seal(&packet, elicits: false, hasMessages: false, now: now) ?? false
  }

  var probeDeadline: Instant? {
    guard association?.carriesProbes() ?? false else { return waitingProbe?.expires }
    return earliest(prober?.nextDeadline, waitingProbe?.expires)
  }
}
