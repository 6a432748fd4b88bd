internal import Glibc
internal import Plotting
internal import Primitives
internal import Reactor

/// When, where and by which command a page was made: a page that is sent to somebody has to say so
/// itself.
package struct PageOrigin: Sendable {
  /// RFC 3339, UTC.
  package var date: String
  package var host: String
  package var version: String
  /// As it was typed, without what is secret.
  package var command: String

  package init(date: String, host: String, version: String, words: [String]) {
    self.date = date
    self.host = host
    self.version = version
    command = Self.shown(words)
  }

  /// Of this program, now.
  package static var here: PageOrigin {
    PageOrigin(
      date: Timestamp.text(wallNanoseconds: SystemClock.wallNanoseconds),
      host: ProcessSurroundings.hostName, version: PeerProgram.version,
      words: ["earshot"] + CommandLine.arguments.dropFirst())
  }

  /// Options whose value is nobody's business: passwords, and what is said to the other side.
  private static let secret = ["--turn-password", "--extension"]

  private static func shown(_ words: [String]) -> String {
    var hides = false
    return words.map { word in
      defer { hides = secret.contains(word) }
      if hides { return "…" }
      for name in secret where word.hasPrefix(name + "=") { return name + "=…" }
      let isPlain = word.allSatisfy { $0.isLetter || $0.isNumber || "-_./:#@=[],{}+".contains($0) }
      return isPlain && !word.isEmpty ? word : "'\(word)'"
    }.joined(separator: " ")
  }

  var markup: String {
    let words = [date, host.isEmpty ? nil : "host \(host)", "earshot \(version)"]
    let line = words.compactMap(\.self).joined(separator: " · ")
    return
      "<p class=\"origin\">\(Markup.escaped(line))<br/><code>\(Markup.escaped(command))</code></p>"
  }
}
