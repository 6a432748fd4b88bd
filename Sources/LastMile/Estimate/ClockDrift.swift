/// How fast the other host's clock runs against ours, from the least delays of echoes before and
/// after the load. A slower path shows in both directions alike, a faster clock with opposite signs
/// (Paxson 1998, "On calibrating measurements of packet transit times").
struct ClockDrift: Sendable, Equatable {
  /// Positive when the other clock runs fast.
  var partsPerMillion: Double
  /// How far that may be off.
  var uncertainty: Double

  /// `nil` when jitter, loss or a short test hide it.
  ///
  /// - Parameters:
  ///   - up: Packets to the other host: sent by our clock, received by its.
  ///   - down: The other way.
  init?(up: [TestPackets.Entry], down: [TestPackets.Entry]) {
    guard let upward = Change(up), let downward = Change(down) else { return nil }
    partsPerMillion = (upward.slope - downward.slope) / 2 * 1e6
    let path = abs(upward.slope + downward.slope) / 2
    uncertainty = max(path, (upward.doubt + downward.doubt) / 2) * 1e6
    guard uncertainty <= Self.mostUncertain else { return nil }
  }

  /// From the echoes before the load to those after it.
  private struct Change {
    /// Of the least delay, in ns each ns.
    var slope: Double
    /// The slope may be off by so much.
    var doubt: Double

    init?(_ entries: [TestPackets.Entry]) {
      guard let early = Floor(entries.filter { $0.part == .idle && $0.isReceived }),
        let late = Floor(entries.filter { $0.part == .last && $0.isReceived }),
        late.sent > early.sent + ClockDrift.shortest
      else { return nil }
      let time = Double(late.sent - early.sent)
      slope = Double(late.delay - early.delay) / time
      doubt = (early.doubt + late.doubt + ClockDrift.step) / time
    }
  }

  /// The least delay of some packets, when it was, and how well it is known.
  private struct Floor {
    var delay: Int64
    var sent: Int64
    var doubt: Double

    init?(_ entries: [TestPackets.Entry]) {
      let sorted = entries.sorted { $0.delay < $1.delay }
      guard sorted.count >= 5, let least = sorted.first else { return nil }
      delay = least.delay
      sent = least.sent
      doubt = Double(sorted[4].delay - least.delay) / 4
    }
  }

  /// ns between the two.
  private static let shortest: Int64 = 1_000_000_000
  /// ns: of the times on the wire.
  private static let step = 16_000.0
  /// Parts per million: what clocks of computers stay below.
  private static let mostUncertain = 30.0
}
