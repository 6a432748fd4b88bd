internal import Earshot
internal import Plotting
internal import Primitives

/// What happened in a call, for the plots of its page.
struct CallMarks {
  /// More than a page shows, of a call that goes on for days.
  static let most = 500
  private static let mostWords = 40

  /// When the call's statistics count from.
  private var origin: Instant?
  private var moments: [(name: String, at: Instant)] = []

  mutating func handleStatistics(atMs: Int, now: Instant) {
    let passed = UInt64(max(0, atMs)) * 1_000_000
    origin = origin ?? Instant(nanoseconds: now.nanoseconds - min(now.nanoseconds, passed))
  }

  mutating func append(_ step: CallProgress, now: Instant) {
    if let name = Self.name(of: step) { append(name, now: now) }
  }

  mutating func append(_ name: String, now: Instant) {
    if moments.count < Self.most { moments.append((name, now)) }
  }

  /// In seconds of the statistics' time.
  var places: [(name: String, at: Double)] {
    guard let origin else { return [] }
    return moments.map { ($0.name, Double($0.at.nanoseconds(since: origin)) / 1e9) }
  }

  /// What the dashed lines of the plots are, in words.
  static func markup(_ marks: [(name: String, at: Double)]) -> String {
    guard !marks.isEmpty else { return "" }
    let shown = marks.prefix(mostWords).map { mark in
      "\(Timestamp.clock(seconds: Int(min(max(0, mark.at), 1e9)))) \(mark.name)"
    }
    let rest = marks.count > mostWords ? "; \(marks.count - mostWords) more" : ""
    return "<p>\(Markup.escaped(shown.joined(separator: "; ") + rest))</p>\n"
  }

  /// `nil` for what leaves no trace in the line or the sound.
  private static func name(of step: CallProgress) -> String? {
    switch step {
    case .pathChanged(let kind, _): "path changed: \(kind.rawValue)"
    case .interrupted: "interrupted"
    case .connectionLost: "connection lost"
    case .away: "away"
    case .resumed: "resumed"
    case .rejoined: "rejoined"
    case .remoteAudioMuted(let isMuted): "other side \(isMuted ? "muted" : "unmuted")"
    case .remoteVideoMuted(let isMuted): "other side's video \(isMuted ? "off" : "on")"
    case .fallback(let change):
      "\(change.direction == .publish ? "own" : "other side's") video "
        + (change.isAudioOnly ? "gave way" : "is back")
    default: nil
    }
  }
}
