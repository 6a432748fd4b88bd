import Calling
import Primitives
import Wire

/// The rules between the programs of one callee (docs/protocol/calling.md §3).
extension Testimony {
  func wrongAmongPrograms(
    _ caller: Side, _ isDisturbed: (Instant, Instant) -> Bool
  ) -> [String] {
    let callees = sides.filter { $0.call == caller.call && !$0.isCaller }
    var wrong: [String] = []
    if callees.count(where: { $0.time(of: .connected) != nil }) > 1 {
      wrong.append("\(caller.call): connected at two programs of the callee")
    }
    guard !caller.isExcused, let began = caller.steps.first?.at else { return wrong }
    let wasAccepted = caller.time(of: .accepted) != nil
    for callee in callees where callee.endedElsewhere {
      guard !wasAccepted, caller.outcome != .rejected else { continue }
      wrong.append("\(caller.call): host \(callee.host.index) heard of another one that decided it")
    }
    guard let ended = caller.time(of: .ended), !isDisturbed(began, ended) else { return wrong }
    for callee in callees where !callee.isExcused {
      let isLater = callee.time(of: .ended).map { $0 > ended } ?? true
      let rang = callee.time(of: .incoming) ?? ended
      let cameTooLate = callee.outcome == .cancelled && rang > ended
      let wasTold = cameTooLate || callee.endedElsewhere || callee.endedLocally
      if caller.outcome == .busy, isLater, !wasTold {
        wrong.append("\(caller.call): busy at the caller while it rang at \(callee.host.index)")
      }
      if wasAccepted, callee.time(of: .accepted) == nil, !callee.endedElsewhere,
        !callee.endedLocally, callee.outcome != caller.outcome
      {
        wrong.append("\(caller.call): host \(callee.host.index) was not told that it is decided")
      }
    }
    return wrong
  }
}
