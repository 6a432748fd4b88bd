import Calling
package import LastMile
package import Primitives
import Wire

/// Probing the line (docs/protocol/probe.md). A call has priority: none runs beside one.
extension PeerMachine {
  /// Measures the line to the rendezvous. Waits for the session if there is none yet; progress and
  /// the result come as events, the result within the plan's duration.
  package mutating func probe(_ plan: ProbePlan, now: Instant) throws(PeerRefusal) {
    guard plan.isValid else { throw .badPlan }
    guard !ledger.hasOpenCalls, lookups.isEmpty else { throw .call(.busy) }
    guard !rendezvous.isProbing, peerProbe == nil else { throw .probing }
    let run = max(1, UInt32(truncatingIfNeeded: random.next()))
    rendezvous.probe(plan, run: run, now: now)
    settle(now: now)
  }

  /// Stops the probe that runs, if one does; what is known so far comes as its result.
  package mutating func cancelProbe(now: Instant) {
    rendezvous.endProbe(.cancelled, now: now)
    if peerProbe != nil { endPeerProbe(.cancelled, now: now) }
    settle(now: now)
  }

  /// A call began, from either side: it gets the line at once.
  mutating func yieldToCalls(now: Instant) {
    guard rendezvous.isProbing, ledger.hasOpenCalls || !lookups.isEmpty else { return }
    rendezvous.endProbe(.callInProgress, now: now)
    while let event = rendezvous.pollEvent() { handle(event, now: now) }
  }

  /// What the rendezvous' clock showed in its answer; `nil` before it has said.
  package var rendezvousReading: RendezvousReading? { rendezvous.standing.terms?.reading }
}
