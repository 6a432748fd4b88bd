/// Keeps `JitterBuffer.surroundings` true while a call runs: the delay from mouth to ear of late,
/// and whether the sender seems to save bandwidth.
package struct CallContext: Sendable {
  private var counted: (records: UInt64, sum: UInt64) = (0, 0)
  private var shortestFrame = Int.max
  private var queue = QueueGrowthDetector()
  private var lastArrival: UInt64 = 0

  package init() {}

  /// Takes the arrival of a frame, in nanoseconds.
  package mutating func recordFrame(mediaTime: UInt16, arrival: UInt64) {
    queue.recordFrame(mediaTime: mediaTime, arrival: arrival)
    lastArrival = max(lastArrival, arrival)
  }

  /// What changes from packet to packet: to be called with each pull.
  ///
  /// - Parameter peerHeard: when anything of the other side came last, in nanoseconds.
  package mutating func followPackets(_ buffer: inout JitterBuffer, peerHeard: UInt64) {
    buffer.surroundings.isQueueGrown = queue.isGrown
    buffer.surroundings.isPeerHeard =
      lastArrival > 0 && peerHeard > lastArrival && peerHeard - lastArrival > Self.sign
  }

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
    buffer.surroundings.jitterMilliseconds =
      Double(buffer.statistics.jitterNanoseconds) / 1e6
    guard buffer.statistics.packetsReceived > 0 else { return }
    // Nobody sends longer frames than at first but to save what headers cost.
    shortestFrame = min(shortestFrame, frame)
    buffer.surroundings.isBandwidthShort = frame > shortestFrame
  }

  /// What Opus looks ahead, in milliseconds (RFC 6716 §2.1.7).
  private static let lookahead = 6.5
  /// 300 ms: what was sent with the last sound is not heard of as late as this.
  private static let sign: UInt64 = 300_000_000
}

extension JitterBuffer {
  /// The length of the frame that was decoded last.
  package var frameMilliseconds: Int { lastPacketSampleCount / 48 }
}
