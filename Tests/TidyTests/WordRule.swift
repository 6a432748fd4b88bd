/// Words that may not stand in some files, why, and what to do instead.
struct WordRule {
  var words: [String]
  var advice: String
  /// Beginnings of paths where the words are at home.
  var exceptions: [String] = []

  func offences(in files: [SourceFile]) -> [String] {
    var found: [String] = []
    for file in files where !exceptions.contains(where: file.path.hasPrefix) {
      for (index, line) in file.code.enumerated() {
        for word in words where Self.contains(word, line) {
          found.append("\(file.place(index)): \(word)")
        }
      }
    }
    return found
  }

  /// Whether `word` stands in `line` as a word: `print(` is not found in `fingerprint(`.
  static func contains(_ word: String, _ line: String) -> Bool {
    var rest = Substring(line)
    while let range = rest.firstRange(of: word) {
      let before = line[..<range.lowerBound].last ?? " "
      let after = line[range.upperBound...].first ?? " "
      let beginsWithLetter = word.first.map(isWordLetter) ?? false
      let endsWithLetter = word.last.map(isWordLetter) ?? false
      if !(beginsWithLetter && (isWordLetter(before) || before == ".")),
        !(endsWithLetter && isWordLetter(after))
      {
        return true
      }
      rest = rest[range.upperBound...]
    }
    return false
  }

  private static func isWordLetter(_ letter: Character) -> Bool {
    letter.isLetter || letter.isNumber || letter == "_"
  }
}

/// Which targets are pure: no clock, kernel, thread or dice of their own.
enum Layers {
  /// Levels 5 to 8 of docs/ARCHITECTURE.md §2: where the world is.
  static let edge: Set<String> = [
    "Reactor", "MediaFiles", "Routers", "Storage", "Redis", "Earshot", "PeerCommand", "PeerMain",
    "RendezvousCommand", "RelayCommand", "EarshotMedia", "EarshotC",
  ]
  static let pure = Repository.sources.filter { !edge.contains($0.target) }
  /// What bytes from the network reach: everything pure, but for the taking apart of command lines.
  static let packetPath = pure.filter { $0.target != "Arguments" }
}
