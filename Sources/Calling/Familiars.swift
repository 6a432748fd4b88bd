package import Primitives

/// The peers that are no strangers: those that a person has pinned, and those that this side has
/// called. Their invitations are not limited together with those of strangers, and what rings of a
/// stranger gives way to them (docs/protocol/calling.md §3).
package struct Familiars: Sendable {
  /// More are not told apart from strangers.
  package static let limit = 10_000

  private var ids: Set<PeerID> = []

  package init() {}

  package func contains(_ id: PeerID) -> Bool { ids.contains(id) }

  package mutating func insert(_ id: PeerID) {
    if ids.count < Self.limit { ids.insert(id) }
  }

  package mutating func remove(_ id: PeerID) { ids.remove(id) }
}
