import Primitives
import Wire

/// The train that a reflector sends: at what the prober asks for, as far as the arrivals that it
/// names allow (docs/protocol/probe.md §3).
struct GrantedTrain: Sendable, BitwiseCopyable {
  private(set) var pacer = TrainPacer()
  private(set) var id: UInt8 = 0
  /// What a train may have now, in bit/s.
  private var allowed: UInt64
  /// `receivedCount` of the last request that let the rate double, or that began the train.
  private var confirmed: UInt32 = 0

  init(_ limits: ReflectorLimits) { allowed = UInt64(limits.firstRate) }

  /// Begins a train, or goes on with it, at what was asked for and may be.
  ///
  /// - Parameters:
  ///   - sentCount: Packets sent in the run.
  ///   - overhead: IP and UDP headers, in bytes.
  mutating func steer(
    _ request: ProbeRequestFrame, sentCount: UInt32, limits: ReflectorLimits, overhead: Int,
    now: Instant
  ) {
    let received = min(request.receivedCount, sentCount)
    if request.train == id, pacer.rate > 0, received >= confirmed &+ limits.packetsToDouble {
      allowed = min(max(allowed, min(2 * allowed, 4 * pacer.rate)), UInt64(limits.rate))
      confirmed = received
    }
    let rate = min(UInt64(request.rate), allowed)
    if request.rate == 0 {
      pacer.stop()
    } else if request.train != id {
      id = request.train
      confirmed = received
      pacer.start(
        rate: rate, payloadByteCount: Int(request.payloadByteCount), overhead: overhead,
        count: Int(request.trainLimit), now: now)
    } else {
      pacer.change(rate: rate, overhead: overhead, now: now)
    }
  }

  /// Nobody follows: the train ends, and the next begins as slowly as the first.
  mutating func lapse(_ limits: ReflectorLimits) {
    if pacer.remaining > 0 { allowed = min(allowed, UInt64(limits.firstRate)) }
    pacer.stop()
  }

  mutating func stop() { pacer.stop() }

  mutating func countSent(now: Instant) { _ = pacer.countSent(now: now) }
}
