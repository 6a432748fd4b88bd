import Audio
import Primitives
import Testing

struct SpikeTests {
  /// Goal: three seconds after all stood still for half a second the delay is what it was.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func `a spike of half a second is over after three`(seed: UInt64) throws {
    let stream = try JitterBufferTests.voice(seconds: 20)
    let delays = Chance.exponential(
      percentile95: 5_000_000, seed: seed, count: stream.packets.count)
    let outcome = try Line(
      stream,
      delay: { number, sent in
        let freeze = 8_000_000_000..<8_500_000_000
        return freeze.contains(Int(sent)) ? Int64(freeze.upperBound) - sent : delays[number]
      }
    ).play()
    let before = try #require(outcome.delays[3..<6].max())
    // The freeze is over at 7.5 s after the first pull.
    let after = try #require(outcome.delays.dropFirst(11).max())
    #expect(after <= before + 15, "EARSHOT_SEED=\(seed): \(outcome.delays)")
    #expect(outcome.statistics.packetsLost == 0)
    #expect(outcome.statistics.interruptionCount <= 1)
  }
}
