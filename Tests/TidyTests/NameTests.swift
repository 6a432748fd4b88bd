import Testing

/// Names that exclude nothing collect everything (docs/CONTRIBUTING.md §3).
@Suite struct NameTests {
  static let banned: Set<String> = [
    "Manager", "Helper", "Helpers", "Util", "Utils", "Handler", "Impl", "V2", "Common", "Misc",
  ]
  /// Said of everything, so they say nothing, at the end of a name.
  static let bannedAtTheEnd: Set<String> = ["Base", "Data", "Info"]
  static let keywords: Set<String> = [
    "struct", "class", "enum", "actor", "protocol", "typealias",
  ]

  @Test func `a type's name says what the type is`() {
    var offences: [String] = []
    for file in Repository.swiftFiles {
      for (index, name) in Self.typeNames(in: file) {
        let words = Self.words(of: name)
        if !Self.banned.isDisjoint(with: words) || Self.bannedAtTheEnd.contains(words.last ?? "") {
          offences.append("\(file.place(index)): \(name)")
        }
      }
    }
    forbid(offences, "Name the thing it is or does: an agent, a table, a schedule, a reader …")
  }

  @Test func `no type bears the name of its module`() {
    var offences: [String] = []
    for file in Repository.sources where file.target != "Arguments" {  // It has one type to name.
      for (index, name) in Self.typeNames(in: file) where name == file.target {
        offences.append("\(file.place(index)): \(name)")
      }
    }
    forbid(offences, "Module.Module cannot be told apart: give the type a name of its own.")
  }

  /// They say nothing of what is taken: `handleFeedback`, `appendArrival`, `sendRinging` do.
  static let bareVerbs: Set<String> = ["take", "note", "tell", "perform"]

  @Test func `a method's name says what it takes`() {
    let places = Repository.sources.flatMap { file in
      file.places { line in
        Self.bareVerbs.contains { line.contains("func \($0)(") || line.contains("func \($0)<") }
      }
    }
    forbid(places, "Name what is taken: handleFeedback, appendArrival, sendRinging.")
  }

  @Test func `a folder's name says what is in it`() {
    let folders = Set(
      Repository.swiftFiles.flatMap { $0.path.split(separator: "/").dropLast().map(String.init) })
    let banned = Self.banned.union(["Shared", "Core", "Base"])
    let offences = folders.intersection(banned).sorted()
    forbid(offences, "Name the subject, as RTP or Playout do.")
  }

  @Test func `words of a name are found`() {
    #expect(Self.words(of: "UDPSocketManagerV2") == ["UDP", "Socket", "Manager", "V2"])
    #expect(Self.words(of: "DataPacket") == ["Data", "Packet"])
  }

  /// Line index and name of each type that the file declares.
  static func typeNames(in file: SourceFile) -> [(Int, String)] {
    file.code.indices.flatMap { index in
      let words = file.code[index].split { !($0.isLetter || $0.isNumber || $0 == "_") }
        .map(String.init)
      return zip(words, words.dropFirst()).compactMap { keyword, name in
        keywords.contains(keyword) && name.first?.isUppercase == true ? (index, name) : nil
      }
    }
  }

  /// `UDPSocket` → `UDP`, `Socket`.
  static func words(of name: String) -> [String] {
    var words: [String] = []
    let letters = Array(name)
    for (index, letter) in letters.enumerated() {
      let afterLower = index > 0 && !letters[index - 1].isUppercase
      let beforeLower = index + 1 < letters.count && letters[index + 1].isLowercase
      let begins = letter.isUppercase && (index == 0 || afterLower || beforeLower)
      if begins || words.isEmpty {
        words.append(String(letter))
      } else {
        words[words.count - 1].append(letter)
      }
    }
    return words
  }
}
