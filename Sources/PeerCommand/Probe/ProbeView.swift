package import Earshot

/// What the live region of a probe shows.
package struct ProbeView: Sendable {
  /// Whom it probes.
  package var target: String
  /// What it does just now.
  package var phase: ProbePhase?
  /// How much of the time is over, 0...1.
  package var share = 0.0
  /// The last answer, in ms.
  package var latestRoundTripMs: Double?
  /// The first grade, once it is there.
  package var grade: LineGrade?

  package init(target: String) { self.target = target }

  /// Two lines, none longer than `columns` - 1.
  package func lines(columns: Int) -> [String] {
    let width = max(1, columns - 1)
    var first = "probing \(target)"
    if let phase { first += "  \(Self.words(phase))" }
    var second = ""
    let part = min(max(share, 0), 1)
    let tail = tail
    let room = min(40, width - tail.count - 2)
    if room >= 4 {
      let count = Int((part * Double(room)).rounded())
      second += "[" + String(repeating: "#", count: count)
      second += String(repeating: "·", count: room - count) + "]"
    }
    return [first, second + tail].map { String($0.prefix(width)) }
  }

  private var tail: String {
    var tail = "  \(Int((min(max(share, 0), 1) * 100).rounded())) %"
    if let trip = latestRoundTripMs { tail += "  rtt \(Figures.milliseconds(trip))" }
    if let grade { tail += "  so far \(grade.word)" }
    return tail
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
