package import Primitives

/// The outgoing side: one pull, 5 ms.
extension JitterBuffer {
  /// Gives exactly 5 ms of sound, whatever has or has not come.
  ///
  /// - Parameters:
  ///   - output: at least 240 samples for each channel, interleaved; the first that many are
  ///     written.
  ///   - now: when the caller pulls; twice at once every 10 ms will do.
  @_lifetime(output: copy output)
  package mutating func pull(
    into output: inout MutableSpan<Int16>, now: Instant
  ) -> PlayoutOperation {
    recording?.pull(now: Self.clamped(now))
    clock.tick(now: Self.clamped(now))
    if certainPullCount == 0 { arrivals.lastPull = Self.clamped(now) }
    balance.countPull()
    excusePause()
    var operation = PlayoutOperation.normal
    switch phase {
    case .idle:
      operation = fillWithoutPackets()
    case .buffering(let start) where clock.time &- clock.earliness(ahead: 0) < start:
      operation = fillWithoutPackets()
    case .buffering:
      phase = .playing
      skipBacklog()
      operation = fill()
    case .playing: operation = fill()
    }
    let isQuiet = noise.threshold >= queue.energy(from: 0, frames: AudioFormat.pullSampleCount)
    balance.countHeard(isQuiet: isQuiet)
    queue.dequeue(frames: AudioFormat.pullSampleCount, into: &output)
    concealment.countPlayed(unplayed: unplayed, &statistics)
    if hasStarted { account(for: output) }
    return operation
  }

  /// Makes sure that 5 ms wait in the queue.
  private mutating func fill() -> PlayoutOperation {
    var operation = PlayoutOperation.normal
    // Each turn adds samples or discards a packet; 2.5 ms packets need two turns.
    var turns = PacketBuffer.capacity
    while queue.count < AudioFormat.pullSampleCount || canReturn, turns > 0 {
      turns -= 1
      operation = produce()
    }
    lookAhead()
    return operation
  }

  /// Playout begins with the newest packet whose time has come: what piled up before the first pull
  /// would be delay that only time compression takes away again.
  private mutating func skipBacklog() {
    while packets.count > 1, let first = packets.first,
      excess(of: first) >= AudioFormat.nanoseconds(samples: Int64(first.packet.sampleCount))
    {
      packets.removeFirst()
      statistics.packetsDiscarded += 1
    }
    if let first = packets.first { nextTimestamp = first.timestamp }
  }

  /// Decodes further, to see pauses come, while there is more delay than wanted.
  private mutating func lookAhead() {
    guard balance.surplus >= Self.worthLookingAhead, concealment.sampleCount == 0 else { return }
    while queue.count < Self.longestView, let first = packets.first,
      first.timestamp == nextTimestamp
    {
      let operation = decode(first)
      guard operation == .normal || operation == .accelerate else { return }
    }
  }

  /// Between two time lines what was heard last fades; before the first there is silence.
  private mutating func fillWithoutPackets() -> PlayoutOperation {
    guard statistics.jitterBufferEmittedCount > 0 else { return .silence }
    var operation = PlayoutOperation.silence
    while queue.count < AudioFormat.pullSampleCount { operation = conceal() }
    return operation
  }

  private var hasStarted: Bool { phase != .idle || statistics.totalSamplesReceived > 0 }

