internal import Primitives

/// Where a time axis has its labels: at whole seconds, minutes, hours or days that people count in.
package enum TimeAxis {
  /// At most seven of them.
  ///
  /// - Parameter secondOfDay: What a clock said at 0 s: the labels stand where the clock is whole.
  package static func ticks(until last: Double, secondOfDay: Int? = nil) -> [Double] {
    let step = steps.first { last / $0 <= 6 } ?? last / 6
    let passed = Double(secondOfDay ?? 0).truncatingRemainder(dividingBy: step)
    return Array(stride(from: passed > 0 ? step - passed : 0, through: last, by: step))
  }

  /// `14:05`; the seconds as well where labels may be closer than a minute: `14:05:30`.
  package static func clock(_ seconds: Double, until last: Double, secondOfDay: Int) -> String {
    let second = (Int(min(max(0, seconds), 1e12).rounded()) + secondOfDay) % 86_400
    let two = { (value: Int) in value < 10 ? "0\(value)" : "\(value)" }
    let minutes = "\(two(second / 3600)):\(two(second / 60 % 60))"
    return last < 360 ? "\(minutes):\(two(second % 60))" : minutes
  }

  /// `0:05`, `2:30`, `1:30:00`; from a day on `36 h`.
  package static func text(_ seconds: Double, until last: Double) -> String {
    if last >= 86_400 { return "\(Int((min(seconds, 1e12) / 3600).rounded())) h" }
    let tenths = Int((seconds * 10).rounded())
    let clock = Timestamp.clock(seconds: tenths / 10)
    return tenths % 10 == 0 ? clock : "\(clock).\(tenths % 10)"
  }

  /// Seconds.
  private static let steps: [Double] = [
    0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600,
    43_200, 86_400, 172_800, 604_800, 2_419_200,
  ]
}
