package import Connectivity
package import Wire

/// What was tried to find a path to the other side of a call.
package struct PathTrial: Hashable, Sendable {
  /// Where this side may be reached, as it tells others.
  package var own: [Candidate]
  /// What became of each address of the other side; those that could not be asked, because this
  /// host has no address of their family, have no checks.
  package var fates: [PathFate]

  package init(own: [Candidate], fates: [PathFate]) {
    self.own = own
    self.fates = fates
  }
}

extension PeerMachine {
  /// The facts of a call, until its memory goes a minute after its end.
  package func pathTrial(_ callID: CallID) -> PathTrial? {
    guard let link = link(callID) else { return nil }
    var fates = link.path.agent.fates
    let others = link.path.programs.branches.flatMap(\.agent.fates)
    let offered = link.path.remoteCandidates.map { PathFate($0.address, PathOrigin($0.kind)) }
    for fate in others + offered where !fates.contains(where: { $0.address == fate.address }) {
      fates.append(fate)
    }
    return PathTrial(own: ownCandidates.candidates, fates: fates)
  }
}
