import Primitives
import SecureSession
package import Wire

/// The newest card of each familiar peer (`Familiars`): what shows that a device key was given up
/// (docs/protocol/README.md §4).
package struct NewestCards: Sendable {
  /// More are not remembered: as many as there may be pins.
  package static let limit = 10_000

  private var newest: [PeerID: ContactCard.Content] = [:]

  package init() {}

  package var count: Int { newest.count }

  /// Whether a newer card is known whose owner has given up the key of this one.
  package func hasSuperseded(_ card: ContactCard) -> Bool {
    newest[card.id].map { $0.supersedes(card.content) } ?? false
  }

  /// Remembers what was kept of a peer's card; empty for none.
  mutating func insert(kept bytes: [UInt8], of peer: PeerID) {
    do throws(WireError) {
      let card = try ContactCard(parsing: bytes)
      if card.id == peer { insert(card) }
    } catch {
      return  // None was kept.
    }
  }

  /// Remembers a card that verified, unless a newer one is known.
  package mutating func insert(_ card: ContactCard) {
    guard let known = newest[card.id] else {
      if newest.count < Self.limit { newest[card.id] = card.content }
      return
    }
    guard !known.supersedes(card.content) else { return }
    if card.content.supersedes(known) || known.serial < card.content.serial {
      newest[card.id] = card.content
    }
  }
}
