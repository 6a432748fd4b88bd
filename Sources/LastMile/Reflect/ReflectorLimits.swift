import Primitives

/// The most that a reflector does for others, each with its reason (docs/protocol/probe.md §3).
package struct ReflectorLimits: Sendable, Equatable {
  /// Runs at once, in all.
  package var runs = 10
  /// Runs at once, of one source prefix: a household.
  package var runsPerSource = 4
  /// Runs that a client may begin at once, and again every `pause`.
  package var burst = 4
  /// From one run of a client to the next, once its burst is used up.
  package var pause = Duration.seconds(15)
  /// A run that may be sent no more bytes than this costs only `smallPause`: a watched line's
  /// grade, every 2 s.
  package var smallBytes: UInt32 = 60_000
  /// From one small run to the next.
  package var smallPause = Duration.seconds(1)
  /// Clients that are remembered for that; the one quiet longest makes room.
  package var rememberedClients = 1024
  /// Bits of IP packets a second that a train may have: the highest expected rate and 5 %.
  package var rate: UInt32 = 105_000_000
  /// What every run may have, whatever others have: 5 Mbit/s and 5 %.
  package var usualRate: UInt32 = 5_250_000
  /// Bit/s of all runs together, beside the usual rate of each: one of the highest at a time.
  package var totalRate: UInt64 = 105_000_000
  /// Bytes of IP packets sent in one run: 2 s at the highest rate.
  package var bytes: UInt32 = 26_250_000
  /// Bytes of a run that cost no more than `pause`: 4 s at 5 Mbit/s.
  package var usualBytes: UInt32 = 2_500_000
  /// What a client must wait for each byte beyond these: 4 Mbit/s in the long run.
  package var pausePerByte = Duration.nanoseconds(2000)
  /// How long a run may take: the longest duration, and time to ask and to finish.
  package var time = Duration.seconds(32)
  /// A train begins at this rate or below, in bit/s.
  package var firstRate: UInt32 = 330_000
  /// Packets whose arrival is named before the rate may double: fewer could be chance.
  package var packetsToDouble: UInt32 = 8
  /// A train ends so long after the last request.
  package var patience = Duration.milliseconds(250)
  /// A run is forgotten so long after the last request.
  package var silence = Duration.seconds(2)
  /// Echoes that wait to be answered.
  package var echoes = 8

  package init() {}

  /// What a run may be sent at, in bit/s: the bytes that it may have must last for 2 s.
  ///
  /// - Parameter granted: To the runs that go on, together, beside the usual rate of each.
  package func rate(forBytes count: UInt64, granted: UInt64 = 0) -> UInt32 {
    let spare = totalRate - min(totalRate, granted)
    let wanted = min(4 * count, UInt64(rate))
    return max(min(rate, usualRate), UInt32(clamping: min(wanted, spare)))
  }

  /// From a run of so many bytes to the next of the same client, once its burst is used up.
  package func pause(forBytes count: UInt32) -> Duration {
    if count <= smallBytes { return smallPause }
    let more = min(count, bytes) - min(count, usualBytes)
    return pause + pausePerByte * Int64(more)
  }

  /// A peer serves one other at a time.
  package static var peer: ReflectorLimits {
    var limits = ReflectorLimits()
    limits.runs = 1
    return limits
  }
}
