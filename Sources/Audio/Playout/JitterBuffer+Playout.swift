package import Primitives

/// The outgoing side: one pull, 10 ms.
extension JitterBuffer {
  /// Gives exactly 10 ms of sound, whatever has or has not come.
  ///
  /// - Parameters:
  ///   - output: at least 480 samples for each channel, interleaved; the first that many are
  ///     written.
  ///   - now: when the caller pulls; twice at once every 20 ms will do.
  @_lifetime(output: copy output)
  package mutating func pull(
    into output: inout MutableSpan<Int16>, now: Instant
  ) -> PlayoutOperation {
    clock.tick(now: Self.clamped(now))
    lastPull = Self.clamped(now)
    pullsSinceSplice = min(pullsSinceSplice + 1, 1000)
    var operation = PlayoutOperation.normal
    switch phase {
    case .idle:
      operation = fillWithoutPackets()
    case .buffering(let start) where clock.time < start &- AudioFormat.stepNanoseconds / 2:
      operation = fillWithoutPackets()
    case .buffering, .playing:
      phase = .playing
      operation = fill()
    }
    queue.take(frames: AudioFormat.stepSampleCount, into: &output)
    if hasStarted { account(for: output) }
    return operation
  }

  /// Makes sure that 10 ms wait in the queue.
  private mutating func fill() -> PlayoutOperation {
    var operation = PlayoutOperation.normal
    // Each turn adds samples or discards a packet; 2.5 ms packets need four turns.
    var turns = PacketBuffer.capacity
    while queue.count < AudioFormat.stepSampleCount, turns > 0 {
      turns -= 1
      operation = produce()
    }
    return operation
  }

  /// Between two time lines what was heard last fades; before the first there is silence.
  private mutating func fillWithoutPackets() -> PlayoutOperation {
    guard statistics.jitterBufferEmittedCount > 0 else { return .silence }
    var operation = PlayoutOperation.silence
    while queue.count < AudioFormat.stepSampleCount { operation = conceal() }
    return operation
  }

  private var hasStarted: Bool { phase != .idle || statistics.totalSamplesReceived > 0 }

  private mutating func produce() -> PlayoutOperation {
    dropOutlived()
    let first = packets.first
    var situation = PlayoutSituation()
    situation.concealed = concealed
    situation.isMuted = fader.isSilent
    if let first, let last = packets.last {
      situation.gap = Int(clamping: first.timestamp &- nextTimestamp)
      situation.isAfterPause = first.isMarked
      situation.packetSampleCount = first.packet.sampleCount
      situation.carriesForwardErrorCorrection = first.packet.carriesForwardErrorCorrection
      situation.excess = excess(of: first)
      situation.bufferedSpan = last.end &- first.timestamp
    }
    switch PlayoutDecision(situation) {
    case .decode:
      guard let first else { return conceal() }
      return decode(first)
    case .recover(let sampleCount):
      guard let first else { return conceal() }
      return recover(sampleCount, from: first)
    case .conceal:
      return conceal()
    case .staySilent:
      return staySilent()
    }
  }

  /// How much later than its target `entry` would sound if it were decoded now, in nanoseconds.
  private func excess(of entry: PacketBuffer.Entry) -> Int64 {
    clock.time &- AudioFormat.nanoseconds(samples: entry.timestamp) &- estimator.targetTransit
      &- clock.earliness &- Self.margin
  }

  /// Packets that overlap what was decoded, and all that would be more than a second too late.
  private mutating func dropOutlived() {
    while let first = packets.first {
      let isOutlived = first.timestamp < nextTimestamp
      guard isOutlived || (packets.count > 1 && excess(of: first) > Self.hopeless) else { return }
      if !isOutlived { nextTimestamp = first.end }
      packets.removeFirst()
      statistics.packetsDiscarded += 1
      if isOutlived { statistics.packetsDiscardedLate += 1 }
    }
  }

  private mutating func decode(_ entry: PacketBuffer.Entry) -> PlayoutOperation {
    let excess = excess(of: entry)
    passOver(until: entry.timestamp, isPause: entry.isMarked)
    let follows = concealed > 0
    let leftover = queue.count
    let ahead = AudioFormat.nanoseconds(samples: Int64(leftover))
    let count: Int
    do throws(OpusError) {
      count = try queue.append(decoding: entry, of: packets, with: &decoder, through: &fader, noise: &background)
    } catch {
      statistics.packetsMalformed += 1
      packets.removeFirst()
      nextTimestamp = entry.end
      return conceal()
    }
    packets.removeFirst()
    nextTimestamp = entry.timestamp &+ Int64(count)
    concealed = 0
    lastPacketSampleCount = count
    record(wait: max(0, clock.time &+ ahead &- entry.arrival), count: count)
    slack = excess &+ estimator.targetDelay &- estimator.usualLateness &+ Self.margin
    return stretch(excess: excess, leftover: leftover, decoded: count, follows: follows)
      ?? (follows ? .merge : .normal)
  }

