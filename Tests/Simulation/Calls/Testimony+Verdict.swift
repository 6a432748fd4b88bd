import Calling
package import Primitives
import Wire

/// The rules that every run must keep, whatever the network did.
extension Testimony {
  /// Everything wrong with the run. Call when nothing is going to happen any more.
  ///
  /// - Parameters:
  ///   - raceWindow: How long after an act of one side the other may still act without having heard
  ///     of it.
  ///   - isDisturbed: whether a fault touched the time from the first moment to the second;
  ///     then a side need not have learned what the other one did.
  package func verdict(
    raceWindow: Duration, isDisturbed: (Instant, Instant) -> Bool
  ) -> [String] {
    var all = violations
    for side in sides {
      all += wrongAlone(side)
      guard side.isCaller else {
        if !sides.contains(where: { $0.call == side.call && $0.isCaller }) {
          all.append("\(side.call): rings at host \(side.host.index), and nobody placed it")
        }
        continue
      }
      all += wrongTogether(side, callee(of: side.call), raceWindow, isDisturbed)
      all += wrongAmongPrograms(side, isDisturbed)
    }
    return all
  }

  private func wrongAlone(_ side: Side) -> [String] {
    var wrong: [String] = []
    let name = "\(side.call): host \(side.host.index)"
    if side.isOpen { wrong.append("\(name) is stuck after \(lastStep(of: side))") }
    if side.earlyFrames > 0 { wrong.append("\(name) had \(side.earlyFrames) frames before accept") }
    if side.time(of: .connected) != nil {
      let needed: [Step] =
        silentCalls.contains(side.call) ? [.accepted] : [.accepted, .firstFrameReceived]
      for step in needed where side.time(of: step) == nil {
        wrong.append("\(name) is connected without \(step)")
      }
    }
    if side.failedInside, !isExplained(side) { wrong.append("\(name) failed inside") }
    return wrong
  }

  /// A side that hears nothing (for instance) ends as failed, for a reason of its own, and says on
  /// the wire no more than "internal failure".
  private func isExplained(_ side: Side) -> Bool {
    sides.contains {
      $0.call == side.call && $0.host != side.host && $0.outcome == .failed && !$0.failedInside
    }
  }

  private func wrongTogether(
    _ caller: Side, _ callee: Side?, _ raceWindow: Duration,
    _ isDisturbed: (Instant, Instant) -> Bool
  ) -> [String] {
    guard let callee else { return wrongWithoutCallee(caller) }
    var wrong: [String] = []
    if caller.time(of: .accepted) != nil, callee.time(of: .accepted) == nil {
      wrong.append("\(caller.call): accepted at the caller, and the callee never did")
    }
    if callee.time(of: .connected) != nil, caller.time(of: .accepted) == nil {
      wrong.append("\(caller.call): connected at the callee, and the caller knows no answer")
    }
    if caller.time(of: .connected) != nil, [.rejected, .busy].contains(callee.outcome) {
      wrong.append("\(caller.call): connected at the caller, rejected by the callee")
    }
    guard let one = caller.outcome, let other = callee.outcome,
      let first = caller.steps.first?.at, let ended = caller.time(of: .ended),
      let otherEnded = callee.time(of: .ended)
    else { return wrong }
    if one == other { return wrong }
    // A program that came when the call was over rings for a moment, and is told that it is.
    if other == .cancelled, let rang = callee.time(of: .incoming), rang > ended { return wrong }
    // One of several programs refuses as busy by itself, and the others ring on to a timeout.
    let programs = sides.count { $0.call == caller.call && !$0.isCaller }
    if other == .busy, one == .timeout, callee.endedLocally, programs > 1 { return wrong }
    let actedAtOnce =
      caller.endedLocally && callee.endedLocally
      && max(ended, otherEnded) - min(ended, otherEnded) <= raceWindow
    if !actedAtOnce, !isDisturbed(first, max(ended, otherEnded)) {
      wrong.append("\(caller.call): \(one) at the caller, \(other) at the callee")
    }
    return wrong
  }

  /// A callee that was never told: it refused as busy by itself, or nothing reached it.
  private func wrongWithoutCallee(_ caller: Side) -> [String] {
    var wrong: [String] = []
    if caller.time(of: .accepted) != nil {
      wrong.append("\(caller.call): accepted, and no callee was ever told")
    }
    if let outcome = caller.outcome, [.completed, .lost].contains(outcome) {
      wrong.append("\(caller.call): \(outcome), and no callee was ever told")
    }
    return wrong
  }

  private func lastStep(of side: Side) -> String { side.steps.last?.step.rawValue ?? "nothing" }
}
