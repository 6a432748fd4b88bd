/// What the sender of an audio stream must know to choose its redundancy: what is lost before
/// anything repairs it, in what bursts, and how much time a repair has.
///
/// The counts are totals of the stream, so that a report may be lost; `since(_:)` gives an
/// interval.
package struct ReceptionReport: Equatable, Sendable, BitwiseCopyable {
  /// Frames whose fate is known: arrived as primaries, or given up after the reordering window.
  package var framesExpected: UInt64 = 0
  /// Of these, the ones whose primary did not arrive. Pauses that the sender marked are no loss.
  package var framesLost: UInt64 = 0
  /// Uninterrupted runs of lost frames; `framesLost / lossBursts` is the mean burst.
  package var lossBursts: UInt64 = 0
  /// Frames that no copy, retransmission or error correction brought in time either.
  package var framesUnrepaired: UInt64 = 0
  /// Length of the longest run of lost frames of late (ten seconds), in frames.
  package var longestBurst: UInt16 = 0
  /// How long before its time to play a primary arrives that is as late as nineteen of twenty,
  /// in milliseconds; a repair must arrive within this time after the primary should have.
  /// Negative when primaries come too late.
  package var slackMilliseconds: Int16 = 0
  /// The playout delay that the receiver aims at, in milliseconds beyond the fastest packet.
  package var targetDelayMilliseconds: UInt16 = 0
  /// Interarrival jitter (RFC 3550 §6.4.1), in milliseconds.
  package var jitterMilliseconds: UInt16 = 0
  /// The length of a frame seen last, in milliseconds.
  package var frameMilliseconds: UInt16 = 20

  package init() {}

  /// The counts since an earlier report of the same stream; the other fields as they are now.
  package func since(_ earlier: ReceptionReport) -> ReceptionReport {
    var report = self
    report.framesExpected = framesExpected &- min(framesExpected, earlier.framesExpected)
    report.framesLost = framesLost &- min(framesLost, earlier.framesLost)
    report.lossBursts = lossBursts &- min(lossBursts, earlier.lossBursts)
    report.framesUnrepaired = framesUnrepaired &- min(framesUnrepaired, earlier.framesUnrepaired)
    return report
  }

  /// Share of frames lost before repair, 0...1.
  package var lossFraction: Double {
    framesExpected == 0 ? 0 : Double(framesLost) / Double(framesExpected)
  }

  /// Mean run of lost frames; 0 without any.
  package var meanBurst: Double {
    lossBursts == 0 ? 0 : Double(framesLost) / Double(lossBursts)
  }
}
