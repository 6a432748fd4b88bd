package import Arguments

/// A differentiated services code point (RFC 2474): what a line may sort packets by.
package struct DSCP: Equatable, Sendable {
  /// 0...63.
  package var value: UInt8

  /// A number, or a name of IANA's registry: `EF`, `CS5`, `AF41`, `VA`, `LE`, `DF`.
  package init(parsing text: String) throws(UsageError) {
    guard let value = UInt8(text).flatMap({ $0 < 64 ? $0 : nil }) ?? Self.named(text.uppercased())
    else {
      throw UsageError(
        "'\(text)' is no DSCP.", advice: "Write 0 to 63, or a name: EF, CS0 to CS7, AF11 to AF43.")
    }
    self.value = value
  }

  private static func named(_ name: String) -> UInt8? {
    if let value = names[name] { return value }
    let digits = name.dropFirst(2).compactMap(\.wholeNumberValue)
    if name.hasPrefix("CS"), name.count == 3, digits.count == 1, digits[0] < 8 {
      return UInt8(8 * digits[0])
    }
    guard name.hasPrefix("AF"), name.count == 4, digits.count == 2, (1...4).contains(digits[0]),
      (1...3).contains(digits[1])
    else { return nil }
    return UInt8(8 * digits[0] + 2 * digits[1])
  }

  /// RFC 3246, RFC 5865, RFC 8622, RFC 2474.
  private static let names: [String: UInt8] = ["EF": 46, "VA": 44, "LE": 1, "DF": 0]
}
