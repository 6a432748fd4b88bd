import Earshot
import EarshotMedia
import Foundation
import Testing

/// Sound that an application pushes, as the call gets it.
struct PCMInputTests {
  /// What the call reads, in steps of 20 ms.
  private static func read(_ input: PCMInput, steps: Int) -> [Int16] {
    var heard: [Int16] = []
    var block = [Int16](repeating: 0, count: 960 * input.channelCount)
    for _ in 0..<steps {
      let count = input.read(into: &block, frameCount: 960)
      heard += block[..<(count * input.channelCount)]
      if count < 960 { break }
    }
    return heard
  }

  private static func tone(rate: Int, seconds: Double, channels: Int = 1) -> [Int16] {
    (0..<Int(Double(rate) * seconds)).flatMap { frame in
      let angle = 2 * Double.pi * 440 * Double(frame) / Double(rate)
      return Array(repeating: Int16(10_000 * sin(angle)), count: channels)
    }
  }

  /// Changes of sign a second.
  private static func crossings(_ samples: [Int16], channels: Int = 1) -> Double {
    let first = stride(from: 0, to: samples.count, by: channels).map { samples[$0] }
    let changes = zip(first, first.dropFirst()).count { ($0 < 0) != ($1 < 0) }
    return Double(changes) / (Double(first.count) / 48_000)
  }

  /// Goal: any rate comes out at 48 kHz, as long and as high as it went in.
  @Test(arguments: [8_000, 16_000, 44_100, 48_000, 96_000, 192_000], [1, 2])
  func `any rate is brought to 48 kHz`(rate: Int, channels: Int) throws {
    let input = try PCMInput(rate: rate, channels: channels)
    // Two seconds at once are no microphone's: none of it is dropped.
    let sound = Self.tone(rate: rate, seconds: 2, channels: channels)
    #expect(input.push(sound) == sound.count)
    input.end()
    let heard = Self.read(input, steps: 200)
    let seconds = Double(heard.count / channels) / 48_000
    #expect(abs(seconds - 2) < 0.01, "\(seconds) s")
    #expect(abs(Self.crossings(heard, channels: channels) - 880) < 10)
  }

  /// Goal: three seconds wait at the most, and who pushes more is told.
  @Test func `what has no room is not taken`() throws {
    let input = try PCMInput()
    let second = Self.tone(rate: 48_000, seconds: 1)
    let taken = (0..<10).map { _ in input.push(second) }
    #expect(taken == [48_000, 48_000, 48_000, 0, 0, 0, 0, 0, 0, 0])
    _ = Self.read(input, steps: 50)
    #expect(input.push(second) > 40_000)
  }

  @Test func `where nothing has come, silence is sent`() throws {
    let input = try PCMInput()
    let heard = Self.read(input, steps: 5)
    #expect(heard.count == 4_800)
    #expect(heard.allSatisfy { $0 == 0 })
  }

  @Test func `after the end there is no more`() throws {
    let input = try PCMInput()
    input.end()
    #expect(Self.read(input, steps: 5).isEmpty)
    #expect(input.push([Int16](repeating: 1, count: 480)) == 0)
  }

  @Test func `floats are clipped, and what is no number is silence`() throws {
    let input = try PCMInput()
    let sound: [Float] = (0..<96_000).map { [0.5, 2, -2, .nan, .infinity][$0 / 19_200] }
    #expect(input.push(sound) == 96_000)
    input.end()
    let heard = Self.read(input, steps: 200)
    #expect(heard.count == 96_000)
    let inside = [9_600, 28_800, 48_000, 67_200, 86_400].map { heard[$0] }
    #expect(inside == [16_384, 32_767, -32_768, 0, 32_767])
  }

  @Test(arguments: [(0, 1), (7_999, 1), (192_001, 1), (48_000, 0), (48_000, 3), (-1, -1)])
  func `what cannot be taken is refused with a sentence`(rate: Int, channels: Int) {
    let error = #expect(throws: EarshotError.self) {
      _ = try PCMInput(rate: rate, channels: channels)
    }
    #expect(error?.code == .invalidArgument)
    #expect(error?.advice.isEmpty == false)
  }
}
