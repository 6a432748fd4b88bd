package import Arguments
internal import Primitives

/// A line, and what becomes of it over time, from a command line: `--up`, `--down`,
/// `--both`, `--at`.
///
/// The emulator and whoever plays the same line in simulated time read the same words.
package struct LineCourse: Sendable {
  /// A change of the line while it runs.
  package struct Change: Sendable {
    package var at: Duration
    package var direction: LineDirection
    package var spec: LineSpec
  }

  package var up: LinkConditions
  package var down: LinkConditions
  /// As they were given; not by time.
  package var changes: [Change] = []

  /// Takes its options out of `arguments`.
  ///
  /// - Parameter readTrace: Gives the text of a trace file.
  package init(
    _ arguments: inout Arguments, readTrace: (String) throws(UsageError) -> String
  ) throws(UsageError) {
    var conditions = LinkConditions(delay: .zero)
    for text in try arguments.options("--both") {
      try LineSpec(text, readTrace: readTrace).apply(to: &conditions)
    }
    (up, down) = (conditions, conditions)
    for text in try arguments.options("--up") {
      try LineSpec(text, readTrace: readTrace).apply(to: &up)
    }
    for text in try arguments.options("--down") {
      try LineSpec(text, readTrace: readTrace).apply(to: &down)
    }
    for text in try arguments.options("--at") {
      changes += try Self.changes(text, readTrace: readTrace)
    }
  }

  /// `SECONDS:up|down|both:SPEC`.
  private static func changes(
    _ text: String, readTrace: (String) throws(UsageError) -> String
  ) throws(UsageError) -> [Change] {
    let parts = text.split(separator: ":", maxSplits: 2)
    let directions: [String: [LineDirection]] = [
      "up": [.up], "down": [.down], "both": [.up, .down],
    ]
    guard parts.count == 3, let affected = directions[String(parts[1])] else {
      throw UsageError(
        "--at wants SECONDS:up|down|both:SPEC, not '\(text)'.",
        advice: "For example 5:up:rate=300k.")
    }
    let at = try seconds(parts[0])
    let spec = try LineSpec(String(parts[2]), readTrace: readTrace)
    return affected.map { Change(at: at, direction: $0, spec: spec) }
  }

  /// Whole or broken seconds, a day at most.
  package static func seconds(_ text: Substring) throws(UsageError) -> Duration {
    let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
    guard isPlain, let value = Double(String(text)), value <= 86_400 else {
      throw UsageError("'\(text)' is not a number of seconds.")
    }
    return .milliseconds(Int64(value * 1000))
  }
}
