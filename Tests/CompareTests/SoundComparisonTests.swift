import CompareCommand
import Primitives
import Testing

@Suite struct SoundComparisonTests {
  /// Three seconds of noise that swells and fades, as speech does.
  private static func noise(seed: UInt64) -> [Float] {
    var random = RandomSource(seed: seed)
    return (0..<(3 * 48_000)).map { index in
      let loudness = Float(abs((index % 24_000) - 12_000)) / 12_000
      return Float(random.unit() - 0.5) * loudness
    }
  }

  @Test(arguments: [0, 4321, -4800])
  func `finds what was delayed and made quieter`(delay: Int) throws {
    let played = Self.noise(seed: 1)
    let shifted =
      delay >= 0
      ? [Float](repeating: 0, count: delay) + played : Array(played.dropFirst(-delay))
    let found = try #require(SoundComparison(played: played, heard: shifted.map { $0 * 0.3 }))
    #expect(found.lag == delay && found.lagRange == delay...delay)
    #expect(found.correlation > (delay < 0 ? 0.94 : 0.999))
  }

  @Test func `counts what is missing as missing`() throws {
    let played = Self.noise(seed: 1)
    var heard = played
    for index in 48_000..<96_000 { heard[index] = 0 }
    let found = try #require(SoundComparison(played: played, heard: heard))
    #expect((0.6...0.72).contains(found.correlation))
  }

  @Test func `finds little in common between two noises and nothing in silence`() throws {
    let played = Self.noise(seed: 1)
    let found = try #require(SoundComparison(played: played, heard: Self.noise(seed: 2)))
    #expect(found.correlation < 0.1)
    #expect(SoundComparison(played: played, heard: [Float](repeating: 0, count: 48_000)) == nil)
  }
}
