import Arguments
import Primitives
import Simulation

/// A line in words: "delay=20,loss=10,burst=3,jitter95=50".
///
/// | word | unit | meaning |
/// | --- | --- | --- |
/// | delay=N | ms | propagation, one way; 20 unless given |
/// | loss=N | per cent | of the packets, independent of each other |
/// | burst=N | packets | mean length of runs of losses (Gilbert and Elliott) |
/// | spell=N | ms | mean length of the times in which all is lost; so that `loss` is the share |
/// | jitter95=N | ms | 95th percentile of an exponential delay that keeps the order |
/// | pareto95=N | ms | the same of a delay with a heavy tail (Pareto, shape 2) |
/// | most=N | ms | jitter is cut there |
/// | reorder | | jitter does not keep the order |
/// | freeze=N/M | ms | nothing moves for N ms, every M ms |
/// | stall=N/M | ms | nothing comes for N ms, at random moments, M ms apart on average |
/// | spike=N@M | ms | nothing moves for N ms, once, M ms after the start |
/// | rate=N, queue=N | kbit/s, ms | a transmitter, and the longest wait before it (200) |
/// | from=N | s | all but `delay` begins then |
/// | until=N | s | all but `delay` ends then |
struct LineWords: Sendable {
  var conditions = LinkConditions(delay: .milliseconds(20))
  /// Times when nothing moves: the first, how long each, how far apart; a period of `nil` is once.
  var freezes: [Freeze] = []
  var start = Instant.zero
  var end: Instant?

  struct Freeze: Sendable {
    var first: Instant
    var length: Duration
    var period: Duration?
  }

  /// Nothing but propagation.
  static let clean = LineWords()

  /// What is left of the line without its trouble.
  fileprivate var calm: LinkConditions { LinkConditions(delay: conditions.delay) }

  private init() {}

  /// The line that `text` describes.
  init(_ text: String) throws(UsageError) {
    var measures = Measures()
    for word in text.split(separator: ",") {
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      let value = parts.count == 2 ? parts[1] : ""
      if try measures.read(parts[0], value) { continue }
      try change(parts[0], value)
    }
    if let loss = measures.loss { conditions.loss = loss }
    if let rate = measures.rate {
      conditions.rate = .init(UInt64(rate), queue: .time(.milliseconds(Int64(measures.queue))))
    }
  }

  /// What is only a line together with others.
  private struct Measures {
    var share = 0.0
    var burst: Double?
    var spell: Double?
    var rate: Double?
    var queue = 200.0

    mutating func read(_ name: String, _ value: String) throws(UsageError) -> Bool {
      switch name {
      case "loss": share = try LineWords.number(name, value) / 100
      case "burst": burst = try LineWords.number(name, value)
      case "spell": spell = try LineWords.number(name, value)
      case "rate": rate = try LineWords.number(name, value) * 1000
      case "queue": queue = try LineWords.number(name, value)
      default: return false
      }
      return true
    }

    var loss: LinkConditions.Loss? {
      guard share > 0 else { return nil }
      if let spell {
        let clear = spell * (1 - share) / share
        return .spells(
          LossySpells(
            meanClear: .microseconds(Int64(clear * 1e3)),
            meanLossy: .microseconds(Int64(spell * 1e3))))
      }
      return burst.map { .bursts(.bursts(losing: share, ofLength: $0)) } ?? .random(share)
    }
  }

