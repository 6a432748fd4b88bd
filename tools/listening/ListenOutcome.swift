import Audio
import Primitives
import Wire

/// What one run sent, and what was heard.
struct ListenOutcome: Sendable {
  /// Mono, 48 kHz; the first is heard when the first of the file is spoken.
  var samples: [Int16] = []
  var packetsSent = 0
  var packetsLost = 0
  /// When each packet left.
  private(set) var departures: [Instant] = []
  /// Bodies of AUDIO frames, copies and their headers included.
  var payloadBytes = 0
  /// Of the frames, whatever the receiver made of them.
  var fates = FrameFates()
  /// All packets of the way back: reports of audio and of packets, and requests.
  var backBytes = 0
  private var transitSum: UInt64 = 0
  private(set) var transitCount: UInt64 = 0
  private(set) var leastTransit = UInt64.max
  private var seen = (delay: 0.0, count: UInt64(0), second: UInt64(0))
  private var traced: [(second: UInt64, target: Double, delay: Double)] = []
  private(set) var json = ""
  /// Each change of the plan, for `--trace`.
  private var plans: [String] = []

  /// Session, frame and seal around one frame of audio (docs/protocol/frames.md §5).
  static let overheadByteCount = 28
  /// What IPv4 and UDP add.
  static let headerByteCount = 28

  init() {}

  mutating func noteSent(body: [UInt8], _ frame: AudioMediaFrame, _ now: Instant) {
    packetsSent += 1
    payloadBytes += body.count
    departures.append(now)
    fates.noteSent(frame, body)
  }

  mutating func noteTransit(_ nanoseconds: UInt64) {
    leastTransit = min(leastTransit, nanoseconds)
    transitSum += nanoseconds
    transitCount += 1
  }

  mutating func notePlan(_ plan: RedundancyPlan, _ now: Instant) {
    let copies = (0..<plan.copyCount).map { index in
      let copy = plan.copy(index)
      let parity = copy.parityDistance > 0 ? "^\(copy.parityDistance)" : ""
      return "\(copy.distance)" + (copy.isLowRate ? "" : parity.isEmpty ? "f" : parity)
    }
    let second = Self.rounded(Double(now.nanoseconds) / 1e9)
    let rates = "\(plan.bitrate)/\(plan.copyBitrate)/\(plan.frameLength.milliseconds)"
    plans.append("\"\(second): \(rates) \(copies.joined(separator: ","))\"")
  }

  /// Once a second: what the delay should be and what it was, in milliseconds.
  mutating func trace(_ statistics: PlayoutStatistics, _ now: Instant) {
    let second = now.nanoseconds / 1_000_000_000
    guard second > seen.second else { return }
    let count = statistics.jitterBufferEmittedCount - seen.count
    let sum = statistics.jitterBufferDelay - seen.delay
    traced.append(
      (
        second, Double(statistics.targetDelayNanoseconds) / 1e6,
        count == 0 ? 0 : sum / Double(count) / 1e6
      ))
    seen = (statistics.jitterBufferDelay, statistics.jitterBufferEmittedCount, second)
  }

  mutating func finish(
    _ playout: PlayoutStatistics, _ sent: RedundancyStatistics, _ options: ListenOptions,
    _ plan: RedundancyPlan, lookahead: Int, sampleCount: Int
  ) {
    let seconds = Double(sampleCount) / 48_000
    let wireBytes =
      payloadBytes + packetsSent * (Self.overheadByteCount + Self.headerByteCount)
    let fixed = Double(plan.frameLength.milliseconds) + Double(lookahead) / 48
    let transit = transitCount == 0 ? 0 : Double(transitSum) / Double(transitCount) / 1e6
    let emitted = max(playout.jitterBufferEmittedCount, 1)
    let waited = playout.jitterBufferDelay / Double(emitted) / 1e6
    let total = max(playout.totalSamplesReceived, 1)
    var members: [(String, Double)] = [
      ("seconds", seconds), ("packets", Double(packetsSent)),
      ("lost_percent", 100 * Double(packetsLost) / Double(max(packetsSent, 1))),
      ("payload_kbps", Double(payloadBytes) * 8 / seconds / 1000),
      ("wire_kbps", Double(wireBytes) * 8 / seconds / 1000),
      ("concealed_percent", 100 * Double(playout.concealedSamples) / Double(total)),
      ("silent_percent", 100 * Double(playout.silentConcealedSamples) / Double(total)),
      ("concealments", Double(playout.concealmentEvents)),
      ("late", Double(playout.packetsDiscardedLate)),
      ("back_kbps", Double(backBytes) * 8 / seconds / 1000),
      ("copy_kbps", Double(sent.copyBytesSent) * 8 / seconds / 1000),
      ("repeated", Double(sent.framesRetransmitted)),
      ("recovered", Double(playout.packetsRecoveredByForwardErrorCorrection)),
      ("accelerated_ms", Double(playout.removedSamplesForAcceleration) / 48),
      ("decelerated_ms", Double(playout.insertedSamplesForDeceleration) / 48),
      ("buffer_ms", waited), ("booked_ms", fixed + transit + waited),
    ]
    members += estimates(playout, fixed: fixed, bitrate: plan.bitrate)
    if let p50 = playout.delays.quantile(0.5), let p95 = playout.delays.quantile(0.95) {
      members += [("buffer_p50_ms", p50), ("buffer_p95_ms", p95)]
    }
    let head = "\"line\":\"\(options.lineText)\",\"seed\":\(options.seed)"
    let numbers = members.map { "\"\($0.0)\":\(Self.rounded($0.1))" }
    var parts = [head] + numbers
    if options.traces { parts += traces }
    json = "{\(parts.joined(separator: ","))}"
  }

  private var traces: [String] {
    let rows = traced.map {
      "[\($0.second),\(Self.rounded($0.target)),\(Self.rounded($0.delay))]"
    }
    return [
      "\"plans\":[\(plans.joined(separator: ","))]", "\"trace\":[\(rows.joined(separator: ","))]",
    ]
  }

  private static func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
}
