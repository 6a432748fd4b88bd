import Primitives

/// Begins the trains of a probe: sends those of the uplink at their pace, and names those that the
/// other end is asked for.
struct ProbeTrains: Sendable, BitwiseCopyable {
  /// Of the uplink's train.
  private(set) var pacer = TrainPacer()
  private var latestID: UInt8 = 0

  /// - Parameters:
  ///   - rate: Bits of IP packets a second.
  ///   - overhead: IP and UDP headers, in bytes.
  mutating func start(
    _ part: TestPackets.Part, rate: Double, payloadByteCount: Int, count: Int, overhead: Int,
    side: inout ProbeSide, now: Instant
  ) {
    latestID = latestID == .max ? 1 : latestID + 1
    let bits = Double(8 * (payloadByteCount + overhead))
    let length = part == .ramp ? Double(count) * bits / rate : 0
    side.begin(
      ProbeSide.Train(
        id: latestID, rate: rate, payloadByteCount: payloadByteCount, count: count, part: part,
        began: now, ends: now + .nanoseconds(Int64(length * 1e9)),
        first: side.packets.entries.count))
    guard side.direction == .uplink else { return }
    pacer.start(
      rate: UInt64(rate), payloadByteCount: payloadByteCount, overhead: overhead, count: count,
      now: now)
  }

  mutating func changePace(rate: Double, overhead: Int, now: Instant) {
    pacer.change(rate: UInt64(rate), overhead: overhead, now: now)
  }

  /// Sends no more of the uplink's train.
  mutating func stopSending() { pacer.stop() }

  mutating func stop(_ line: inout LineMeasurement) {
    pacer.stop()
    line.up.endTrain()
    line.down.endTrain()
  }

  /// Counts a packet of the uplink's train as sent; how late it was, in ns.
  mutating func countSent(now: Instant) -> UInt64 { pacer.countSent(now: now) }
}
