internal import Primitives

/// How far a transfer is: the bar at the bottom of a terminal, and the same in words.
package struct TransferView: Sendable {
  package var name: String
  package var done: UInt64 = 0
  package var total: UInt64
  /// Bits of the content a second, lately; `nil` while that is not known.
  package var rate: Double?
  /// What is waited for, where nothing moves.
  package var waiting: String?

  package init(name: String, total: UInt64) {
    self.name = name
    self.total = total
  }

  /// 0...1.
  package var share: Double { total == 0 ? 1 : min(1, Double(done) / Double(total)) }

  /// Two lines or, on a narrow terminal, more; none longer than `columns` - 1.
  package func lines(columns: Int) -> [String] {
    let width = max(1, columns - 1)
    var second = figures
    // The bar keeps its length while the figures grow.
    let length = second.reduce(0) { $0 + 2 + $1.count }
    let room = min(40, width - max(length, Self.figureColumns) - 2)
    if room >= 4 {
      let count = Int((share * Double(room)).rounded())
      let bar = String(repeating: "#", count: count) + String(repeating: "·", count: room - count)
      second.insert("[\(bar)]", at: 0)
    }
    return LineFold.lines([name, waiting ?? ""], width: width)
      + LineFold.lines(second, width: width)
  }

  private static let figureColumns = 57

  /// For output that stays as it is.
  package var plainLine: String {
    "\(waiting.map { "\($0); " } ?? "")\(figures.joined(separator: "  "))"
  }

  private var figures: [String] {
    var figures = [
      "\(Int(share * 100)) %", "\(TransferWords.size(done)) of \(TransferWords.size(total))",
    ]
    guard let rate, rate > 0, waiting == nil, done < total else { return figures }
    figures.append(Wording.bitrate(rate))
    let seconds = Double(total - done) * 8 / rate
    if seconds < 360_000 {
      figures.append("\(Timestamp.clock(seconds: Int(seconds.rounded(.up)))) left")
    }
    return figures
  }
}

/// The rate over the last seconds.
package struct TransferRate: Sendable {
  private var samples: [(at: Double, done: UInt64)] = []

  package init() {}

  /// - Parameter seconds: Any origin.
  package mutating func append(_ done: UInt64, at seconds: Double) {
    samples.append((seconds, done))
    samples.removeAll { seconds - $0.at > Self.window }
  }

  /// It goes on from elsewhere.
  package mutating func restart() { samples = [] }

  /// Bit/s; `nil` before there is a second of it.
  package var bitsPerSecond: Double? {
    guard let first = samples.first, let last = samples.last, last.at - first.at >= 1,
      last.done >= first.done
    else { return nil }
    return Double(last.done - first.done) * 8 / (last.at - first.at)
  }

  /// Seconds.
  private static let window = 5.0
}
