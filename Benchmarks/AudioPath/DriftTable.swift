import Audio
import Primitives

/// An hour of a call whose sender's clock runs fast or slow, in simulated time.
enum DriftTable {
  static let usualDrifts = [300.0, 100, 50, 0, -50, -100, -200, -300]

  /// - Parameters:
  ///   - drifts: how much faster the sender's clock runs, in parts per million; a row each.
  ///   - jitter: how much later than the fastest a packet comes at most, in milliseconds; all
  ///     delays up to that are as likely, and a packet overtakes none before it.
  static func table(_ samples: [Int16], drifts: [Double], jitter: Double) throws -> String {
    let packets = try encoded(samples)
    var text = """
      | drift, ppm | concealments | concealed, ms | spliced out, ms | put in, ms | delay, ms | wander |
      | --- | --- | --- | --- | --- | --- | --- |

      """
    for drift in drifts {
      let (statistics, least, most) = try run(packets, drift, jitter)
      func milliseconds(_ samples: UInt64) -> Int { Int(samples / 48) }
      text += "| \(Int(drift)) | \(statistics.concealmentEvents) "
      text += "| \(milliseconds(statistics.concealedSamples)) "
      text += "| \(milliseconds(statistics.removedSamplesForAcceleration)) "
      text += "| \(milliseconds(statistics.insertedSamplesForDeceleration)) "
      text += "| \(AudioPathProgram.text(least)) to \(AudioPathProgram.text(most)) "
      text += "| \(AudioPathProgram.text(most - least)) |\n"
    }
    return text
  }

  private static func encoded(_ samples: [Int16]) throws -> [[UInt8]] {
    var encoder = try OpusEncoder(OpusEncoder.Settings())
    return try stride(from: 0, through: samples.count - 960, by: 960).map { start in
      var packet: [UInt8] = []
      try packet.append(addingCapacity: AudioFormat.maxPayloadByteCount) {
        (output) throws(OpusError) in
        _ = try encoder.encode(samples.span.extracting(start..<(start + 960)), into: &output)
      }
      return packet
    }
  }

  /// The least and the greatest mean delay of a second, without the first ten.
  private static func run(
    _ packets: [[UInt8]], _ drift: Double, _ jitter: Double
  ) throws -> (PlayoutStatistics, least: Double, most: Double) {
    var buffer = try JitterBuffer(channels: 1)
    var step = [Int16](repeating: 0, count: AudioFormat.pullSampleCount)
    var line = Line(drift: drift, jitter: jitter)
    var seen = (delay: 0.0, count: UInt64(0))
    var range = (least: Double.infinity, most: 0.0)
    for pull in 0..<720_000 {
      let now = 1_003_000_000 + UInt64(pull) * 5_000_000
      while line.arrival <= Double(now) {
        let packet = packets[line.number % packets.count]
        buffer.insert(
          packet.span, mediaTime: UInt16(truncatingIfNeeded: line.number * 2),
          arrival: Instant(nanoseconds: UInt64(line.arrival)))
        line.advance()
      }
      var span = step.mutableSpan
      _ = buffer.pull(into: &span, now: Instant(nanoseconds: now))
      guard pull % 200 == 199 else { continue }
      let statistics = buffer.statistics
      let count = Double(statistics.jitterBufferEmittedCount - seen.count)
      if pull > 2000, count > 0 {
        let delay = (statistics.jitterBufferDelay - seen.delay) / count / 1e6
        range = (min(range.least, delay), max(range.most, delay))
      }
      seen = (statistics.jitterBufferDelay, statistics.jitterBufferEmittedCount)
    }
    return (buffer.statistics, range.least, range.most)
  }

  /// When the packets come.
  private struct Line {
    /// How much faster the sender's clock runs, in parts per million.
    let drift: Double
    /// In milliseconds.
    let jitter: Double
    private(set) var number = 0
    /// Of packet `number`, in nanoseconds.
    private(set) var arrival = 0.0
    private var dice = RandomSource(seed: 1)

    init(drift: Double, jitter: Double) {
      self.drift = drift
      self.jitter = jitter
      arrival = nextArrival()
    }

    mutating func advance() {
      number += 1
      arrival = max(arrival, nextArrival())
    }

    private mutating func nextArrival() -> Double {
      let sent = 1_000_000_000 + Double(number) * 20e6 * (1 - drift / 1e6)
      return sent + 20e6 + dice.unit() * jitter * 1e6
    }
  }
}
