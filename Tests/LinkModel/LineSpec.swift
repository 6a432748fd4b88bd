package import Arguments
internal import Primitives

/// One direction of a line as text: `rate=1M,queue=200ms,delay=30ms,jitter=uniform:20ms,loss=5%`.
///
/// What is not named stays as it was; so the same text describes a line and a change to it.
package struct LineSpec: Sendable {
  /// What to change, in order.
  private var changes: [@Sendable (inout LinkConditions) -> Void] = []

  /// - Parameter readTrace: Gives the text of a trace file.
  package init(
    _ text: String, readTrace: (String) throws(UsageError) -> String
  ) throws(UsageError) {
    var queue = LinkConditions.Rate.Queue.time(.milliseconds(200))
    var trace: DeliveryTrace?
    for part in text.split(separator: ",") {
      let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
      guard pair.count == 2 else {
        throw UsageError("'\(part)' is not KEY=VALUE.", advice: Self.advice)
      }
      let words = pair[1].split(separator: ":", omittingEmptySubsequences: false).map(String.init)
      switch pair[0] {
      case "queue": queue = try Self.read(pair[1], pair[0], Self.queue)
      case "trace":
        trace = try Self.read(try readTrace(pair[1]), pair[0]) { DeliveryTrace(text: $0) }
      default: try change(pair[0], pair[1], words)
      }
    }
    let (size, recorded) = (queue, trace)
    let isQueueGiven = text.contains("queue=")
    changes.append { conditions in
      if isQueueGiven || recorded != nil {
        conditions.rate?.queue = size
        conditions.trace?.queue = size
      }
      if let recorded { conditions.trace = LinkConditions.TracedRate(recorded, queue: size) }
    }
  }

  package func apply(to conditions: inout LinkConditions) {
    for change in changes { change(&conditions) }
  }

  package static let advice =
    "Keys: rate, queue, delay, jitter, stall, order, loss, reorder, duplicate, corrupt, trace, "
    + "mark."

  private mutating func change(
    _ key: String, _ value: String, _ words: [String]
  ) throws(UsageError) {
    switch key {
    case "rate":
      let rate = try Self.read(value, key, Self.rate)
      changes.append { conditions in
        conditions.trace = nil
        let queue = conditions.rate?.queue ?? .time(.milliseconds(200))
        conditions.rate = rate == 0 ? nil : LinkConditions.Rate(rate, queue: queue)
      }
    case "delay":
      let delay = try Self.read(value, key, Self.duration)
      changes.append { $0.delay = delay }
    case "jitter":
      let jitter = try Self.read(words, key, Self.jitter)
      changes.append { $0.jitter = jitter }
    case "order":
      let keeps = try Self.read(value, key) { $0 == "keep" ? true : $0 == "free" ? false : nil }
      changes.append { $0.keepsOrder = keeps }
    case "stall":
      let stalls = try Self.read(words, key, Self.stalls)
      changes.append { $0.stalls = stalls }
    case "loss":
      let loss = try Self.read(words, key, Self.loss)
      changes.append { $0.loss = loss }
    case "mark":
      let wait = try Self.read(value, key, Self.duration)
      changes.append { $0.rate?.marksAbove = wait }
    default: try disturb(key, value, words)
    }
  }

  private mutating func disturb(
    _ key: String, _ value: String, _ words: [String]
  ) throws(UsageError) {
    switch key {
    case "reorder":
      let share = try Self.read(words[0], key, Self.share)
      let delay = try words.count > 1 ? Self.read(words[1], key, Self.duration) : nil
      changes.append { conditions in
        conditions.reordering = share
        if let delay { conditions.reorderingDelay = delay }
      }
    case "duplicate":
      let share = try Self.read(value, key, Self.share)
      changes.append { $0.duplication = share }
    case "corrupt":
      let share = try Self.read(value, key, Self.share)
      changes.append { $0.corruption = share }
    default: throw UsageError("'\(key)' is not a property of a line.", advice: Self.advice)
    }
  }

  private static func read<Text, Value>(
    _ text: Text, _ key: String, _ convert: (Text) -> Value?
  ) throws(UsageError) -> Value {
    if let value = convert(text) { return value }
    let shown = (text as? [String])?.joined(separator: ":") ?? "\(text)"
    throw UsageError("\(key) cannot be '\(shown.prefix(40))'.", advice: Self.forms[key] ?? advice)
  }

  private static let forms = [
    "rate": "Write bits a second, as 300k, 2.5M or 1000000; 0 means without limit.",
    "queue": "Write a time or a size, as 200ms or 30000B.",
    "delay": "Write milliseconds, as 30ms.",
    "jitter": "Write none, uniform:20ms, exponential:5ms or normal:8ms.",
    "stall": "Write none, or MEANms:LENGTHms, as 2000ms:60ms.",
    "order": "Write keep or free.",
    "loss": "Write 5%, bursts:SHARE%:LENGTH, gilbert:P:R:GOOD:BAD or spells:CLEARms:LOSSYms:LOSS%.",
    "reorder": "Write SHARE% or SHARE%:DELAYms.",
    "trace": "A trace has a number of milliseconds in each line, none smaller than that before.",
  ]
}

