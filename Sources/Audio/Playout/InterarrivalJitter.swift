/// How unevenly packets arrive, as a receiver reports it (RFC 3550 §6.4.1, code in §A.8).
struct InterarrivalJitter: Sendable {
  /// Times 16, so that smoothing loses no fraction.
  private var scaled: Int64 = 0
  private var lastTransit: Int64?

  var nanoseconds: Int64 { scaled >> 4 }

  /// - Parameter transit: arrival minus media time, in nanoseconds.
  mutating func record(transit: Int64) {
    let last = lastTransit ?? transit
    lastTransit = transit
    let difference = Int64(clamping: min((transit &- last).magnitude, 1 << 50))
    scaled &+= difference &- ((scaled &+ 8) >> 4)
  }
}