  private mutating func produce() -> PlayoutOperation {
    dropOutlived()
    let first = packets.first
    var situation = PlayoutSituation(concealed: concealment.sampleCount, isMuted: fader.isSilent)
    if let first, let last = packets.last {
      situation.describe(first, last, from: nextTimestamp, excess: excess(of: first))
      situation.isShortOfRepair = arrivals.estimator.isShortOfRepair(excess: situation.excess)
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

  /// How much later than its target `entry` is needed at the earliest, in nanoseconds: now, or in
  /// the pull in which what waits ends.
  func excess(of entry: PacketBuffer.Entry) -> Int64 {
    let whole = queue.count - queue.count % AudioFormat.pullSampleCount
    let needed = clock.time &+ AudioFormat.nanoseconds(samples: Int64(whole))
    let media = AudioFormat.nanoseconds(samples: entry.timestamp)
    let early = earliness(of: queue.count / AudioFormat.pullSampleCount)
    return needed &- media &- arrivals.estimator.targetTransit &- early &- Self.margin
  }

  /// How early the pull may come in which a packet is needed, `ahead` pulls from now, in
  /// nanoseconds. Packets of one pull are needed by all of them.
  private func earliness(of ahead: Int) -> Int64 {
    lastPacketSampleCount <= AudioFormat.pullSampleCount
      ? clock.mostEarliness : clock.earliness(ahead: ahead)
  }

  /// Packets that overlap what was decoded, and all that would be more than a second too late.
  private mutating func dropOutlived() {
    while let first = packets.first {
      let isOutlived = first.timestamp < nextTimestamp
      guard isOutlived || (packets.count > 1 && excess(of: first) > Self.hopeless) else { return }
      if !isOutlived { nextTimestamp = first.end }
      discardFirst()
      if isOutlived { statistics.packetsDiscardedLate += 1 }
    }
  }

  private mutating func decode(_ entry: PacketBuffer.Entry) -> PlayoutOperation {
    var excess = excess(of: entry)
    let follows = concealment.sampleCount > 0
    let spare = takeBack()
    excess &-= AudioFormat.nanoseconds(samples: Int64(spare))
    if follows, entry.timestamp == nextTimestamp {
      statistics.delayedPacketOutageSamples += UInt64(concealment.sampleCount)
    }
    let isLate = follows && entry.timestamp == nextTimestamp && !entry.isMarked
    passOver(until: entry.timestamp, isPause: entry.isMarked)
    if isLate, resume(excess: excess, spare: spare) { return .merge }
    let leftover = queue.count
    let ahead = AudioFormat.nanoseconds(samples: Int64(leftover))
    let count: Int
    do throws(OpusError) {
      count = try queue.append(
        decoding: entry, of: packets, with: &decoder, through: &fader, noise: &background)
    } catch {
      statistics.packetsMalformed += 1
      packets.removeFirst()
      nextTimestamp = entry.end
      return conceal()
    }
    packets.removeFirst()
    nextTimestamp = entry.timestamp &+ Int64(count)
    concealment.end(&statistics)
    lastPacketSampleCount = count
    record(entry, wait: ahead &- entry.arrival, count: count)
    arrivals.slack =
      excess &+ arrivals.estimator.targetDelay &- arrivals.estimator.usualLateness &+ Self.margin
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
      let count = try? queue.append(  // A failure adds to `concealmentEvents`.
        restoring: sampleCount, before: entry, of: packets, with: &decoder, through: &fader,
        noise: &background)
    else { return conceal() }
    concealment.end(&statistics)
    arrivals.noteInBandRepair(entry.timestamp &- Int64(sampleCount))
    statistics.fates = arrivals.ledger.fates
    statistics.packetsRecoveredByForwardErrorCorrection += 1
    statistics.samplesRecoveredByForwardErrorCorrection += UInt64(count)
    return .forwardErrorCorrection
  }

  /// 10 ms: of less the codec makes something else than the beginning of more.
  private mutating func conceal() -> PlayoutOperation {
    let step = AudioFormat.stepSampleCount
    if concealment.sampleCount == 0 {
      concealment.begin(&statistics)
      concealment.levelBefore = queue.energy(from: queue.count - step, frames: step)
      decoder.keep()
    }
    let target = concealment.sampleCount >= Self.fadeAfterSampleCount ? 0 : Fader.full
    guard !fader.isSilent,
      let count = try? queue.append(  // A failure adds to `silentConcealedSamples`.
        concealing: step, with: &decoder, through: &fader, towards: target,
        noise: &background)
    else { return staySilent() }
    concealment.add(count, &statistics)
    return .expand
  }

  private mutating func staySilent() -> PlayoutOperation {
    let pull = AudioFormat.pullSampleCount
    queue.append(noiseFrames: pull, from: &background)
    if concealment.isCounting { statistics.silentConcealedSamples += UInt64(pull) }
    concealment.add(pull, &statistics)
    return .silence
  }

  /// Moves the delay towards its target by a splice at the head of the queue, where that will not
  /// be heard.
  private mutating func stretch(
    excess: Int64, leftover: Int, decoded: Int, follows: Bool
  ) -> PlayoutOperation? {
    let isPassive = noise.isPassive(energy: queue.energy(last: decoded))
    if isPassive, !follows { queue.teach(&background, frames: decoded) }
    if !isPassive {
      arrivals.estimator.noteSaid(delay: excess &+ arrivals.estimator.targetDelay, count: decoded)
    }
    let ahead = leftover / AudioFormat.pullSampleCount
    let measures = DelayBalance.Measures(
      excess: excess, gainByOne: earliness(of: ahead) &- earliness(of: ahead + 1),
      target: arrivals.estimator.targetDelay, leftover: leftover, decoded: decoded,
      isPassive: isPassive, pauseThreshold: noise.threshold, isMerge: follows,
      isInsuring: arrivals.estimator.isInsuring,
      isStallNear: arrivals.estimator.isStallNear(at: clock.time))
    return balance.adjust(&queue, measures, &statistics)
  }

  /// One second.
  private static let hopeless: Int64 = 1_000_000_000
  /// 60 ms of concealment by the codec; after that it only hums.
  private static let fadeAfterSampleCount = 2880
  /// 3 ms for the way from the socket to the buffer.
  private static let margin: Int64 = 3_000_000
  /// 30 ms.
  private static let worthLookingAhead = 1440
  /// 150 ms.
  private static let longestView = 7200
}
