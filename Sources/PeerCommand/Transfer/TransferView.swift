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

  /// Two lines, none longer than `columns` - 1.
  package func lines(columns: Int) -> [String] {
    let width = max(1, columns - 1)
    let tail = "  \(figures)"
    // The bar keeps its length while the figures grow.
    let room = min(40, width - max(tail.count, Self.figureColumns) - 2)
    var second = ""
    if room >= 4 {
      let count = Int((share * Double(room)).rounded())
      second = "[" + String(repeating: "#", count: count)
      second += String(repeating: "·", count: room - count) + "]"
    }
    let first = waiting.map { "\(name)  \($0)" } ?? name
    return [first, second + tail].map { String($0.prefix(width)) }
  }

  private static let figureColumns = 57

  /// For output that stays as it is.
  package var plainLine: String { "\(waiting.map { "\($0); " } ?? "")\(figures)" }

  private var figures: String {
    var text = "\(Int(share * 100)) %  \(TransferWords.size(done)) of \(TransferWords.size(total))"
    guard let rate, rate > 0, waiting == nil, done < total else { return text }
    text += "  \(Wording.bitrate(rate))"
    let seconds = Double(total - done) * 8 / rate
    if seconds < 360_000 { text += "  \(Timestamp.clock(seconds: Int(seconds.rounded(.up)))) left" }
    return text
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
