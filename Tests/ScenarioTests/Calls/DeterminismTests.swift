import Primitives
import Simulation
import Testing

/// One seed, one run, to the byte. (`tools/simulate --twice` compares two processes, whose hashing
/// is seeded differently.)
@Suite struct DeterminismTests {
  @Test(arguments: Scenario.allCases)
  func `the same seed gives the same log and another one another`(scenario: Scenario) {
    for seed in UInt64(1)...4 {
      let first = scenario.run(seed: seed, keepsText: true)
      let second = scenario.run(seed: seed, keepsText: true)
      #expect(first.digest == second.digest && first.text == second.text, "seed \(seed)")
      #expect(first.text.count > 3_000)
      #expect(first.digest != scenario.run(seed: seed + 100).digest)
    }
  }

  @Test func `the digest does not depend on whether text is kept`() {
    for seed in UInt64(1)...2 {
      let text = Scenario.random.run(seed: seed, keepsText: true)
      #expect(text.digest == Scenario.random.run(seed: seed).digest, "seed \(seed)")
    }
  }

  @Test func `a world is gone when its run is over`() throws {
    // A hundred thousand of them follow one another in one process.
    weak var world: CallWorld?
    do {
      let pair = TwoPeers()
      _ = try pair.connect(talking: .seconds(2))
      pair.world.plan(Fault(.crash(peer: 0), from: pair.world.now, to: pair.world.now))
      pair.world.run(.seconds(4))
      world = pair.world
    }
    #expect(world == nil)
  }
}
