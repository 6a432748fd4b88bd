package import Arguments
package import LinkModel
internal import Primitives

/// The command line of the emulator.
package struct LineOptions: Sendable {
  /// A change of the line while it runs.
  package struct Change: Sendable {
    package var at: Duration
    package var direction: LineRelay.Direction
    package var spec: LineSpec
  }

  package var forwards: [LineProxy.Forward] = []
  package var up: LinkConditions
  package var down: LinkConditions
  package var changes: [Change] = []
  package var rebindAt: [Duration] = []
  package var seed: UInt64
  /// `nil` until a signal comes.
  package var duration: Duration?

  package init(
    _ arguments: consuming Arguments, readTrace: (String) throws(UsageError) -> String
  ) throws(UsageError) {
    var arguments = arguments
    for text in try arguments.options("--forward") { forwards.append(try Self.forward(text)) }
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
    for text in try arguments.options("--rebind-at") {
      for part in text.split(separator: ",") { rebindAt.append(try Self.seconds(part)) }
    }
    seed = UInt64(try arguments.integer("--seed", "seed", in: 0...Int.max) ?? 1)
    duration = try arguments.number("--duration", "seconds", in: 0.1...86_400).map {
      .milliseconds(Int64($0 * 1000))
    }
    try arguments.finish()
    guard !forwards.isEmpty else {
      throw UsageError("Nothing is to be forwarded.", advice: "Add --forward LISTEN=TARGET.")
    }
  }

  private static func forward(_ text: String) throws(UsageError) -> LineProxy.Forward {
    let parts = text.split(separator: "=").map { SocketAddress(String($0)) }
    guard parts.count == 2, let listen = parts[0], let target = parts[1], target.port != 0 else {
      throw UsageError(
        "--forward wants LISTEN=TARGET, not '\(text)'.",
        advice: "For example 127.0.0.1:7500=127.0.0.1:7400.")
    }
    return LineProxy.Forward(listen: listen, target: target)
  }

  /// `SECONDS:up|down|both:SPEC`.
  private static func changes(
    _ text: String, readTrace: (String) throws(UsageError) -> String
  ) throws(UsageError) -> [Change] {
    let parts = text.split(separator: ":", maxSplits: 2)
    let directions: [String: [LineRelay.Direction]] = [
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

  private static func seconds(_ text: Substring) throws(UsageError) -> Duration {
    let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
    guard isPlain, let value = Double(String(text)), value <= 86_400 else {
      throw UsageError("'\(text)' is not a number of seconds.")
    }
    return .milliseconds(Int64(value * 1000))
  }
}