  private mutating func change(_ name: String, _ value: String) throws(UsageError) {
    switch name {
    case "clean": break
    case "delay": conditions.delay = .milliseconds(Int64(try Self.number(name, value)))
    case "jitter95":
      // The 95th percentile of an exponential variable is ln 20 times its mean.
      let mean = try Self.number(name, value) * 1e6 / 2.995_732
      conditions.jitter = .exponential(mean: .nanoseconds(Int64(mean)))
    case "pareto95":
      // One in twenty is above the square root of 20 times the least.
      let least = try Self.number(name, value) * 1e6 / 4.472_136
      conditions.jitter = .pareto(least: .nanoseconds(Int64(least)))
    case "most": conditions.mostJitter = .milliseconds(Int64(try Self.number(name, value)))
    case "reorder": conditions.keepsOrder = false
    case "stall": conditions.stalls = try Self.stalls(value)
    case "freeze": freezes.append(try Self.freeze(value))
    case "spike": freezes.append(try Self.spike(value))
    case "from": start = Instant(nanoseconds: UInt64(try Self.number(name, value) * 1e9))
    case "until": end = Instant(nanoseconds: UInt64(try Self.number(name, value) * 1e9))
    default: throw UsageError("a line has no '\(name)'.", advice: "See the table in \(#fileID).")
    }
  }

  fileprivate static func number(_ name: String, _ text: String) throws(UsageError) -> Double {
    guard let value = Double(text), value >= 0, value < 1e6 else {
      throw UsageError("\(name) of a line wants a number, not '\(text)'.")
    }
    return value
  }

  private static func freeze(_ text: String) throws(UsageError) -> Freeze {
    let parts = text.split(separator: "/").map(String.init)
    guard parts.count == 2 else { throw UsageError("freeze wants LENGTH/PERIOD.") }
    let length = Int64(try number("freeze", parts[0]))
    let period = Int64(try number("freeze", parts[1]))
    return Freeze(
      first: Instant.zero + .milliseconds(period / 2), length: .milliseconds(length),
      period: .milliseconds(max(period, length + 1)))
  }

  private static func stalls(_ text: String) throws(UsageError) -> LinkConditions.Stalls {
    let parts = text.split(separator: "/").map(String.init)
    guard parts.count == 2 else { throw UsageError("stall wants LENGTH/MEAN.") }
    return LinkConditions.Stalls(
      every: .milliseconds(Int64(try number("stall", parts[1]))),
      length: .milliseconds(Int64(try number("stall", parts[0]))))
  }

  private static func spike(_ text: String) throws(UsageError) -> Freeze {
    let parts = text.split(separator: "@").map(String.init)
    guard parts.count == 2 else { throw UsageError("spike wants LENGTH@TIME.") }
    let start = Int64(try number("spike", parts[1]))
    return Freeze(
      first: Instant.zero + .milliseconds(start),
      length: .milliseconds(Int64(try number("spike", parts[0]))), period: nil)
  }
}

/// One direction of such a line.
struct ListenLine: Sendable {
  private let words: LineWords
  private var link: SimulatedLink
  private var isTroubled: Bool

  init(_ words: LineWords, random: RandomSource) {
    self.words = words
    isTroubled = words.start == .zero
    link = SimulatedLink(isTroubled ? words.conditions : words.calm, random: random)
  }

  /// When a datagram comes out; `nil` if it does not.
  ///
  /// - Parameters:
  ///   - byteCount: UDP payload.
  ///   - now: not before the one of the last call.
  mutating func carry(byteCount: Int, at now: Instant) -> Instant? {
    let hasTrouble = now >= words.start && now < words.end ?? Instant(nanoseconds: .max)
    if hasTrouble != isTroubled {
      isTroubled = hasTrouble
      link.conditions = hasTrouble ? words.conditions : words.calm
    }
    let passage = link.carry(byteCount: byteCount, at: hasTrouble ? thawed(now) : now)
    return passage.fate == .arrives ? passage.arrival : nil
  }

  private func thawed(_ now: Instant) -> Instant {
    var time = now
    for freeze in words.freezes where time >= freeze.first {
      let since = time.nanoseconds(since: freeze.first)
      let period = freeze.period.map { UInt64($0.nanoseconds) } ?? .max
      let length = UInt64(freeze.length.nanoseconds)
      if since % period < length { time = time + .nanoseconds(Int64(length - since % period)) }
    }
    return time
  }
}
