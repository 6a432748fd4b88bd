import Glibc

/// One way in for bytes that somebody else chose, and what must hold for all of them.
///
/// `tools/fuzz` drives it with coverage; every `swift test` replays its corpus. A target fails by
/// stopping the process: by a trap in the code under test, or by `expect`.
package struct FuzzTarget: Sendable {
  /// Names the folder in Tests/Corpora.
  package let name: String
  /// Longer inputs teach nothing new.
  package let maximumByteCount: Int
  /// Whole and valid inputs, from which a fuzzer finds its way in.
  package let seeds: @Sendable () -> [[UInt8]]
  package let run: @Sendable ([UInt8]) -> Void

  init(
    _ name: String, maximumByteCount: Int = 1200, seeds: @escaping @Sendable () -> [[UInt8]],
    run: @escaping @Sendable ([UInt8]) -> Void
  ) {
    self.name = name
    self.maximumByteCount = maximumByteCount
    self.seeds = seeds
    self.run = run
  }

  /// All targets, in the order of the layers.
  package static let all: [FuzzTarget] =
    primitives + session + frames + transport + calling + transfers + probes + rendezvous
    + cluster + relay + routers
    + tokens
    + groupKeys + channels + ChannelMessageTargets.all + forwarding + pairs
    + audio
    + video
    + storage
    + outputs
    + machines

  /// Whole machines, reached through the seal: what their parts let through, together.
  static let machines: [FuzzTarget] = [rendezvousMachine, peerMachine]

  package static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// States what must hold for every input; stops the process if it does not.
func expect(_ holds: Bool, _ sentence: StaticString) {
  if holds { return }
  let text = Array("does not hold: \(sentence)\n".utf8)
  _ = unsafe text.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
  preconditionFailure("a property of all inputs does not hold")
}
