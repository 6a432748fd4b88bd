import Audio
import Primitives

/// A simulated way from a sender's packets to a jitter buffer that is pulled every 5 ms.
struct Line {
  /// One packet under way.
  struct Flight {
    var payload: [UInt8]
    var mediaTime: UInt16
    /// In nanoseconds.
    var arrival: Int64
    var origin = PacketOrigin.primary
  }

  var flights: [Flight] = []

  /// Sends `stream` over a line of 20 ms.
  ///
  /// - Parameters:
  ///   - repeats: how often the stream is sent, end to end.
  ///   - driftPartsPerMillion: how much faster the sender's clock runs.
  ///   - isLost: told a packet's number.
  ///   - delay: further delay of a packet in nanoseconds, told its number and its time of sending.
  init(
    _ stream: EncodedStream, repeats: Int = 1, start: UInt16 = 65_500,
    driftPartsPerMillion: Double = 0,
    isLost: (Int) -> Bool = { _ in false }, delay: (Int, Int64) -> Int64 = { _, _ in 0 }
  ) {
    let steps = Int(stream.frameLength.stepCount)
    let scale = 1 - driftPartsPerMillion / 1_000_000
    for number in 0..<(stream.packets.count * repeats) where !isLost(number) {
      let sent = Int64(Double(number * steps) * 10_000_000 * scale) + 1_000_000_000
      flights.append(
        Flight(
          payload: stream.packets[number % stream.packets.count],
          mediaTime: start &+ UInt16(truncatingIfNeeded: number * steps),
          arrival: sent + 20_000_000 + delay(number, sent)))
    }
  }

  /// What was heard.
  struct Outcome {
    var samples: [Int16] = []
    var operations: [PlayoutOperation] = []
    var statistics = PlayoutStatistics()
    var report = ReceptionReport()
    var quality = QualityMonitor()
    var changes: [QualityChange] = []
    var recording: [UInt8] = []
    /// Target delay at each second, in nanoseconds.
    var targets: [Int64] = []
    /// Mean delay over each second, in milliseconds.
    var delays: [Double] = []

    func count(_ operation: PlayoutOperation) -> Int { operations.count { $0 == operation } }
  }

  /// - Parameters:
  ///   - until: when to stop pulling, in nanoseconds after the first packet was sent; as a rule,
  ///     until shortly before the last packet.
  ///   - keepsSamples: `false` spares the memory of long runs.
  ///   - records: whether to keep an `ArrivalRecording`.
  ///   - pullTime: when a pull happens, told its number and when it should.
  func play(
    channels: Int = 1, until end: Int64? = nil, keepsSamples: Bool = true,
    records: Bool = false, pullTime: (Int, Int64) -> Int64 = { $1 }
  ) throws -> Outcome {
    var buffer = try JitterBuffer(channels: channels)
    if records { buffer.recording = ArrivalRecording(channels: channels) }
    let sorted = flights.sorted { $0.arrival < $1.arrival }
    var outcome = Outcome()
    var next = 0
    var step = [Int16](repeating: 0, count: 240 * channels)
    let stop = end.map { $0 + 1_000_000_000 } ?? (sorted.last?.arrival ?? 0)
    var nominal: Int64 = 1_003_000_000
    var seen = (delay: 0.0, count: UInt64(0))
    while nominal < stop {
      let now = pullTime(outcome.operations.count, nominal)
      while next < sorted.count, sorted[next].arrival <= now {
        let flight = sorted[next]
        buffer.insert(
          flight.payload.span, mediaTime: flight.mediaTime,
          arrival: Instant(nanoseconds: UInt64(flight.arrival)), origin: flight.origin)
        next += 1
      }
      var span = step.mutableSpan
      outcome.operations.append(
        buffer.pull(into: &span, now: Instant(nanoseconds: UInt64(now))))
      if keepsSamples { outcome.samples.append(contentsOf: step) }
      if let change = buffer.quality.pollChange() { outcome.changes.append(change) }
      if outcome.operations.count % 200 == 0 { outcome.note(buffer.statistics, &seen) }
      nominal += 5_000_000
    }
    outcome.statistics = buffer.statistics
    outcome.report = buffer.report
    outcome.quality = buffer.quality
    outcome.recording = buffer.recording?.bytes ?? []
    return outcome
  }
}

extension Line.Outcome {
  /// The delay aimed at and the mean delay of the second that is over.
  fileprivate mutating func note(
    _ statistics: PlayoutStatistics, _ seen: inout (delay: Double, count: UInt64)
  ) {
    targets.append(statistics.targetDelayNanoseconds)
    let count = statistics.jitterBufferEmittedCount - seen.count
    let sum = statistics.jitterBufferDelay - seen.delay
    delays.append(count == 0 ? 0 : sum / Double(count) / 1_000_000)
    seen = (statistics.jitterBufferDelay, statistics.jitterBufferEmittedCount)
  }
}

/// Seeds for chance in these tests; a failure prints the one it ran with.
enum Chance {
  /// Delays of an order-keeping queue whose jitter is exponential.
  static func exponential(
    percentile95: Int64, seed: UInt64, interval: Int64 = 20_000_000, count: Int
  ) -> [Int64] {
    var random = RandomSource(seed: seed)
    let mean = Double(percentile95) / 2.9957
    var latest = Int64.min
    return (0..<count).map { number in
      let drawn = Int64(-mean * naturalLogarithm(1 - random.unit()))
      let sent = Int64(number) * interval
      latest = max(latest, sent + drawn)
      return latest - sent
    }
  }

  /// Which of `count` packets are lost.
  static func losses(fraction: Double, seed: UInt64, count: Int) -> [Bool] {
    var random = RandomSource(seed: seed)
    return (0..<count).map { _ in random.unit() < fraction }
  }

  /// By halving and the series of the inverse hyperbolic tangent.
  static func naturalLogarithm(_ value: Double) -> Double {
    var mantissa = value
    var exponent = 0.0
    while mantissa < 0.75 {
      mantissa *= 2
      exponent -= 1
    }
    let ratio = (mantissa - 1) / (mantissa + 1)
    let square = ratio * ratio
    let series = 1 + square * (1 / 3 + square * (1 / 5 + square * (1 / 7 + square / 9)))
    return 2 * ratio * series + exponent * 0.693_147_180_559_945
  }
}
