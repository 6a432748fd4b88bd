/// What an owner may want to know of a channel's keys.
package enum GroupKeyEvent: Equatable, Sendable {
  /// The first key of a generation has come from a host: its frames open from now on.
  case keyReceived(from: UInt32, generation: UInt32)
  /// A host hands its key to other people than we do: the same roster revision, another digest.
  case rosterDiffers(from: UInt32)
}

/// A message for one member, to be carried by the rendezvous or the relay.
package struct OutgoingKeyMessage: Equatable, Sendable {
  package let recipient: UInt32
  package let bytes: [UInt8]
}

/// Why a member was not taken in.
package enum GroupKeyError: Error, Equatable, Sendable {
  /// It has our uid and is not us.
  case ownUID
  /// `GroupKeyLimits.members`.
  case tooManyMembers
  /// `GroupKeyLimits.hosts`.
  case tooManyHosts
}

/// Counts of what was dropped, and of what was made.
package struct GroupKeyCounters: Equatable, Sendable {
  /// Messages about keys that were dropped, by `KeyMessageError`, in the order of its cases.
  package fileprivate(set) var dropped: [Int] = Array(
    repeating: 0, count: KeyMessageError.allCases.count)
  /// Envelopes sealed; those that were sent again unchanged are not among them.
  package internal(set) var sealedEnvelopes = 0
  /// Envelopes opened.
  package internal(set) var openedEnvelopes = 0

  package func dropped(_ error: KeyMessageError) -> Int {
    KeyMessageError.allCases.firstIndex(of: error).map { dropped[$0] } ?? 0
  }

  mutating func recordDrop(_ error: KeyMessageError) {
    if let place = KeyMessageError.allCases.firstIndex(of: error) { dropped[place] += 1 }
  }
}
