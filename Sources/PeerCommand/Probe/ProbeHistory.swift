package import Earshot
package import Reactor

/// What probes predicted and what the calls after them had, in a file beside the identity
/// (`identity.probe-history`, mode 0600): one JSON object a line, the newest last.
///
/// A file that cannot be read or written is said, and keeps nobody from calling.
package struct ProbeHistory: Sendable {
  /// Calls that are kept, the newest.
  package static let maxPairs = 1000
  /// Three times what so many take; a longer file is none of ours.
  package static let maxByteCount = 1 << 20

  /// A figure, predicted and had. What one of them lacks is absent.
  package enum Figure: String, CaseIterable, Sendable {
    case mos, rttMs, uplinkLossRate, downlinkLossRate
    /// What repair leaves.
    case uplinkResidualLossRate, downlinkResidualLossRate

    package var isShare: Bool { self != .mos && self != .rttMs }

    package var title: String {
      switch self {
      case .mos: "MOS"
      case .rttMs: "round trip"
      case .uplinkLossRate: "loss sent"
      case .downlinkLossRate: "loss received"
      case .uplinkResidualLossRate: "of it not repaired there"
      case .downlinkResidualLossRate: "of it not repaired here"
      }
    }

    package func text(_ value: Double) -> String {
      switch self {
      case .mos: Wording.decimal(value)
      case .rttMs: Figures.delay(value)
      default: Figures.percent(value)
      }
    }
  }

  /// One call.
  package struct Pair: Equatable, Sendable {
    package var target: String
    /// When the call ended, in seconds since 1970.
    package var at: UInt64
    /// How long after the probe.
    package var ageSeconds: UInt64
    /// How long the call lasted.
    package var seconds: Int
    package var predicted: [Figure: Double] = [:]
    package var actual: [Figure: Double] = [:]
  }

  private let path: String?

  /// - Parameter identity: The identity file; `nil` for the usual one.
  package init(besideIdentity identity: String?) {
    do throws(EarshotError) {
      path = try LocalIdentityFile.path(identity) + ".probe-history"
    } catch {
      path = nil
    }
  }

  /// All that is kept, the oldest first.
  ///
  /// - Throws: Where there is a file that cannot be read, or that is too long to be ours.
  package func pairs() throws(ReactorError) -> [Pair] {
    guard let path, ProcessSurroundings.isThere(path) else { return [] }
    let bytes = try ProcessSurroundings.contents(of: path, limit: Self.maxByteCount)
    guard bytes.count < Self.maxByteCount else {
      throw ReactorError(
        "use", path, reason: "it is longer than 1 MiB, which no history is; move it away")
    }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
      .compactMap { JSONReader.value(of: $0).flatMap(Pair.init) }
  }

  /// Puts the new file in the old one's place; what could not be read stays. Of two programs that
  /// end a call at once the second one waits, so that neither takes the other's line away.
  package func append(_ pair: Pair) throws(ReactorError) {
    guard let path else { return }
    let lock = try FileLock(path)
    defer { withExtendedLifetime(lock) {} }
    let lines = (try pairs() + [pair]).suffix(Self.maxPairs).map { $0.json.value.text + "\n" }
    try OutputFile(try PendingFile(path, overwrites: true)).write(lines.joined())
  }
}

extension ProbeHistory.Pair {
  /// - Parameter seconds: What the call lasted.
  /// - Returns: `nil` where nothing can be compared.
  package init?(
    _ probed: ProbeMemory.Entry, _ numbers: CallStatistics, at: UInt64, seconds: Int
  ) {
    self.init(
      target: probed.target, at: at, ageSeconds: at > probed.at ? at - probed.at : 0,
      seconds: seconds)
    predicted[.mos] = probed.mos
    predicted[.rttMs] = probed.roundTripMs
    predicted[.uplinkLossRate] = probed.uplinkLoss
    predicted[.downlinkLossRate] = probed.downlinkLoss
    predicted[.uplinkResidualLossRate] = probed.uplinkResidualLoss
    predicted[.downlinkResidualLossRate] = probed.downlinkResidualLoss
    actual[.mos] = numbers.received.mos.map { ($0 * 100).rounded() / 100 }
    actual[.rttMs] = numbers.rttMs.map { ($0.p50 * 1000).rounded() / 1000 }
    actual[.uplinkLossRate] = numbers.sent.lostFraction.map { ($0 * 1e6).rounded() / 1e6 }
    actual[.downlinkLossRate] = (numbers.received.lostFraction * 1e6).rounded() / 1e6
    actual[.uplinkResidualLossRate] = numbers.sentResidualLossRate
    actual[.downlinkResidualLossRate] =
      (numbers.received.residualLostFraction * 1e6).rounded() / 1e6
    let isComparable = ProbeHistory.Figure.allCases.contains {
      predicted[$0] != nil && actual[$0] != nil
    }
    guard numbers.received.packetsReceived > 0, isComparable else { return nil }
  }

  fileprivate init?(_ value: JSONValue) {
    let number = { (key: String) in
      value[key]?.asNumber.flatMap { (0...1e15).contains($0) ? $0 : nil }
    }
    guard let target = value["target"]?.asString, let at = number("at"),
      let age = number("ageSeconds"), let seconds = number("seconds")
    else { return nil }
    self.init(
      target: target, at: UInt64(at), ageSeconds: UInt64(age),
      seconds: Int(min(seconds, 1e9)))
    for figure in ProbeHistory.Figure.allCases {
      predicted[figure] = Self.figure(value["predicted"]?[figure.rawValue])
      actual[figure] = Self.figure(value["actual"]?[figure.rawValue])
    }
  }

  private static func figure(_ value: JSONValue?) -> Double? {
    value?.asNumber.flatMap { (0...1e9).contains($0) ? $0 : nil }
  }

  package var json: JSONObject {
    var object = JSONObject()
    object.add("target", target)
    object.add("at", at)
    object.add("ageSeconds", ageSeconds)
    object.add("seconds", seconds)
    for (name, values) in [("predicted", predicted), ("actual", actual)] {
      var part = JSONObject()
      for figure in ProbeHistory.Figure.allCases { part.add(figure.rawValue, values[figure]) }
      object.add(name, part)
    }
    return object
  }
}

extension CallStatistics {
  /// Of what was sent, the share that the other side got too late or never; `nil` before it said.
  package var sentResidualLossRate: Double? {
    guard let remote = audio?.remote, remote.packetsExpected > 0 else { return nil }
    return (Double(remote.residualLost) / Double(remote.packetsExpected) * 1e6).rounded() / 1e6
  }
}
