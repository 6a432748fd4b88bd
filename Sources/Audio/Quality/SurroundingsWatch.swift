/// Keeps `JitterBuffer.surroundings` true while a call runs: the delay from mouth to ear of late,
/// and whether the sender seems to save bandwidth.
package struct SurroundingsWatch: Sendable {
  private var counted: (records: UInt64, sum: UInt64) = (0, 0)
  private var shortestFrame = Int.max

  package init() {}

  /// To be called once a second or so.
  ///
  /// - Parameter leastRoundTripMilliseconds: half of it is the way of the fastest packets, from
  ///   whose arrival the playout delay counts; `nil` while it is not known.
  package mutating func update(_ buffer: inout JitterBuffer, leastRoundTripMilliseconds: Int?) {
    let records = buffer.statistics.playoutDelays.count
    let sum = buffer.statistics.playoutDelays.sum
    let frame = buffer.frameMilliseconds
    if records > counted.records, let leastRoundTripMilliseconds {
      let playout = Double(sum &- counted.sum) / Double(records &- counted.records) / 1e6
      buffer.surroundings.mouthToEarMilliseconds =
        Double(frame) + Self.lookahead + Double(leastRoundTripMilliseconds) / 2 + playout
    }
    counted = (records, sum)
    guard buffer.statistics.packetsReceived > 0 else { return }
    // Nobody sends longer frames than at first but to save what headers cost.
    shortestFrame = min(shortestFrame, frame)
    buffer.surroundings.isBandwidthShort = frame > shortestFrame
  }

  /// What Opus looks ahead, in milliseconds (RFC 6716 §2.1.7).
  private static let lookahead = 6.5
}

extension JitterBuffer {
  /// The length of the frame that was decoded last.
  package var frameMilliseconds: Int { lastPacketSampleCount / 48 }
}
