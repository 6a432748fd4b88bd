import Primitives
import Testing

@testable import Simulation

/// The judge of what is heard is judged: an ear that is deaf is found out, also on a line that
/// loses in bursts, and one that hears is not.
@Suite struct HearingRuleTests {
  /// - Parameter isDeaf: Alice is made to have heard nothing since the call was a second old.
  private func breaches(
    _ loss: LinkConditions.Loss, isDeaf: Bool, seed: UInt64
  ) throws -> [String] {
    let pair = TwoPeers(seed: seed, roundTrip: .milliseconds(60), change: { $0.loss = loss })
    let call = try pair.connect()
    pair.world.run(.seconds(1))
    let last = pair.alice.lastHeard[call]
    // So often that hardly a frame comes between it and the rule's look.
    for _ in 0..<6_000 {
      pair.world.run(.milliseconds(1))
      if isDeaf { pair.alice.lastHeard[call] = last }
    }
    return pair.world.testimony.violations.filter { $0.contains("hears nothing") }
  }

  /// Bursts of ten packets on average that lose all, and such that lose half.
  private static let lines: [LinkConditions.Loss] = [
    .none, .random(0.05), .bursts(.bursts(losing: 0.03, ofLength: 10)),
    .bursts(GilbertElliott(goodToBad: 0.02, badToGood: 0.1, lossInBad: 0.5)),
  ]

  @Test(arguments: lines.indices)
  func `a deaf ear is found within 6 s on any line, and no other is`(line: Int) throws {
    for seed in UInt64(1)...5 {
      let found = try breaches(Self.lines[line], isDeaf: true, seed: seed)
      #expect(found.count == 1, "line \(line), seed \(seed): \(found)")
      let none = try breaches(Self.lines[line], isDeaf: false, seed: seed)
      #expect(none.isEmpty, "line \(line), seed \(seed): \(none)")
    }
  }
}
