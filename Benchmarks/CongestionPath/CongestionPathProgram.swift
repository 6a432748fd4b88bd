import Glibc

/// Prints one line of JSON for each rate.
enum CongestionPathProgram {
  static let usage = """
    usage: CongestionPath [--packets N] [--rounds N]

    Packets through the gate, the history, a line without loss, the recorder, FEEDBACK as bytes and
    the estimator: CPU a packet for both ends together, and calls of malloc and its kin, at 0.1, 2
    and 20 Mbit/s. The least of the rounds counts: others use the host too.

    """

  static func run(_ words: [String]) -> Int32 {
    guard words.count % 2 == 0, let packets = number("--packets", words, 200_000),
      let rounds = number("--rounds", words, 5)
    else {
      print(usage, terminator: "")
      return 2
    }
    for (name, rate) in [("100k", 100_000.0), ("2M", 2e6), ("20M", 20e6)] {
      var best: CongestionPathCost.Figures?
      for _ in 0..<rounds {
        let figures = CongestionPathCost.measure(rate: rate, packets: packets)
        let least = min(best?.nanoseconds ?? .infinity, figures.nanoseconds)
        let most = max(best?.allocations ?? 0, figures.allocations)
        best = figures
        best?.nanoseconds = least
        best?.allocations = most
      }
      guard let best else { return 2 }
      print(
        "{\"name\": \"\(name)\", \"nsPerPacket\": \(hundredths(best.nanoseconds)), "
          + "\"percentPerMegabit\": \(hundredths(best.percentPerMegabit * 100) / 100), "
          + "\"allocations\": \(best.allocations), \"packets\": \(best.packets), "
          + "\"reports\": \(best.reports), \"estimate\": \(Int(best.estimate))}")
    }
    return 0
  }

  /// At least 1; `nil` for what is none.
  private static func number(_ name: String, _ words: [String], _ usual: Int) -> Int? {
    guard let place = words.firstIndex(of: name) else { return usual }
    return words.dropFirst(place + 1).first.flatMap(Int.init).flatMap { $0 > 0 ? $0 : nil }
  }

  private static func hundredths(_ value: Double) -> Double { (value * 100).rounded() / 100 }

  static func threadNanoseconds() -> UInt64 {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
