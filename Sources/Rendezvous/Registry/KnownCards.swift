import Primitives
import SecureSession
import Wire

/// What the stored cards say.
extension RegistrationStore {
  func content(of id: PeerID) throws(StoreFailure) -> ContactCard.Content? {
    try card(of: id).flatMap { ContactCard.Content(ofCard: $0) }
  }

  /// Whether the owner of a card has given up its device key.
  func hasSuperseded(_ card: ContactCard) throws(StoreFailure) -> Bool {
    try content(of: card.id)?.supersedes(card.content) ?? false
  }

  /// - Parameter isQuiet: Nobody shall see by the card that its owner is there.
  func keep(
    _ entry: PendingRegistrations.Entry, of id: PeerID, seen: UInt64, isQuiet: Bool
  ) throws(StoreFailure) {
    let card = try isQuiet ? known(entry.card, of: id) : entry.card
    try keep(card, serial: entry.serial, of: id, seen: seen)
  }

  /// The stored card where `bytes` have nothing new but the serial: a card that changes would tell
  /// everybody that its owner is there.
  private func known(_ bytes: [UInt8], of id: PeerID) throws(StoreFailure) -> [UInt8] {
    guard let stored = try card(of: id), var former = ContactCard.Content(ofCard: stored),
      let card = ContactCard.Content(ofCard: bytes)
    else { return bytes }
    former.serial = card.serial
    return former == card ? stored : bytes
  }
}

extension ContactCard.Content {
  /// `nil` when it is no card.
  init?(ofCard bytes: [UInt8]) {
    do throws(WireError) { self = try ContactCard(parsing: bytes).content } catch { return nil }
  }
}
