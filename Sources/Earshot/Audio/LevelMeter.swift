internal import Glibc
internal import Synchronization

/// How loud it is just now, written by the media thread and read by whoever draws it.
package final class LevelMeter: Sendable {
  private let meanSquare = Atomic<UInt64>(0)

  package init() {}

  /// Takes the first `count` samples; the level falls by half in about 50 ms.
  package func append(_ samples: borrowing [Int16], count: Int) {
    guard count > 0, count <= samples.count else { return }
    var sum = 0.0
    for index in 0..<count {
      let sample = Double(samples[index])
      sum += sample * sample
    }
    let now = sum / Double(count)
    let before = Double(bitPattern: meanSquare.load(ordering: .relaxed))
    meanSquare.store((before + 0.2 * (now - before)).bitPattern, ordering: .relaxed)
  }

  /// Decibels below full scale, -90...0.
  package var decibels: Double {
    let value = Double(bitPattern: meanSquare.load(ordering: .relaxed))
    return value <= 1.08 ? -90 : min(0, 10 * log10(value / (32_768.0 * 32_768.0)))
  }
}
