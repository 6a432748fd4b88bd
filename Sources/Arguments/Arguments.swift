/// Takes a command line apart: ask for every option first, then for the positional arguments, then
/// `finish()`, which refuses whatever nobody asked for.
///
///     var arguments = Arguments(["call", "bob", "--duration=5", "--loop"])
///     let seconds = try arguments.number("--duration", "seconds", in: 0.1...86400)
///     let loops = try arguments.flag("--loop")
///     let peer = try arguments.positional("peer")
///     try arguments.finish()
///
/// Long options only, `--name value` or `--name=value`; `--` ends the options. A value may begin
/// with one dash ("-" for standard input, "-3"), but not with two: write `--name=--value` for that.
package struct Arguments: Sendable {
  private var rest: [String]
  /// What followed `--`: positional, whatever it looks like.
  private var literal: [String] = []
  /// The options asked for so far, for "did you mean".
  private var known: [String] = ["--help"]

  package init(_ arguments: [String]) {
    if let end = arguments.firstIndex(of: "--") {
      rest = Array(arguments[..<end])
      literal = Array(arguments[(end + 1)...])
    } else {
      rest = arguments
    }
  }

  /// The words that are left, up to `--`.
  package var words: [String] { rest }

  /// Whether help is asked for; everything else may then be nonsense.
  package var wantsHelp: Bool { rest.contains("--help") || rest.contains("-h") || rest == ["?"] }

  /// The next word if it is not an option: the name of a subcommand, before anything is asked for.
  package mutating func command() -> String? {
    guard let first = rest.first, !first.hasPrefix("-") else { return nil }
    return rest.removeFirst()
  }

  /// The first word that is one of `names`, where options stand before it.
  package func laterCommand(of names: [String]) -> String? { rest.first { names.contains($0) } }

  // MARK: - Options

  /// Whether `name` is there; given twice it is the same as once.
  package mutating func flag(_ name: String) throws(UsageError) -> Bool {
    known.append(name)
    if let index = rest.firstIndex(where: { $0.hasPrefix(name + "=") }) {
      throw UsageError("\(name) takes no value, but was given '\(rest[index])'.")
    }
    let count = rest.count
    rest.removeAll { $0 == name }
    return rest.count < count
  }

  /// The value of `name`, or `nil` when it is not there.
  package mutating func option(_ name: String) throws(UsageError) -> String? {
    let values = try options(name)
    guard values.count <= 1 else {
      throw UsageError("\(name) was given \(values.count) times; it can be given once.")
    }
    return values.first
  }

  /// All values of an option that may be repeated, in order.
  package mutating func options(_ name: String) throws(UsageError) -> [String] {
    known.append(name)
    var values: [String] = []
    var index = 0
    while index < rest.count {
      let word = rest[index]
      if word.hasPrefix(name + "=") {
        values.append(String(word.dropFirst(name.count + 1)))
        rest.remove(at: index)
      } else if word == name {
        guard index + 1 < rest.count, !rest[index + 1].hasPrefix("--") else {
          throw UsageError(
            "\(name) wants a value.", advice: "Write \(name) VALUE, or \(name)=VALUE.")
        }
        values.append(rest[index + 1])
        rest.removeSubrange(index...(index + 1))
      } else {
        index += 1
      }
    }
    return values
  }

  /// The value of `name`, which names a file or a folder: never empty, as a variable of a shell may
  /// be that was not set.
  package mutating func file(_ name: String) throws(UsageError) -> String? {
    let path = try option(name)
    guard path != "" else {
      throw UsageError(
        "\(name) wants a file, and its value is empty.", advice: "Write \(name) FILE.")
    }
    return path
  }

  /// The value of `name`, read by `convert`, which gives `nil` for what it cannot read; `wanted`
  /// says what can be read: "an address like 192.0.2.1:7400".
  package mutating func option<Value>(
    _ name: String, wants wanted: String, _ convert: (String) -> Value?
  ) throws(UsageError) -> Value? {
    guard let text = try option(name) else { return nil }
    guard let value = convert(text) else {
      throw UsageError("\(name) wants \(wanted), not '\(text)'.")
    }
    return value
  }

  /// An address, `HOST:PORT`; a number alone, which the system would take for a host, is refused.
  /// Names are looked up by whoever uses it.
  package mutating func address(
    _ name: String, like example: String
  ) throws(UsageError) -> String? {
    guard let text = try option(name) else { return nil }
    guard text.contains(where: { !$0.isNumber }) else {
      throw UsageError(
        "\(name) wants HOST:PORT, not '\(text)'.", advice: "Write it like \(example).")
    }
    return text
  }

  /// A number that need not be whole, in `unit`: "seconds". One of seconds, milliseconds or minutes
  /// may be written with a unit of its own: `500ms`, `10s`, `5m`, `1h`, `2d`.
  package mutating func number(
    _ name: String, _ unit: String, in range: ClosedRange<Double>
  ) throws(UsageError) -> Double? {
    guard let text = try option(name) else { return nil }
    let length = Self.secondsIn[unit]
    let value = length.flatMap { Self.time(text, in: $0) } ?? Self.decimal(text)
    if let value, range.contains(value) { return value }
    let bounds = "\(Self.short(range.lowerBound)) and \(Self.short(range.upperBound))"
    let isTime = length != nil && value == nil && text.first?.isNumber == true
    throw UsageError(
      "\(name) wants a number of \(unit) between \(bounds), not '\(text)'.",
      advice: isTime ? "Write one number with one unit: 500ms, 90s, 5m or 1.5h." : "")
  }

  /// A number with a unit of time, in units of `seconds`; `nil` without one.
  private static func time(_ text: String, in seconds: Double) -> Double? {
    let letters = String(text.drop { !$0.isLetter })
    guard let length = lengths[letters] else { return nil }
    return decimal(text.dropLast(letters.count)).map { $0 * length / seconds }
  }

  /// Double reads "nan", "inf" and hexadecimal as well, which nobody means here.
  private static func decimal(_ text: some StringProtocol) -> Double? {
    text.utf8.allSatisfy { decimalLetters.contains($0) } ? Double(text) : nil
  }

  /// Seconds.
  private static let lengths = ["ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400]
  private static let secondsIn: [String: Double] = [
    "milliseconds": 0.001, "seconds": 1, "minutes": 60,
  ]

  /// A whole number, in `unit`: "packets". It may end in K, M or G: thousands, millions, billions.
  package mutating func integer(
    _ name: String, _ unit: String, in range: ClosedRange<Int>
  ) throws(UsageError) -> Int? {
    guard let text = try option(name) else { return nil }
    if let value = Self.whole(text), range.contains(value) { return value }
    let short = Self.withoutUnit(text)
    let isMeant = short != text && Self.whole(short).map { range.contains($0) } == true
    throw UsageError(
      "\(name) wants a whole number of \(unit) between \(range.lowerBound) and "
        + "\(range.upperBound), not '\(text)'.",
      advice: isMeant ? "Write \(name) \(short)." : "")
  }

  /// `10M` of `10Mbps`, `10 Mbit/s` and `10m`.
  private static func withoutUnit(_ text: String) -> String {
    let number = text.prefix { !$0.isLetter && $0 != " " }
    let unit = text.dropFirst(number.count).drop { $0 == " " }.lowercased()
    let name = ["bits/s", "bit/s", "bps", "b/s", "bits", "bit", "b"].first { unit.hasSuffix($0) }
    return String(number) + unit.dropLast(name?.count ?? 0).uppercased()
  }

  /// `2500000`, `2500k` and `2.5M` are the same.
  private static func whole(_ text: String) -> Int? {
    let factors: [Character: Double] = ["K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9]
    guard let last = text.last, let factor = factors[last] else { return Int(text) }
    guard let value = decimal(text.dropLast()).map({ $0 * factor }) else { return nil }
    return Int(exactly: value)
  }

  /// One of a few words.
  package mutating func choice(_ name: String, of words: [String]) throws(UsageError) -> String? {
    guard let text = try option(name) else { return nil }
    if words.contains(text) { return text }
    let list = words.joined(separator: ", ")
    throw UsageError(
      "\(name) wants one of \(list), not '\(text)'.", advice: Self.suggestion(text, words))
  }

  // MARK: - Positional arguments

  /// The next positional argument, or `nil`. Ask for all options first: only then is it known
  /// which words are values.
  package mutating func optionalPositional() -> String? {
    if let index = rest.firstIndex(where: { !$0.hasPrefix("-") || $0 == "-" }) {
      return rest.remove(at: index)
    }
    return literal.isEmpty ? nil : literal.removeFirst()
  }

  /// The next positional argument, called `name` in the usage.
  package mutating func positional(_ name: String) throws(UsageError) -> String {
    try checkOptions()
    guard let word = optionalPositional() else { throw UsageError("<\(name)> is missing.") }
    return word
  }

  /// Refuses whatever is left.
  ///
  /// - Parameter advice: What to write instead of a word, where it can be told.
  package consuming func finish(
    _ advice: (String) -> String = { _ in "" }
  ) throws(UsageError) {
    try checkOptions()
    guard let word = rest.first ?? literal.first else { return }
    throw UsageError("'\(word)' is one argument too many.", advice: advice(word))
  }

  /// Names an option that nobody asked for, and the one that may have been meant.
  private func checkOptions() throws(UsageError) {
    guard let word = rest.first(where: { $0.hasPrefix("-") && $0 != "-" && $0 != "--help" })
    else { return }
    let name = word.split(separator: "=", maxSplits: 1).first.map(String.init) ?? word
    throw UsageError(
      "\(name) is not an option of this command.", advice: Self.suggestion(name, known))
  }

  // MARK: - Texts

  /// "Did you mean …?" for the nearest of `words`, if it is near: at most a third of it wrong.
  package static func suggestion(_ word: String, _ words: [String]) -> String {
    // 30 is no slip of the pen for 10.
    guard Double(word) == nil else { return "" }
    var best: (distance: Int, word: String)?
    for candidate in words {
      let distance = min(
        editDistance(word, candidate), editDistance(word.lowercased(), candidate))
      if distance < best?.distance ?? .max { best = (distance, candidate) }
    }
    guard let best, best.distance <= max(1, best.word.count / 3) else { return "" }
    return "Did you mean \(best.word)?"
  }

  /// How many letters must be put in, left out, changed or swapped with the next to turn one word
  /// into the other (Damerau-Levenshtein, restricted).
  package static func editDistance(_ first: String, _ second: String) -> Int {
    let a = Array(first.prefix(64).unicodeScalars)
    let b = Array(second.prefix(64).unicodeScalars)
    var rows = [Array(0...b.count)]
    for i in 1..<(a.count + 1) {
      var row = [i]
      for j in 1..<(b.count + 1) {
        let change = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)
        var cost = min(rows[i - 1][j] + 1, row[j - 1] + 1, change)
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
          cost = min(cost, rows[i - 2][j - 2] + 1)
        }
        row.append(cost)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }

  private static func short(_ value: Double) -> String {
    // As text, because rounding would need the mathematics library.
    let text = String(value)
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  private static let decimalLetters = Array("0123456789.eE+-".utf8)
}
