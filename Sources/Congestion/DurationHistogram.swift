/// How often durations of each size occurred, in 512 bytes: steps of 0.25 ms up to 2 ms, then eight
/// an octave up to 65 s, so that a percentile is right to about 6 %.
package struct DurationHistogram: Sendable, BitwiseCopyable {
  private static let stepsPerOctave = 8
  /// The finest step: 0.25 ms.
  private static let unit: UInt64 = 250_000

  private var counts = InlineArray<128, UInt32>(repeating: 0)
  package private(set) var count: UInt64 = 0
  /// Of all durations, in nanoseconds.
  package private(set) var sum: UInt64 = 0

  package init() {}

  package mutating func add(_ nanoseconds: UInt64) {
    let step = Self.step(of: nanoseconds)
    if counts[step] < .max { counts[step] += 1 }
    count += 1
    sum &+= nanoseconds
  }

  /// Adds all that `other` has, each duration as `change` makes it, in nanoseconds.
  package mutating func add(_ other: DurationHistogram, as change: (UInt64) -> UInt64) {
    for step in 0..<counts.count where other.counts[step] > 0 {
      let changed = change(Self.middle(of: step))
      let number = other.counts[step]
      let (sums, isOver) = counts[Self.step(of: changed)].addingReportingOverflow(number)
      counts[Self.step(of: changed)] = isOver ? .max : sums
      sum &+= changed &* UInt64(number)
    }
    count += other.count
  }

  /// The duration, in nanoseconds, that `share` (0...1) of all do not exceed; `nil` without any.
  package func percentile(_ share: Double) -> UInt64? {
    guard count > 0 else { return nil }
    let rank = share * Double(count)
    let whole = rank > 0 ? UInt64(min(rank, 0x1p62)) : 0
    let wanted = max(1, Double(whole) < rank ? whole + 1 : whole)
    var seen: UInt64 = 0
    for step in 0..<counts.count {
      seen += UInt64(counts[step])
      if seen >= wanted { return Self.middle(of: step) }
    }
    return Self.middle(of: counts.count - 1)
  }

  private static func step(of nanoseconds: UInt64) -> Int {
    let units = nanoseconds / unit
    guard units >= UInt64(stepsPerOctave) else {
      return Int(units)
    }
    let octave = 63 - units.leadingZeroBitCount
    let fraction = Int((units << 3) >> UInt64(octave)) & (stepsPerOctave - 1)
    return min((octave - 2) * stepsPerOctave + fraction, 127)
  }

  private static func middle(of step: Int) -> UInt64 {
    guard step >= stepsPerOctave else { return UInt64(step) * unit + unit / 2 }
    let octave = UInt64(step / stepsPerOctave + 2)
    let fraction = UInt64(step % stepsPerOctave)
    let width = (unit << octave) >> 3
    return (unit << octave) + fraction * width + width / 2
  }
}
