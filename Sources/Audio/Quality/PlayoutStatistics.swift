/// What one received audio stream has been through, in the names of W3C webrtc-stats' inbound-rtp;
/// samples are counted a channel.
package struct PlayoutStatistics: Sendable {
  // What came.
  /// What became of each frame, before and after repair.
  package internal(set) var fates = PacketFates()
  /// Frames whose own packet came, but too late to be heard; not lost, and not repaired.
  package internal(set) var framesLate: UInt64 = 0
  package internal(set) var packetsReceived: UInt64 = 0
  /// Came too late to be played, came for a time line that is over, or was no Opus packet.
  package internal(set) var packetsDiscarded: UInt64 = 0
  /// Of these, the late ones.
  package internal(set) var packetsDiscardedLate: UInt64 = 0
  /// Of these, the ones that were not Opus.
  package internal(set) var packetsMalformed: UInt64 = 0
  package internal(set) var packetsDuplicated: UInt64 = 0
  /// Copies that rode in later packets, needed or not; in webrtc-stats `fecPacketsReceived`.
  package internal(set) var copiesReceived: UInt64 = 0
  /// Of these, the ones that were not needed or came too late (`fecPacketsDiscarded`).
  package internal(set) var copiesDiscarded: UInt64 = 0
  /// Payload and duration of the packets that were sent for their own frame.
  package internal(set) var primaryBytes: UInt64 = 0
  package internal(set) var primarySamples: UInt64 = 0
  /// Of these, the ones coded beyond 8 kHz.
  package internal(set) var upperBandSamples: UInt64 = 0
  package internal(set) var retransmittedPacketsReceived: UInt64 = 0
  /// When the newest packet arrived, in nanoseconds (`lastPacketReceivedTimestamp`).
  package internal(set) var lastPacketReceivedNanoseconds: UInt64 = 0
  /// Audio that was passed over in playout, counted in packets of the size seen last.
  package internal(set) var packetsMissed: UInt64 = 0
  /// Interarrival jitter in nanoseconds (RFC 3550 §6.4.1).
  package internal(set) var jitterNanoseconds: Int64 = 0

  // What was heard.
  /// Everything given out since the first packet, of whatever origin.
  package internal(set) var totalSamplesReceived: UInt64 = 0
  /// Made up, silence included.
  package internal(set) var concealedSamples: UInt64 = 0
  package internal(set) var silentConcealedSamples: UInt64 = 0
  /// Uninterrupted runs of concealment.
  package internal(set) var concealmentEvents: UInt64 = 0
  /// Packets restored from the copy in the one that followed.
  package internal(set) var packetsRecoveredByForwardErrorCorrection: UInt64 = 0
  package internal(set) var samplesRecoveredByForwardErrorCorrection: UInt64 = 0
  /// Decoded from low-rate copies.
  package internal(set) var samplesFromLowRateCopies: UInt64 = 0
  /// Made up for packets that came after all, but too late.
  package internal(set) var delayedPacketOutageSamples: UInt64 = 0
  /// Concealments of 150 ms and more.
  package internal(set) var interruptionCount: UInt64 = 0
  package internal(set) var totalInterruptionSamples: UInt64 = 0
  package internal(set) var insertedSamplesForDeceleration: UInt64 = 0
  package internal(set) var removedSamplesForAcceleration: UInt64 = 0
  /// Times the sender began a new time line.
  package internal(set) var restarts: UInt64 = 0

  // How long it waited.
  /// Sum over all emitted samples of the time from arrival to emission, in sample-nanoseconds.
  package internal(set) var jitterBufferDelay: Double = 0
  package internal(set) var jitterBufferEmittedCount: UInt64 = 0
  /// The same sum of the delay aimed at, and of the least that the path would allow.
  package internal(set) var jitterBufferTargetDelay: Double = 0
  package internal(set) var jitterBufferMinimumDelay: Double = 0
  /// Sum over packets of how much later they came than the fastest of late, in nanoseconds.
  package internal(set) var relativePacketArrivalDelay: Double = 0
  /// What the delay of a packet on its best behaviour should be now, in nanoseconds.
  package internal(set) var targetDelayNanoseconds: Int64 = 0
  /// One record for each packet: from arrival to the sounding of its first sample.
  package internal(set) var delays = DelayHistogram()
  /// The same from when the frame would have arrived on the fastest packet's way: with half the
  /// least round trip this is the delay of the line, whatever brought the frame, and when.
  package internal(set) var playoutDelays = DelayHistogram()

  /// The same from the way of the fastest packet of the last two minutes, not of the last four
  /// seconds: with a queue that stands. In steps of 4 ms, up to 4 s.
  package internal(set) var delaysAboveBase = DelayHistogram(stepMilliseconds: 4)

  // How loud it was.
  /// Root mean square of the last 5 ms given out, 0...1.
  package internal(set) var audioLevel: Double = 0
  /// Sum of squared levels times seconds.
  package internal(set) var totalAudioEnergy: Double = 0
  /// Samples given out of pulls that were no silence (`AudioFormat.audible`).
  package internal(set) var audibleSamples: UInt64 = 0

  package init() {}

  /// Lost on the way, before any repair (RFC 3550 §6.4.1).
  package var packetsLost: UInt64 { fates.lost }

  /// Share of all samples that were made up, 0...1.
  package var concealedFraction: Double {
    totalSamplesReceived == 0 ? 0 : Double(concealedSamples) / Double(totalSamplesReceived)
  }

  /// Seconds of sound given out (`totalSamplesDuration`).
  package var totalSamplesDuration: Double { Double(totalSamplesReceived) / 48_000 }

  /// Share of all samples that came from low-rate copies, 0...1.
  package var lowRateFraction: Double {
    totalSamplesReceived == 0 ? 0 : Double(samplesFromLowRateCopies) / Double(totalSamplesReceived)
  }

  /// What the sender spends on the frames themselves, copies left out; `nil` before the first.
  package var primaryBitsPerSecond: Int? {
    primarySamples == 0
      ? nil : Int(Double(primaryBytes) * 8 * 48_000 / Double(primarySamples))
  }

  /// Share of what was sent that is coded beyond 8 kHz, 0...1; 1 before the first packet.
  package var upperBandFraction: Double {
    primarySamples == 0 ? 1 : Double(upperBandSamples) / Double(primarySamples)
  }

  /// Samples that were put in or taken out to change the delay.
  package var stretchedSamples: UInt64 {
    insertedSamplesForDeceleration + removedSamplesForAcceleration
  }

  package var stretchedFraction: Double {
    totalSamplesReceived == 0 ? 0 : Double(stretchedSamples) / Double(totalSamplesReceived)
  }

  /// Mean length of a concealment in milliseconds; 0 without any.
  package var meanConcealmentMilliseconds: Double {
    concealmentEvents == 0 ? 0 : Double(concealedSamples) / Double(concealmentEvents) / 48
  }

  /// Mean time from arrival to emission in milliseconds; `nil` before the first packet is heard.
  package var meanDelayMilliseconds: Double? {
    jitterBufferEmittedCount == 0
      ? nil : jitterBufferDelay / Double(jitterBufferEmittedCount) / 1_000_000
  }

  /// - Parameter bitsPerSecond: what the sender spends on the audio alone.
  package func mosEstimate(bitsPerSecond: Int) -> MOSEstimate {
    let restored =
      totalSamplesReceived == 0
      ? 0 : Double(samplesRecoveredByForwardErrorCorrection) / Double(totalSamplesReceived)
    let weight = MOSEstimate.restoredFrameWeight(bitsPerSecond: bitsPerSecond)
    return MOSEstimate(
      bitsPerSecond: bitsPerSecond, concealedFraction: concealedFraction + weight * restored,
      meanConcealedRun: meanConcealmentMilliseconds / 20, lowRateFraction: lowRateFraction,
      upperBandFraction: upperBandFraction)
  }
}
