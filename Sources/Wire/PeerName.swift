import Primitives

/// A name that one can be called by (docs/protocol/README.md §2, TLV 2).
package struct PeerName: Hashable, Sendable, CustomStringConvertible {
  package static let maximumByteCount = 63

  package let description: String

  /// `nil` unless `text` is 1..63 of `A-Z a-z 0-9 . _ -` and does not read as an ID.
  package init?(_ text: String) {
    guard (1...Self.maximumByteCount).contains(text.utf8.count),
      text.utf8.allSatisfy(Self.isAllowed), PeerID(text) == nil
    else { return nil }
    description = text
  }

  package init?(bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    self.init(text)
  }

  package var bytes: [UInt8] { Array(description.utf8) }

  private static func isAllowed(_ letter: UInt8) -> Bool {
    switch letter {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
