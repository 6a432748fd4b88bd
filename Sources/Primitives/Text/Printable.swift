/// Which letters may reach a terminal, a file or a page when somebody else chose them.
///
/// Left out are those that give orders instead of being shown: C0 and C1 controls (ISO 6429; the
/// escape sequences of a terminal begin with one), line and paragraph separators, and the controls
/// of writing direction (Unicode UAX #9 §2), which make a text read as another.
package enum Printable {
  package static func contains(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0: false  // C0, DELETE, C1
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: false  // direction
    case 0x2028, 0x2029: false  // separators
    case 0xFEFF, 0xFFF9...0xFFFB, 0xE0000...0xE007F: false  // marks that nobody sees
    default: true
    }
  }

  /// `text` without the others.
  package static func only(_ text: String) -> String {
    if text.unicodeScalars.allSatisfy(contains) { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.filter(contains)))
  }

  /// The same of several lines: line feeds stay.
  package static func lines(_ text: String) -> String {
    if text.unicodeScalars.allSatisfy({ $0 == "\n" || contains($0) }) { return text }
    return String(
      String.UnicodeScalarView(text.unicodeScalars.filter { $0 == "\n" || contains($0) }))
  }

  /// A scalar in a JSON string, as RFC 8259 §7 allows it to be written: what is not printable as
  /// a `\u` escape, as a surrogate pair beyond the first plane.
  package static func appendJSON(_ scalar: Unicode.Scalar, to output: inout String) {
    switch scalar {
    case "\"": output += "\\\""
    case "\\": output += "\\\\"
    case "\n": output += "\\n"
    case "\r": output += "\\r"
    case "\t": output += "\\t"
    case _ where contains(scalar): output.unicodeScalars.append(scalar)
    default:
      for unit in String(scalar).utf16 {
        let digits = String(unit, radix: 16)
        output += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      }
    }
  }
}
