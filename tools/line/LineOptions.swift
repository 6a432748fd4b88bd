package import Arguments
package import LinkModel
internal import Primitives

/// The command line of the emulator.
package struct LineOptions: Sendable {
  package var forwards: [LineProxy.Forward] = []
  /// Instead of forwards: devices, between which all of IP goes.
  package var devices: LineDevices.Pair?
  package var course: LineCourse
  package var rebindAt: [Duration] = []
  package var seed: UInt64
  /// Where each datagram is written down.
  package var journal: String?
  /// Whether the course begins at SIGUSR1 and not at once.
  package var waitsForSignal: Bool
  /// `nil` until a signal comes.
  package var duration: Duration?

  package init(
    _ arguments: consuming Arguments, readTrace: (String) throws(UsageError) -> String
  ) throws(UsageError) {
    var arguments = arguments
    for text in try arguments.options("--forward") { forwards.append(try Self.forward(text)) }
    devices = try arguments.option("--devices").map { text throws(UsageError) in
      try Self.devices(text)
    }
    course = try LineCourse(&arguments, readTrace: readTrace)
    for text in try arguments.options("--rebind-at") {
      for part in text.split(separator: ",") { rebindAt.append(try LineCourse.seconds(part)) }
    }
    seed = UInt64(try arguments.integer("--seed", "seed", in: 0...Int.max) ?? 1)
    duration = try arguments.number("--duration", "seconds", in: 0.1...86_400).map {
      .milliseconds(Int64($0 * 1000))
    }
    journal = try arguments.option("--log")
    waitsForSignal = try arguments.flag("--at-signal")
    try arguments.finish()
    try check()
  }

  private func check() throws(UsageError) {
    guard devices != nil else {
      if !forwards.isEmpty { return }
      throw UsageError(
        "Nothing is to be forwarded.",
        advice: "Add --forward LISTEN=TARGET, or --devices NEAR=FAR.")
    }
    guard forwards.isEmpty, rebindAt.isEmpty else {
      throw UsageError(
        "Between devices no port is forwarded or given anew.",
        advice: "Leave out --forward and --rebind-at, or --devices.")
    }
  }

  private static func devices(_ text: String) throws(UsageError) -> LineDevices.Pair {
    let names = text.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
    guard names.count == 2, names[0] != names[1],
      names.allSatisfy({ (1...15).contains($0.utf8.count) })
    else {
      throw UsageError(
        "--devices wants NEAR=FAR, not '\(text)'.",
        advice: "Two names of 1 to 15 letters, for example near0=far0.")
    }
    return LineDevices.Pair(near: names[0], far: names[1])
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
}
