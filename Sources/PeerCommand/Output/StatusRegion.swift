internal import Earshot
internal import Primitives

/// The lines at the bottom of a terminal that say how a call or a probe is going, redrawn in place.
///
/// Lines are folded to the width; after the terminal was made narrower, what has wrapped is erased
/// too.
package struct StatusRegion {
  package let usesColor: Bool
  package var view: CallView?
  /// What is shown while there is no call.
  package var probe: ProbeView?
  /// What is shown while there is neither.
  package var transfer: TransferView?
  /// What `join` shows.
  package var room: RoomView?
  /// Letters in each line that stands on the terminal.
  private var shown: [Int] = []

  package init(usesColor: Bool) { self.usesColor = usesColor }

  /// Whether there is nothing to draw.
  package var isEmpty: Bool { view == nil && probe == nil && transfer == nil && room == nil }

  /// Takes away what stands on the terminal.
  package mutating func erase(columns: Int) -> String {
    guard !shown.isEmpty else { return "" }
    let width = max(1, columns)
    let rows = shown.reduce(0) { $0 + max(1, ($1 + width - 1) / width) }
    shown = []
    return rows > 1 ? "\r\u{1B}[\(rows - 1)A\u{1B}[J" : "\r\u{1B}[J"
  }

  /// Draws the view in place of what stands there.
  package mutating func redraw(columns: Int) -> String {
    let before = erase(columns: columns)
    guard
      let lines = view.map({ Self.lines($0, columns: columns) })
        ?? probe?.lines(columns: columns) ?? transfer?.lines(columns: columns)
        ?? room?.lines(columns: columns)
    else { return before }
    shown = lines.map(\.count)
    guard usesColor, let first = lines.first else { return before + lines.joined(separator: "\n") }
    let rest = lines.dropFirst().map { "\u{1B}[2m\($0)\u{1B}[0m" }
    return before + (["\u{1B}[1m\(first)\u{1B}[0m"] + rest).joined(separator: "\n")
  }

  /// The lines of a view, none longer than `columns` - 1.
  package static func lines(_ view: CallView, columns: Int) -> [String] {
    let width = max(1, columns - 1)
    var parts = [[view.state, view.peer, Timestamp.clock(seconds: view.seconds)]]
    if view.isMuted { parts[0].append("muted") }
    if view.isVideoMuted { parts[0].append("video muted") }
    if view.isRemoteMuted { parts[0].append("the other side is muted") }
    if let numbers = view.numbers {
      parts[0].append("heard " + bar(level: view.heardLevel, width: min(12, width / 6)))
      if !view.isMuted {
        parts[0].append("sent " + bar(level: view.playedLevel, width: min(12, width / 6)))
      }
      parts.append(words(numbers))
      parts.append(VideoMessages.parts(numbers))
    }
    if let progress = view.progress {
      parts.append([line(progress.fraction, of: progress.seconds, width: width)])
    }
    parts.append([view.hint])
    return parts.flatMap { LineFold.lines($0.map(Printable.only), width: width) }
  }

  private static func words(_ numbers: CallStatistics) -> [String] {
    var parts: [String] = []
    if let rtt = numbers.currentRttMs { parts.append("rtt \(Wording.milliseconds(rtt))") }
    parts.append("loss \(Wording.lost(numbers.received))")
    parts.append("in \(Wording.decimal(numbers.received.bitrateBps / 1000))")
    parts.append("out \(Wording.bitrate(numbers.sent.bitrateBps))")
    if let delay = numbers.received.jitterBufferDelayMs {
      parts.append("buffer \(Wording.milliseconds(delay.p50))")
    }
    if let mos = numbers.received.mos { parts.append("MOS \(Wording.decimal(mos))") }
    return parts
  }

  private static func line(_ fraction: Double, of seconds: Double, width: Int) -> String {
    let part = min(max(fraction, 0), 1)
    let total = Int(seconds.rounded())
    let now = Int((part * seconds).rounded())
    let clock = "  \(Timestamp.clock(seconds: now)) of \(Timestamp.clock(seconds: total))"
    let room = min(40, width - clock.count - 9)
    guard room >= 4 else { return "playing" + clock }
    return "playing " + filled(part, width: room) + clock
  }

  /// -60 dB is empty, 0 dB is full.
  static func bar(level: Double, width: Int) -> String {
    filled((level + 60) / 60, width: max(3, width))
  }

  private static func filled(_ fraction: Double, width: Int) -> String {
    let count = Int((min(max(fraction, 0), 1) * Double(width)).rounded())
    return "[" + String(repeating: "#", count: count)
      + String(repeating: "·", count: width - count) + "]"
  }
}
