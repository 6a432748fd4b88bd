package import Arguments
package import Earshot

/// Who somebody is and where, in the fewest letters: `earshot:ID/HOST:PORT/ID` of the owner and its
/// rendezvous, or `earshot:ID` alone, in small letters or capitals. A QR code of it fits a terminal
/// of 24 rows, which that of a card does not.
///
/// A card says the same and has a signature. A link needs none: whoever answers proves the ID.
package struct ContactLink: Equatable, Sendable {
  package let id: PeerID
  /// `HOST:PORT#ID`.
  package let rendezvous: String?

  package init(id: PeerID, rendezvous: String?) {
    self.id = id
    self.rendezvous = rendezvous.map { Self.withPort($0) }
  }

  /// Without a port it is at the usual one: a link always has one.
  private static func withPort(_ rendezvous: String) -> String {
    let parts = rendezvous.split(separator: "#", maxSplits: 1).map(String.init)
    guard let place = parts.first, place.hasSuffix("]") || !place.contains(":") else {
      return rendezvous
    }
    return "\(place):7400" + (parts.count > 1 ? "#\(parts[1])" : "")
  }

  /// `nil` for what is none.
  package init?(_ text: String) {
    let text = text.lowercased()
    guard text.hasPrefix("earshot:"), text.utf8.count <= Self.longest else { return nil }
    let parts = text.dropFirst(8).split(separator: "/", omittingEmptySubsequences: false)
    guard let id = parts.first.flatMap({ PeerID(String($0)) }) else { return nil }
    switch parts.count {
    case 1: self.init(id: id, rendezvous: nil)
    case 3:
      guard PeerID(String(parts[2])) != nil, parts[1].contains(":") else { return nil }
      self.init(id: id, rendezvous: "\(parts[1])#\(parts[2])")
    default: return nil
    }
  }

  /// Whether text is to be a link, so that a damaged one is not taken for a name or a card: a card
  /// has small letters before its colon, no strokes, and is longer.
  package static func isMeant(_ text: String) -> Bool {
    guard text.lowercased().hasPrefix("earshot:") else { return false }
    return !text.hasPrefix("earshot:") || text.contains("/") || text.utf8.count < shortestCard
  }

  package static let damaged = UsageError(
    "The link is damaged, or a part of it is missing.",
    advice: "Copy all of it, EARSHOT:ID/HOST:PORT/ID; 'earshot card --qr' there prints it again.")

  /// In capitals: of these a QR code needs least.
  package var text: String {
    let place = rendezvous.map { "/" + $0.split(separator: "#").joined(separator: "/") } ?? ""
    return "earshot:\(id)\(place)".uppercased()
  }

  /// Letters: the signature alone takes more than a hundred.
  private static let shortestCard = 100
  /// Letters; a host's name has at most 253.
  private static let longest = 400
}
