import Primitives

/// How packets get lost lately: how many, and how many in a row. For whoever has to choose a
/// repair; the rate is `BandwidthEstimator`'s.
package struct LossPattern: Equatable, Sendable, BitwiseCopyable {
  private var all = 0.0
  private var lost = 0.0
  private var runs = 0.0
  /// The number lost last, and how many before it in a row.
  private var last: UInt64?
  private var length = 0

  package init() {}

  package mutating func add(_ outcome: PacketOutcome) {
    switch outcome.fate {
    case .acknowledged: all += 1
    case .lost: addLost(outcome.packet.number)
    case .acknowledgedLate: lost = max(0, lost - 1)
    }
    guard all > Self.memory else { return }
    let rest = Self.memory / all
    all *= rest
    lost *= rest
    runs *= rest
  }

  private mutating func addLost(_ number: UInt64) {
    let follows = last.map { number == $0 &+ 1 } ?? false
    last = number
    length = follows ? length + 1 : 1
    all += 1
    // The rest of a long run is an outage, which nothing repairs.
    guard length <= Self.longestRun else { return }
    lost += 1
    if !follows { runs += 1 }
  }

  /// Share lost, 0...1; 0 before there are some packets to tell from.
  package var share: Double { all >= 50 ? lost / all : 0 }

  /// Packets lost in a row on average, at least 1.
  package var run: Double { runs > 0 ? max(1, lost / runs) : 1 }

  /// In packets: four seconds of a call with video.
  private static let memory = 500.0
  private static let longestRun = 8
}
