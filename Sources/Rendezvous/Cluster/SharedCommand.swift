package import Primitives
package import Wire

/// What nodes do with the memory that they share: a script each, run there as a whole
/// (docs/protocol/cluster.md §2).
package enum SharedScript: String, CaseIterable, Sendable {
  /// What a registration must know; keeps a free name for its asker for half a minute.
  case register
  /// Gives a name to an identity if it may have it.
  case bind
  /// Takes a name from whoever has it.
  case free
  /// Keeps a card.
  case keep
  /// The card of a name or an identity, and its programs everywhere.
  case find
  /// A program has a session at this node.
  case announce
  /// A name and a card that a client of this node has had are there still, or the name is again.
  case restore
  /// A program's session at this node has ended.
  case withdraw
  /// This node is there.
  case beat
  /// Keeps a ban.
  case ban
  /// All bans.
  case bans
  /// Hands bytes to another node.
  case send
}

/// One command, in the order in which they must be done.
package struct SharedCommand: Equatable, Sendable {
  package var script: SharedScript
  package var arguments: [[UInt8]]
  /// Whose reply it brings.
  package var number: UInt64

  package init(_ script: SharedScript, _ arguments: [[UInt8]], number: UInt64) {
    self.script = script
    self.arguments = arguments
    self.number = number
  }
}

/// What the shared memory answers. None of it is trusted before it is read.
package indirect enum SharedReply: Equatable, Sendable {
  case none
  case number(Int64)
  case bytes([UInt8])
  case list([SharedReply])
  /// The command was not done, or nobody knows whether it was.
  case failed(String)

  package var number: Int64? { if case .number(let value) = self { value } else { nil } }
  package var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
  package var list: [SharedReply]? { if case .list(let value) = self { value } else { nil } }
}

/// Names a wish that the store has not fulfilled yet.
package struct StoreTicket: Hashable, Sendable {
  let number: UInt64
}

/// What a store is asked to know before it is read.
package enum StoreWish: Equatable, Sendable {
  /// A registration that asks for a name, with a card that claims one.
  ///
  /// - Parameters:
  ///   - receipt: What it shows for the name that it asks for.
  ///   - keepsName: A name that nobody has is kept from others until the session stands.
  case registration(
    PeerID, asked: PeerName?, claimed: PeerName?, receipt: OpaqueReceipt? = nil,
    keepsName: Bool = true)
  /// Whose name it is, the card, and the programs at other nodes.
  case find(LookUp.Target)
}
