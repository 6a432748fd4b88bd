internal import Reactor

/// Text for terminals that know ASCII alone: the C locale, or none.
package enum PlainLetters {
  /// Whether the locale of this process has no other letters (POSIX: the first that is set counts).
  package static func areWanted(_ variable: (String) -> String?) -> Bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { name in
      variable(name).flatMap { $0.isEmpty ? nil : $0 }
    }.first
    let lowered = (locale ?? "C").lowercased()
    return !lowered.contains("utf-8") && !lowered.contains("utf8")
  }

  /// Whether this process wants them.
  package static let isWanted = areWanted(ProcessSurroundings.variable)

  /// `text` in ASCII: what stands for a sign that we print, `?` for the letters of others.
  package static func of(_ text: String) -> String {
    guard !text.utf8.allSatisfy({ $0 < 128 }) else { return text }
    return text.reduce(into: "") { plain, letter in
      plain += letter.isASCII ? String(letter) : signs[letter] ?? "?"
    }
  }

  private static let signs: [Character: String] = [
    "·": ".", "×": "x", "±": "+/-", "≥": ">=", "≤": "<=", "→": "->", "µ": "u", "§": "section ",
    "–": "-", "…": "...", "▁": "_", "▂": ".", "▃": "-", "▄": "=", "▅": "+", "▆": "*", "▇": "#",
    "█": "@", "▀": "^",
  ]
}
