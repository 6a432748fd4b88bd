/// A command or option that is promised and not in this version: refused by its name, never taken
/// for a mistake and never ignored.
package struct AbsentFeature: Equatable, Sendable {
  /// As it is written: `send`, `--turn`.
  package var name: String
  /// One sentence: what this version lacks.
  package var sentence: String
  /// What to do instead.
  package var advice: String

  package init(_ name: String, _ sentence: String, advice: String) {
    self.name = name
    self.sentence = sentence
    self.advice = advice
  }

  /// What to tell whoever wrote it.
  package var error: UsageError { UsageError("\(name): \(sentence)", advice: advice) }
}

extension Arguments {
  /// Refuses the first of `absent` that is there, with or without a value.
  package func refuse(_ absent: [AbsentFeature]) throws(UsageError) {
    let found = absent.first { feature in
      words.contains { $0 == feature.name || $0.hasPrefix(feature.name + "=") }
    }
    if let found { throw found.error }
  }
}
