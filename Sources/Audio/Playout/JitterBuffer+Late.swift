import Primitives

/// Going on with what came after its turn.
extension JitterBuffer {
  /// Goes on with a packet that came late, as if nothing had been made up in its place: from the
  /// decoder's state of before.
  ///
  /// After a short wait it fades over to where the sound would be without the wait, so that the
  /// delay stays as it was; after a longer one what came late is played from its start, and the
  /// delay given back in pauses. In a pause the wait may be longer, and where stalls are expected:
  /// there the delay is as long as it may be already. Then, what is left to leave out decides and
  /// not how long the wait was: the first stall of a rhythm must not make the delay long for all
  /// the time to the second.
  ///
  /// - Parameters:
  ///   - excess: how much later than its target it would go on, in nanoseconds.
  ///   - spare: samples at the queue's end that were made up and not played, 0 or enough to fade.
  mutating func resume(excess: Int64, spare: Int) -> Bool {
    let pull = AudioFormat.pullSampleCount
    let skipped = skipBacklog()
    let late = Int(clamping: AudioFormat.samples(nanoseconds: max(0, excess)))
    let isCheap = balance.passiveRun > 0 || arrivals.estimator.isInsuring
    let isStall = arrivals.estimator.isInsuring && late >= Self.leastLeftOut
    let wait = isStall ? min(late, concealment.sampleCount) : concealment.sampleCount
    let isShort = wait <= (isCheap ? Self.longCatchUp : Self.shortCatchUp)
    var length = isShort ? min(late, concealment.sampleCount) / pull * pull : skipped
    let offset = queue.count - spare
    guard let overlap = spare > 0 ? join : appendJoin() else { return false }
    decoder.restore()
    let made = max(spare, overlap)
    while queue.count < offset + made + overlap + length, let next = packets.first,
      next.timestamp == nextTimestamp, queue.hasRoom
    {
      decodeOn(next)
    }
    length = max(0, min(length, queue.count - offset - made - overlap))
    if isShort, isOnset(from: offset + made, length) { length = 0 }
    queue.cut(made + length, at: offset, overlap: overlap)
    concealment.end(&statistics)
    balance.countSplice()
    return true
  }

  /// What the codec made up and no pull has played: it makes 10 ms at a time.
  var unplayed: Int { min(queue.count, concealment.sampleCount) }

  /// Whether a packet that came late can go on now, before what was made up for it is over.
  var canReturn: Bool {
    guard unplayed >= AudioFormat.pullSampleCount, !fader.isSilent, let first = packets.first,
      first.timestamp == nextTimestamp, !first.isMarked
    else { return false }
    // Where less delay is there than wanted, the rest of what was made up brings some.
    return excess(of: first) > AudioFormat.nanoseconds(samples: Int64(unplayed))
  }

  /// - Returns: how much of what was made up is not needed, in samples.
  mutating func takeBack() -> Int {
    guard canReturn else { return 0 }
    let spare = unplayed
    concealment.takeBack(spare)
    return spare
  }

  private var join: Int {
    lastPacketSampleCount < AudioFormat.stepSampleCount ? Self.shortestJoin : Self.join
  }

  /// Makes up as much as is needed to fade over.
  private mutating func appendJoin() -> Int? {
    try? queue.append(  // No fade; the next failure adds to `packetsMalformed`.
      concealing: join, with: &decoder, through: &fader, towards: fader.gain, noise: &background)
  }

  /// Whether what would be left out is much louder than what was heard before it: then it is where
  /// a sound begins, which is missed more than a delay that is longer until the next pause.
  private func isOnset(from offset: Int, _ length: Int) -> Bool {
    guard !arrivals.estimator.isInsuring, length <= Self.longestOnset else { return false }
    return queue.energy(from: offset, frames: length) > Self.muchLouder * concealment.levelBefore
  }

  /// After a stall that is longer than anyone would wait for: most of what it held up is left out,
  /// or the delay would stay long for seconds, or all that follows be hurried.
  ///
  /// - Returns: how much of what comes next only brings the decoder up to date, in samples.
  private mutating func skipBacklog() -> Int {
    guard let late = packets.first, excess(of: late) > Self.longestBacklog else { return 0 }
    while packets.count > 2, let first = packets.first, excess(of: first) > Self.keptBacklog {
      nextTimestamp = first.end
      discardFirst()
      statistics.packetsDiscardedLate += 1
    }
    guard let first = packets.first else { return 0 }
    nextTimestamp = first.timestamp
    return first.packet.sampleCount
  }

  /// Decodes `entry` behind what waits, and nothing else.
  private mutating func decodeOn(_ entry: PacketBuffer.Entry) {
    let ahead = AudioFormat.nanoseconds(samples: Int64(queue.count))
    let count = try? queue.append(  // A failure adds to `packetsMalformed`.
      decoding: entry, of: packets, with: &decoder, through: &fader, noise: &background)
    packets.removeFirst()
    nextTimestamp = entry.timestamp &+ Int64(count ?? entry.packet.sampleCount)
    guard let count else {
      statistics.packetsMalformed += 1
      return
    }
    lastPacketSampleCount = count
    record(entry, wait: ahead &- entry.arrival, count: count)
  }

  /// 350 ms, and 150 ms.
  private static let longestBacklog: Int64 = 350_000_000
  private static let keptBacklog: Int64 = 150_000_000
  /// 40 ms, and 130 ms.
  private static let shortCatchUp = 1920
  private static let longCatchUp = 6240
  /// 60 ms.
  private static let leastLeftOut = 2880
  /// 60 ms, and 10 dB.
  private static let longestOnset = 2880
  private static let muchLouder: Float = 10
  /// 5 ms, and 2.5 ms for frames below 10 ms.
  private static let join = 240
  private static let shortestJoin = 120
}
