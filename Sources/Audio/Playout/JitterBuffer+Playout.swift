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
    if certainPullCount == 0 { lastPull = Self.clamped(now) }
    pullsSinceSplice = min(pullsSinceSplice + 1, Self.pullsUntilCalm)
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
    passiveBefore = isQuiet ? min(passiveBefore + AudioFormat.pullSampleCount, 1 << 40) : 0
    queue.take(frames: AudioFormat.pullSampleCount, into: &output)
    countConcealed()
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
    guard surplus >= Self.worthLookingAhead, concealed == 0 else { return }
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

  /// How much later than its target `entry` is needed at the earliest, in nanoseconds: now, or in
  /// the pull in which what waits ends.
  func excess(of entry: PacketBuffer.Entry) -> Int64 {
    let whole = queue.count - queue.count % AudioFormat.pullSampleCount
    let needed = clock.time &+ AudioFormat.nanoseconds(samples: Int64(whole))
    let media = AudioFormat.nanoseconds(samples: entry.timestamp)
    let early = earliness(of: queue.count / AudioFormat.pullSampleCount)
    return needed &- media &- estimator.targetTransit &- early &- Self.margin
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
    let follows = concealed > 0
    let spare = takeBack()
    excess &-= AudioFormat.nanoseconds(samples: Int64(spare))
    if follows, entry.timestamp == nextTimestamp {
      statistics.delayedPacketOutageSamples += UInt64(concealed)
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
    endConcealment()
    lastPacketSampleCount = count
    record(entry, wait: ahead &- entry.arrival, count: count)
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
      let count = try? queue.append(  // A failure adds to `concealmentEvents`.
        restoring: sampleCount, before: entry, of: packets, with: &decoder, through: &fader,
        noise: &background)
    else { return conceal() }
    endConcealment()
    noteInBandRepair(entry.timestamp &- Int64(sampleCount))
    statistics.packetsRecoveredByForwardErrorCorrection += 1
    statistics.samplesRecoveredByForwardErrorCorrection += UInt64(count)
    return .forwardErrorCorrection
  }

  /// 10 ms: of less the codec makes something else than the beginning of more.
  private mutating func conceal() -> PlayoutOperation {
    let step = AudioFormat.stepSampleCount
    if concealed == 0 {
      statistics.concealmentEvents += 1
      levelBefore = queue.energy(from: queue.count - step, frames: step)
      decoder.keep()
    }
    let target = concealed >= Self.fadeAfterSampleCount ? 0 : Fader.full
    guard !fader.isSilent,
      let count = try? queue.append(  // A failure adds to `silentConcealedSamples`.
        concealing: step, with: &decoder, through: &fader, towards: target,
        noise: &background)
    else { return staySilent() }
    tally(concealed: count)
    return .expand
  }

  private mutating func staySilent() -> PlayoutOperation {
    let pull = AudioFormat.pullSampleCount
    queue.append(noiseFrames: pull, from: &background)
    statistics.silentConcealedSamples += UInt64(pull)
    tally(concealed: pull)
    return .silence
  }

  private mutating func tally(concealed count: Int) {
    if concealed < Self.interruption, concealed + count >= Self.interruption {
      statistics.interruptionCount += 1
      statistics.totalInterruptionSamples += UInt64(concealed)
    }
    concealed = min(concealed + count, 1 << 40)
    if concealed >= Self.interruption { statistics.totalInterruptionSamples += UInt64(count) }
  }

  /// Counts what was made up when it is played: what comes late may take the place of the rest.
  private mutating func countConcealed() {
    let played = max(counted, concealed - unplayed)
    statistics.concealedSamples += UInt64(played - counted)
    counted = played
  }

  /// What was made up is played to its end.
  mutating func endConcealment() {
    statistics.concealedSamples += UInt64(max(0, concealed - counted))
    concealed = 0
    counted = 0
  }

  /// Moves the delay towards its target by a splice at the head of the queue, where that will not
  /// be heard.
  private mutating func stretch(
    excess: Int64, leftover: Int, decoded: Int, follows: Bool
  ) -> PlayoutOperation? {
    let isPassive = noise.isPassive(energy: queue.energy(last: decoded))
    if isPassive, !follows { queue.teach(&background, frames: decoded) }
    if !isPassive {
      estimator.noteSaid(delay: excess &+ estimator.targetDelay, count: decoded)
    }
    var situation = stretchSituation(excess: excess, leftover: leftover, decoded: decoded)
    situation.isMerge = follows
    passiveRun = isPassive ? min(passiveRun + decoded, 1 << 40) : 0
    if surplus > 0, cutPause(excess: situation.excess) { return .accelerate }
    situation.isPassive = isPassive
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
      surplus = max(0, surplus - splice.jump)
      return .accelerate
    }
    // A pause may be over with the next packet: what is wanted more is put in at once.
    let length = -splice.jump
    var inserted = length
    let wanted = isPassive ? min(-situation.excess, Self.mostPauseAtOnce) : 0
    while inserted + length <= wanted, queue.hasRoom {
      queue.splice(jump: splice.jump, overlap: splice.overlap)
      inserted += length
    }
    statistics.insertedSamplesForDeceleration += UInt64(inserted)
    return .preemptiveExpand
  }

  /// How the delay stands to its target, now and for how long.
  private mutating func stretchSituation(
    excess: Int64, leftover: Int, decoded: Int
  ) -> StretchSituation {
    var situation = StretchSituation()
    situation.excess = Int(clamping: AudioFormat.samples(nanoseconds: excess))
    let ahead = leftover / AudioFormat.pullSampleCount
    let change = earliness(of: ahead) &- earliness(of: ahead + 1)
    situation.gainByOne = Int(clamping: AudioFormat.samples(nanoseconds: change))
    situation.leftover = leftover % AudioFormat.pullSampleCount
    situation.passiveRun = passiveRun
    situation.pullsSinceLast = pullsSinceSplice
    situation.mayWait = estimator.isInsuring
    situation.target = Int(clamping: AudioFormat.samples(nanoseconds: estimator.targetDelay))
    surplus = estimator.isStallNear(at: clock.time) ? 0 : policy.surplus(situation)
    hasteSince = surplus >= StretchPolicy.noticeable ? min(hasteSince + 1, 1 << 40) : 0
    situation.haste = hasteSince * decoded
    shortage = policy.isShort(situation) ? min(shortage + decoded, 1 << 40) : 0
    situation.shortage = shortage
    return situation
  }

  /// How much of the surplus to cut from a pause. Where a path keeps time, a pull or little more is
  /// cut in halves, the second once the delay has grown again, or a quarter of a minute later: so a
  /// clock that drifts moves the delay by little more than a pull.
  private func cuttable(excess: Int) -> Int {
    let step = AudioFormat.pullSampleCount
    let isCalm = estimator.targetDelay < AudioFormat.pullNanoseconds
    guard isCalm, surplus < 2 * step else { return surplus }
    let isDue = pullsSinceSplice >= (excess >= step / 2 ? Self.pullsBetween : Self.pullsUntilCalm)
    return isDue ? min(surplus, step / 2) : 0
  }

  /// Shortens a pause, if one is in sight.
  private mutating func cutPause(excess: Int) -> Bool {
    guard surplus >= StretchPolicy.worthwhile,
      let pause = Pause.longest(in: queue, threshold: noise.threshold)
    else { return false }
    // What was heard of the pause before counts to its length.
    let before = pause.start == 0 ? passiveBefore : 0
    let length = policy.cut(
      pause: pause.count, before: before, surplus: cuttable(excess: excess),
      mayWait: estimator.isInsuring)
    guard length > 0 else { return false }
    let overlap = min(480, (pause.count - length) / 2)
    queue.cut(length, at: pause.start + (pause.count - length - overlap) / 2, overlap: overlap)
    statistics.removedSamplesForAcceleration += UInt64(length)
    surplus -= length
    pullsSinceSplice = 0
    return true
  }

  /// One second.
  private static let hopeless: Int64 = 1_000_000_000
  /// 60 ms of concealment by the codec; after that it only hums.
  private static let fadeAfterSampleCount = 2880
  /// 3 ms for the way from the socket to the buffer.
  private static let margin: Int64 = 3_000_000
  /// 150 ms.
  private static let interruption = 7200
  /// 60 ms.
  private static let mostPauseAtOnce = 2880
  /// Five seconds, and fifteen: no longer one is counted.
  private static let pullsBetween = 1000
  private static let pullsUntilCalm = 3000
  /// 30 ms.
  private static let worthLookingAhead = 1440
  /// 150 ms.
  private static let longestView = 7200
}
