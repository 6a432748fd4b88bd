public import Primitives
internal import SecureSession
internal import Wire

/// What somebody's contact card says (docs/protocol/README.md §4), its signature checked: the one
/// word by which they can be reached.
///
/// The device key on a card lapses after some weeks. What is read here does not: who somebody is,
/// and where.
public struct PeerCard: Sendable, Equatable {
  /// Who signed it.
  public let id: PeerID
  /// The name on it. Whether a rendezvous grants it is another question.
  public let name: String?
  /// `HOST:PORT#ID` of the rendezvous where its owner is found, if it says so.
  public let rendezvous: String?
  /// The card, `earshot:...`.
  public let text: String
  let content: ContactCard

  /// Reads a card as text, `earshot:...`; white space around it does not count.
  ///
  /// - Throws: `invalidCard` when it is no card, not whole, or not signed by whom it names.
  public init(_ text: String) throws(EarshotError) {
    let text = String(text.drop { $0.isWhitespace }.prefix { !$0.isWhitespace })
    guard let card = ContactCard(text: text) else { throw .invalidCard("It is not a whole card.") }
    do throws(CardFault) {
      // At a time when it was valid: the identity outlives the device key on its card.
      try card.verify(for: card.id, unixSeconds: card.content.notBefore)
    } catch {
      throw .invalidCard("Its signature is not that of the identity that it names.")
    }
    id = card.id
    name = card.content.name?.description
    rendezvous = card.content.home.map(Self.address)
    self.text = card.text
    content = card
  }

  /// Whether text means to be a card, so that a damaged one is not taken for a name.
  public static func isCard(_ text: String) -> Bool { text.hasPrefix("earshot:") }

  private static func address(_ home: ContactCard.Home) -> String {
    let host = home.host
    let isBare = host.contains(":") && !host.hasPrefix("[")
    return "\(isBare ? "[\(host)]" : host):\(home.port)#\(home.id)"
  }
}

extension PeerCard {
  /// The rendezvous on a card that was kept beside a pin.
  static func rendezvous(ofKept card: [UInt8]) -> String? { kept(card)?.home.map(address) }

  /// The name on it.
  static func name(ofKept card: [UInt8]) -> PeerName? { kept(card)?.name }

  private static func kept(_ card: [UInt8]) -> ContactCard.Content? {
    do throws(WireError) { return try ContactCard(parsing: card).content } catch { return nil }
  }
}
