import Wire

/// What the programs of one callee have answered to an invitation (docs/protocol/calling.md §3):
/// which ring, which cannot take the call, and whether any is left.
struct CalledPrograms: Sendable {
  /// Those that ring, in the order in which they were heard.
  private(set) var ringing: [PresenceID] = []
  private var refusals: [(presence: PresenceID, ending: CallEnding)] = []
  /// The most that the rendezvous has passed an INVITE on to; `nil` before it has said.
  private var count: Int?

  /// As many as one identity may have at a rendezvous (docs/protocol/session.md §9), and some that
  /// were started since.
  private static let limit = 16

  mutating func noteForwarded(to count: Int) { self.count = max(self.count ?? 0, count) }

  /// `false` for one that has answered before.
  mutating func noteRinging(_ presence: PresenceID) -> Bool {
    guard !ringing.contains(presence), ringing.count < Self.limit,
      !refusals.contains(where: { $0.presence == presence })
    else { return false }
    ringing.append(presence)
    return true
  }

  /// This one cannot take the call.
  mutating func noteRefusal(_ presence: PresenceID, _ ending: CallEnding) {
    ringing.removeAll { $0 == presence }
    guard refusals.count < Self.limit, !refusals.contains(where: { $0.presence == presence })
    else { return }
    refusals.append((presence, ending))
  }

  /// Whether INVITE has reached everybody that it was passed on to.
  var haveAllAnswered: Bool { ringing.count + refusals.count >= (count ?? 1) }

  /// How the call ends when nobody is left who could take it; `nil` while somebody may.
  var ending: CallEnding? {
    guard ringing.isEmpty, !refusals.isEmpty else { return nil }
    // Of a program without an ID there is one.
    let isOnlyOne = refusals.contains { $0.presence == .every }
    guard isOnlyOne || count.map({ refusals.count >= $0 }) == true else { return nil }
    return verdict
  }

  /// What those that have refused amount to: "busy" if all of them are; `nil` if none has.
  var verdict: CallEnding? {
    refusals.last { $0.ending.outcome != .busy }?.ending ?? refusals.last?.ending
  }
}

extension CallSignal {
  /// Whether a callee's program says with it that it, and not its user, cannot take the call:
  /// another program of the same identity may.
  var refusesForOneProgram: Bool {
    switch self {
    case .timeout, .unsupported: true
    case .reject(let reason, _):
      switch reason {
      case .busy, .notAllowed, .noAnswer, .noPath, .internalFailure, .shuttingDown: true
      case .none, .declined, .userHungUp, .userCancelled, .superseded, .identityChanged,
        .answeredElsewhere, .declinedElsewhere:
        false
      }
    case .invite, .ringing, .accept, .cancel, .hangUp, .receipt, .confirm, .mediaState: false
    }
  }
}
