package import Earshot
internal import Primitives

/// What the live region of a probe shows.
package struct ProbeView: Sendable {
  /// Whom it probes.
  package var target: String
  /// What it does just now.
  package var phase: ProbePhase?
  /// Between two probes of a line: when the next one begins, in seconds since the first.
  package var nextAt: Int?
  /// How much of the time is over, 0...1.
  package var share = 0.0
  /// The last answer, in ms.
  package var latestRoundTripMs: Double?
  /// The first grade, once it is there.
  package var grade: LineGrade?

  package init(target: String) { self.target = target }

  /// Two lines or, on a narrow terminal, more; none longer than `columns` - 1.
  package func lines(columns: Int) -> [String] {
    let width = max(1, columns - 1)
    let next = nextAt.map { "the next one at \(Timestamp.clock(seconds: $0))" }
    let first = ["probing \(target)", next ?? phase.map(Self.words) ?? ""]
    let part = min(max(share, 0), 1)
    var second = figures
    let room = min(40, width - second.reduce(0) { $0 + 2 + $1.count } - 2)
    if room >= 4, nextAt == nil {
      let count = Int((part * Double(room)).rounded())
      let bar = String(repeating: "#", count: count) + String(repeating: "·", count: room - count)
      second.insert("[\(bar)]", at: 0)
    }
    return LineFold.lines(first, width: width) + LineFold.lines(second, width: width)
  }

  private var figures: [String] {
    var figures =
      nextAt == nil ? ["\(Int((min(max(share, 0), 1) * 100).rounded())) %"] : []
    if let trip = latestRoundTripMs { figures.append("rtt \(Figures.delay(trip))") }
    if let grade { figures.append("so far \(grade.word)") }
    return figures
  }

  package static func words(_ phase: ProbePhase) -> String {
    switch phase {
    case .asking: "asking the other end"
    case .idle: "delay and loss of the idle line"
    case .ramp: "how much it carries, roughly"
    case .steady: "loss at a rate that it carries"
    case .loadedDownlink: "a full downlink"
    case .loadedUplink: "a full uplink"
    case .loadedBoth: "both directions full"
    case .finishing: "waiting for the last reports"
    }
  }
}
