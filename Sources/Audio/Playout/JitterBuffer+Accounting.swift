/// What `JitterBuffer` counts of what it gives out.
extension JitterBuffer {
  /// - Parameters:
  ///   - entry: what was decoded.
  ///   - offset: from now to when it sounds, less its arrival, in nanoseconds.
  ///   - count: samples decoded.
  mutating func record(_ entry: PacketBuffer.Entry, wait offset: Int64, count: Int) {
    // Of pulls in pairs the second sounds after the first: not before the latest of even pulls.
    let wait = max(0, clock.time &+ clock.mostEarliness &+ offset)
    let target = arrivals.estimator.targetDelay &+ clock.mostEarliness
    let transit = entry.arrival &- AudioFormat.nanoseconds(samples: entry.timestamp)
    let onPath = wait &+ transit &- arrivals.estimator.leastTransit
    let measured = PlayoutCounting.Wait(
      whole: wait, onPath: onPath, aboveBase: onPath &+ arrivals.estimator.pathRise,
      target: target, least: arrivals.estimator.usualLateness)
    PlayoutCounting.emitted(count, measured, in: &statistics)
    if entry.origin.rank == 0 { statistics.samplesFromLowRateCopies += UInt64(count) }
  }

  mutating func account(for output: borrowing MutableSpan<Int16>) {
    PlayoutCounting.heard(output, channels: channels, in: &statistics)
    surroundings.bitsPerSecond = statistics.primaryBitsPerSecond ?? surroundings.bitsPerSecond
    surroundings.upperBandFraction = statistics.upperBandFraction
    quality.record(QualityMonitor.Totals(statistics), surroundings)
  }

  /// The sender has left out so many frames before the next one that comes: they are not lost.
  package mutating func noteUnsent(_ count: UInt64) {
    recording?.noteUnsent(count)
    arrivals.ledger.noteUnsent(count)
  }

  /// Of a host that a relay leaves out, the sound goes on with the packet that comes now.
  var isLeftOutAhead: Bool { concealment.patience > 0 && arrivals.ledger.hasUnsentAhead }

  /// What is made up before sound that goes on after a pause is none that is missing.
  mutating func excusePause() {
    if concealment.patience > 0, packets.first?.isMarked == true { concealment.endPause() }
  }

  /// 5 ms are given out without a pull: nothing is sent.
  mutating func pause() {
    recording?.pause()
    concealment.pause()
  }

  /// The oldest packet that waits goes unheard.
  mutating func discardFirst() {
    guard let first = packets.first else { return }
    packets.removeFirst()
    statistics.packetsDiscarded += 1
    if first.origin == .primary {
      statistics.framesLate += 1
    } else {
      arrivals.ledger.forgetRepair(step: first.timestamp / Int64(AudioFormat.stepSampleCount))
      statistics.fates = arrivals.ledger.fates
    }
  }
}

extension ArrivalAnalysis {
  /// A version of a frame is there in time that is not its own packet.
  mutating func noteRepair(_ timestamp: Int64, _ origin: PacketOrigin) {
    let step = timestamp / Int64(AudioFormat.stepSampleCount)
    switch origin {
    case .primary: break
    case .copy: ledger.noteRepair(step: step, .forwardErrorCorrection)
    case .retransmission: ledger.noteRepair(step: step, .retransmission)
    }
  }

  /// In-band FEC (RFC 6716 §2.1.7) has brought the frame at `timestamp`.
  mutating func noteInBandRepair(_ timestamp: Int64) {
    ledger.noteRepair(
      step: timestamp / Int64(AudioFormat.stepSampleCount), .forwardErrorCorrection)
  }
}