// MARK: - Values

extension LineSpec {
  private static func number(_ text: some StringProtocol) -> Double? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }) else {
      return nil
    }
    return Double(String(text))
  }

  private static func rate(_ text: String) -> UInt64? {
    let factors: [Character: Double] = ["k": 1e3, "M": 1e6, "G": 1e9]
    let factor = text.last.flatMap { factors[$0] }
    guard let value = number(factor == nil ? text[...] : text.dropLast()) else { return nil }
    let rate = value * (factor ?? 1)
    return rate <= 1e11 ? UInt64(rate) : nil
  }

  private static func duration(_ text: String) -> Duration? {
    let digits = text.hasSuffix("ms") ? text.dropLast(2) : text[...]
    guard let value = number(digits), value <= 600_000 else { return nil }
    return .microseconds(Int64(value * 1000))
  }

  private static func queue(_ text: String) -> LinkConditions.Rate.Queue? {
    if text.hasSuffix("B") {
      return number(text.dropLast()).flatMap { $0 <= 1e9 ? .bytes(Int($0)) : nil }
    }
    return duration(text).map { .time($0) }
  }

  /// `5%` or `0.05`.
  private static func share(_ text: String) -> Double? {
    let isPercent = text.hasSuffix("%")
    guard let value = number(isPercent ? text.dropLast() : text[...]) else { return nil }
    let share = isPercent ? value / 100 : value
    return share <= 1 ? share : nil
  }

  private static func jitter(_ words: [String]) -> LinkConditions.Jitter? {
    if words == ["none"] { return LinkConditions.Jitter.none }
    guard words.count == 2, let size = duration(words[1]) else { return nil }
    switch words[0] {
    case "uniform": return .uniform(upTo: size)
    case "exponential": return .exponential(mean: size)
    case "normal": return .normal(deviation: size)
    case "pareto": return .pareto(least: size)
    default: return nil
    }
  }

  private static func stalls(_ words: [String]) -> LinkConditions.Stalls?? {
    if words == ["none"] { return .some(nil) }
    guard words.count == 2, let mean = duration(words[0]), mean > .zero,
      let length = duration(words[1]), length > .zero
    else { return nil }
    return LinkConditions.Stalls(every: mean, length: length)
  }

  private static func loss(_ words: [String]) -> LinkConditions.Loss? {
    switch (words[0], words.count) {
    case ("none", 1): return LinkConditions.Loss.none
    case ("bursts", 3):
      guard let share = share(words[1]), share < 1, let length = number(words[2]), length >= 1
      else { return nil }
      return .bursts(.bursts(losing: share, ofLength: length))
    case ("gilbert", 5):
      let values = words.dropFirst().compactMap(share)
      guard values.count == 4 else { return nil }
      return .bursts(
        GilbertElliott(
          goodToBad: values[0], badToGood: values[1], lossInGood: values[2], lossInBad: values[3]))
    case ("spells", 4):
      guard let clear = duration(words[1]), clear > .zero, let lossy = duration(words[2]),
        lossy > .zero, let loss = share(words[3])
      else { return nil }
      return .spells(LossySpells(meanClear: clear, meanLossy: lossy, loss: loss))
    case (_, 1): return share(words[0]).map { .random($0) }
    default: return nil
    }
  }
}
