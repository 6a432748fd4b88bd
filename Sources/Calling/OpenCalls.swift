import Primitives
import Wire

/// The calls that are not over, few enough to be looked through one by one.
///
/// Not a dictionary: to change a large value in one asks the heap for room each time, and that a
/// peer was heard is noted with every packet.
struct OpenCalls: Sendable {
  /// At most `CallLimits.mostCalls`.
  var calls: [OpenCall] = []

  var count: Int { calls.count }
  var isEmpty: Bool { calls.isEmpty }
  /// In the order of their bytes.
  var ids: [CallID] { calls.map(\.callID).sorted() }

  subscript(callID: CallID) -> OpenCall? {
    get { index(of: callID).map { calls[$0] } }
    set {
      switch (index(of: callID), newValue) {
      case (let index?, let call?): calls[index] = call
      case (let index?, nil): calls.remove(at: index)
      case (nil, let call?): calls.append(call)
      case (nil, nil): break
      }
    }
  }

  func index(of callID: CallID) -> Int? {
    for (index, call) in calls.enumerated() where call.callID == callID { return index }
    return nil
  }

  /// The call with `peer` in the mesh of a channel; `nil` = that in none.
  func call(with peer: PeerID, in channel: Bytes32?) -> OpenCall? {
    calls.first { $0.peer == peer && $0.channel == channel }
  }

  /// What this side has sent to the one that invites, and what does not ring yet at that program of
  /// it.
  func invitation(against theirs: Invitation) -> OpenCall? {
    let ours = call(with: theirs.from, in: theirs.channel)
    return ours?.outgoing?.rings(at: theirs.presence) == false ? ours : nil
  }

  /// Takes a call out.
  mutating func remove(_ callID: CallID) -> OpenCall? {
    index(of: callID).map { calls.remove(at: $0) }
  }
}
