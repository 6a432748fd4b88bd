package import Primitives

/// The peers that are no strangers: those that a person has pinned, and those that this side has
/// called. Their invitations are not limited together with those of strangers, and what rings of a
/// stranger gives way to them (docs/protocol/calling.md §3).
package struct Familiars: Sendable {
  /// More are not told apart from strangers.
  package static let limit = 10_000

  private var ids: Set<PeerID> = []
  /// How often they have changed.
  package private(set) var changeCount: UInt64 = 0

  package init() {}

  /// In no order.
  package var all: [PeerID] { Array(ids) }

  package func contains(_ id: PeerID) -> Bool { ids.contains(id) }

  package mutating func insert(_ id: PeerID) {
    guard ids.count < Self.limit, ids.insert(id).inserted else { return }
    changeCount += 1
  }

  package mutating func remove(_ id: PeerID) {
    if ids.remove(id) != nil { changeCount += 1 }
  }
}
