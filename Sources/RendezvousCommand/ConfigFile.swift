import Arguments

/// `--config`: options of the command line in a file, a line each: `name = value`, without dashes.
///
/// Empty lines count for nothing, and so does what begins with `#` or `;`. An option without a
/// value is `name = yes` or `no`. A section may be named `[earshot-rendezvous]`, and no other.
enum ConfigFile {
  /// Options with a value, and how often each may be there.
  static let values: [String: Int] = [
    "listen": 1, "data": 1, "metrics": 1, "events": 1, "allow": 1, "require-token": 1,
    "turn": .max, "turn-secret": 1, "relay-key": 1, "drain": 1, "log-level": 1,
    "redis": 1, "redis-password-file": 1, "cluster-secret": 1, "nodes": 1,
    "limit-clients": 1, "limit-channel-hosts": 1,
  ]
  static let flags: Set<String> = ["open", "json", "log-identities"]
  /// One of these on the command line leaves out the other in the file.
  private static let opposites = ["allow": "open", "open": "allow"]

  /// The file's options as words of a command line, but for those that `given` has already.
  static func words(
    _ text: String, path: String, beside given: [String]
  ) throws(UsageError) -> [String] {
    var words: [String] = []
    var counts: [String: Int] = [:]
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let place = "\(path), line \(index + 1)"
      guard let (name, value) = try Self.entry(line, place) else { continue }
      counts[name, default: 0] += 1
      guard counts[name, default: 0] <= values[name] ?? 1 else {
        throw UsageError("\(place): '\(name)' stands above already.")
      }
      let word = try Self.word(name, value, place)
      let names = [name, opposites[name]].compactMap { $0 }
      if let word, !names.contains(where: { isGiven($0, in: given) }) { words.append(word) }
    }
    return words
  }

  /// The name and the value of one line; `nil` where there is neither.
  private static func entry(
    _ line: Substring, _ place: String
  ) throws(UsageError) -> (name: String, value: String)? {
    let line = trimmed(line)
    guard let first = line.first, first != "#", first != ";" else { return nil }
    if first == "[" {
      if line == "[earshot-rendezvous]" { return nil }
      throw UsageError(
        "\(place): there is no section \(line).",
        advice: "Leave it out, or write [earshot-rendezvous].")
    }
    guard let equals = line.firstIndex(of: "=") else {
      throw UsageError("\(place): '\(line)' has no '='.", advice: "Write name = value.")
    }
    let name = String(trimmed(line[..<equals]))
    guard values[name] != nil || flags.contains(name) else {
      throw UsageError(
        "\(place): '\(name)' is not an option.",
        advice: Arguments.suggestion(name, values.keys.sorted() + flags.sorted()))
    }
    return (name, String(trimmed(line[line.index(after: equals)...])))
  }

  /// `nil` for an option that is off.
  private static func word(
    _ name: String, _ value: String, _ place: String
  ) throws(UsageError) -> String? {
    guard flags.contains(name) else {
      if value.isEmpty { throw UsageError("\(place): '\(name)' wants a value.") }
      return "--\(name)=\(value)"
    }
    switch value {
    case "yes", "true", "on", "1": return "--\(name)"
    case "no", "false", "off", "0": return nil
    default: throw UsageError("\(place): '\(name)' is yes or no, not '\(value)'.")
    }
  }

  private static func isGiven(_ name: String, in words: [String]) -> Bool {
    words.contains { $0 == "--\(name)" || $0.hasPrefix("--\(name)=") }
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text.drop(while: \.isWhitespace)
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
  }
}
