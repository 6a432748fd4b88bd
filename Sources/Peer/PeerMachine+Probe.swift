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

  /// What the rendezvous' clock showed in its answer, which it read at some time from when it was
  /// asked until the answer came; `nil` before it has said.
  package var rendezvousReading: (milliseconds: UInt64, asked: Instant, answered: Instant)? {
    rendezvous.standing.terms.map { ($0.payload.serverTime, $0.asked, $0.since) }
  }

  /// The clock of the rendezvous minus the host's, in ms, as it was when its answer came; the way
  /// of the answer is not taken off. `nil` before it has said.
  package var rendezvousClockOffset: Int64? {
    rendezvous.serverMilliseconds(now: latest).map {
      Int64(clamping: $0) - configuration.wallClockAtZero - Int64(latest.nanoseconds / 1_000_000)
    }
  }
}