  /// Media time goes on to `timestamp`; what lies between is missed.
  private mutating func passOver(until timestamp: Int64, isPause: Bool = false) {
    let missing = Int(clamping: timestamp &- nextTimestamp)
    guard missing > 0 else { return }
    nextTimestamp = timestamp
    if isPause { return }
    let size = max(lastPacketSampleCount, 1)
    statistics.packetsMissed += UInt64((missing + size - 1) / size)
  }

  private mutating func recover(
    _ sampleCount: Int, from entry: PacketBuffer.Entry
  ) -> PlayoutOperation {
    passOver(until: entry.timestamp)
    guard
      let count = try? queue.append(  // A failure is concealed, and counted so.
        restoring: sampleCount, before: entry, of: packets, with: &decoder, through: &fader,
        noise: &background)
    else { return conceal() }
    concealed = 0
    statistics.packetsRecoveredByForwardErrorCorrection += 1
    statistics.samplesRecoveredByForwardErrorCorrection += UInt64(count)
    return .forwardErrorCorrection
  }

  private mutating func conceal() -> PlayoutOperation {
    let step = AudioFormat.stepSampleCount
    if concealed == 0 { statistics.concealmentEvents += 1 }
    let target = concealed >= Self.fadeAfterSampleCount ? 0 : Fader.full
    guard !fader.isSilent,
      let count = try? queue.append(  // A failure is counted as silence.
        concealing: step, with: &decoder, through: &fader, towards: target,
        noise: &background)
    else { return staySilent() }
    tally(concealed: count)
    return .expand
  }

  private mutating func staySilent() -> PlayoutOperation {
    let step = AudioFormat.stepSampleCount
    queue.append(noiseFrames: step, from: &background)
    statistics.silentConcealedSamples += UInt64(step)
    tally(concealed: step)
    return .silence
  }

  private mutating func tally(concealed count: Int) {
    concealed = min(concealed + count, 1 << 40)
    statistics.concealedSamples += UInt64(count)
  }

  /// Moves the delay towards its target by a splice at the head of the queue, where that will not
  /// be heard.
  private mutating func stretch(
    excess: Int64, leftover: Int, decoded: Int, follows: Bool
  ) -> PlayoutOperation? {
    let isPassive = noise.isPassive(energy: queue.energy())
    passiveRun = isPassive ? min(passiveRun + decoded, 1 << 40) : 0
    if isPassive, !follows { queue.teach(&background, frames: decoded) }
    var situation = StretchSituation()
    situation.excess = Int(clamping: AudioFormat.samples(nanoseconds: excess))
    situation.leftover = leftover
    situation.passiveRun = passiveRun
    situation.pullsSinceLast = pullsSinceSplice
    situation.isMerge = follows
    situation.overdue = overdue
    situation.target = Int(clamping: AudioFormat.samples(nanoseconds: estimator.targetDelay))
    guard let wish = policy.decide(situation) else { return nil }
    pullsSinceSplice = 0
    guard
      let splice = TimeStretch.bestSplice(
        in: queue, wish.direction, shortest: wish.shortest, longest: wish.longest),
      splice.correlation >= wish.leastCorrelation ?? -1
    else { return nil }
    queue.splice(jump: splice.jump, overlap: splice.overlap)
    if splice.jump > 0 {
      statistics.removedSamplesForAcceleration += UInt64(splice.jump)
      return .accelerate
    }
    statistics.insertedSamplesForDeceleration += UInt64(-splice.jump)
    return .preemptiveExpand
  }

  /// By how much more than usual the next packet is late, in samples, when it is the last one
  /// that keeps the sound going.
  private var overdue: Int {
    guard estimator.targetDelay > Self.noBridge else { return 0 }
    let frame = AudioFormat.nanoseconds(samples: Int64(lastPacketSampleCount))
    let awaited = newestArrival &+ frame &+ estimator.usualLateness
    return Int(clamping: AudioFormat.samples(nanoseconds: max(0, clock.time &- awaited)))
  }

  private mutating func record(wait: Int64, count: Int) {
    statistics.delays.record(nanoseconds: wait)
    statistics.jitterBufferDelay += Double(wait) * Double(count)
    statistics.jitterBufferEmittedCount += UInt64(count)
  }

  private mutating func account(for output: borrowing MutableSpan<Int16>) {
    let count = AudioFormat.stepSampleCount
    statistics.totalSamplesReceived += UInt64(count)
    var sum: Int64 = 0
    for index in 0..<(count * channels) {
      let sample = Int64(output[index])
      sum &+= sample &* sample
    }
    let square = Double(sum) / Double(count * channels) / (32_768 * 32_768)
    statistics.audioLevel = square.squareRoot()
    statistics.totalAudioEnergy += square * 0.01
  }

  /// One second.
  private static let hopeless: Int64 = 1_000_000_000
  /// 60 ms of concealment by the codec; after that it only hums.
  private static let fadeAfterSampleCount = 2880
  /// 3 ms for the way from the socket to the buffer.
  private static let margin: Int64 = 3_000_000
  /// 60 ms: with less in the buffer a freeze is over, or heard, before it is noticed.
  private static let noBridge: Int64 = 60_000_000
}
