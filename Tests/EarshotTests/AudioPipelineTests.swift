import Audio
import Primitives
import Synchronization
import Testing
import Wire

@testable import Earshot

/// The audio of both ends, without network or threads.
@Suite struct AudioPipelineTests {
  private static func losses(_ fraction: Double, seed: UInt64) -> [Bool] {
    var random = RandomSource(seed: seed)
    return (0..<10_000).map { _ in random.unit() < fraction }
  }

  @Test func `tells when audio becomes bad, why, and when it is good again`() throws {
    var pair = try PipelinePair.make()
    pair.run(seconds: 8)
    #expect(pair.changes.isEmpty)
    // Runs of ten, which no copy spans.
    pair.run(seconds: 8) { $0 % 50 < 20 }
    pair.run(seconds: 12)
    let changes = pair.changes
    #expect(changes.map(\.isBad) == [true, false])
    let first = try #require(changes.first)
    #expect(first.reason == .loss && first.mos < 3)
    #expect((0.2...0.6).contains(first.lostFraction), "\(first)")
    #expect(first.concealedFraction > 0.05)
    // 20 ms of frame, 6.5 of look-ahead, 10 of way, and the buffer.
    #expect((40...400).contains(try #require(first.mouthToEarMs)), "\(first)")
    #expect(changes.last?.reason == nil)
    let account: AudioAccount = pair.received.account
    #expect(account.cause == nil)
  }

  @Test func `says that the line carries too little where a queue grows`() throws {
    var pair = try PipelinePair.make()
    pair.run(seconds: 7)
    pair.run(seconds: 4, rate: 40_000)
    #expect(pair.changes.map(\.isBad) == [true])
    #expect(pair.changes.first?.reason == .bandwidth, "\(pair.changes)")
  }

  @Test(arguments: [3, 7, 11])
  func `says that the far end is silent only where it is heard of`(tenths: Int) throws {
    for isHeard in [true, false] {
      var pair = try PipelinePair.make()
      pair.run(seconds: 6)
      // The silence begins anywhere in a window.
      pair.run(seconds: 1) { $0 >= tenths * 4 }
      pair.run(seconds: 4, isHeard: isHeard) { _ in true }
      #expect(pair.changes.map(\.isBad) == [true])
      let first = try #require(pair.changes.first)
      #expect(first.reason == (isHeard ? .farEnd : .loss), "\(tenths) \(first)")
    }
  }

  @Test func `counts what webrtc-stats has names for`() throws {
    let lost = Self.losses(0.1, seed: 3)
    var pair = try PipelinePair.make()
    pair.run(seconds: 20) { lost[$0] }
    let details = AudioDetails(pair.received, now: nil, headerBytesSent: 1234)
    let inbound = details.inbound
    #expect(inbound.lastPacketReceivedTimestamp == nil)
    #expect(inbound.fecPacketsReceived > 500 && inbound.fecBytesReceived > 20_000)
    #expect(inbound.fecPacketsDiscarded < inbound.fecPacketsReceived)
    #expect(inbound.jitterBufferEmittedCount > 800_000)
    #expect(inbound.jitterBufferDelay > inbound.jitterBufferMinimumDelay)
    #expect(inbound.totalProcessingDelay > inbound.jitterBufferDelay)
    #expect((19...20).contains(inbound.totalSamplesDuration))
    #expect(inbound.totalAudioEnergy > 0)
    #expect(details.outbound.headerBytesSent == 1234 && details.outbound.active)
    let quality = details.quality
    // A tenth is lost and nearly all of it repaired: little is missing.
    let concealedMs = Int(pair.received.playout.concealedSamples / 48)
    #expect(quality.activeMs >= 18_000 && quality.frozenMs <= concealedMs && concealedMs < 1000)
    #expect(try #require(quality.worstFiveSeconds).mos <= #require(quality.meanMos))

    // What the receiver lost the sender knows from reports, a second late at most.
    let spoken = AudioDetails(pair.sent, now: nil, headerBytesSent: 0)
    let remote = try #require(spoken.remote)
    #expect((70...130).contains(remote.packetsLost), "\(remote)")
    #expect(remote.fractionLost <= 1 && remote.jitterBufferTarget > 0)
    #expect(spoken.outbound.targetBitrate > 32_000)
    #expect((0.1...0.3).contains(spoken.outbound.audioLevel))
    #expect((19.9...20.1).contains(spoken.outbound.totalSamplesDuration))
  }

  /// Method: the line says what it dropped; the receiver and the sender's knowledge of it are
  /// asked.
  @Test(arguments: [0, 0.02, 0.1, 0.35]) func `sender, line and receiver count the same`(
    share: Double
  ) throws {
    let seed: UInt64 = 17
    let lost = Self.losses(share, seed: seed)
    var pair = try PipelinePair.make()
    pair.run(seconds: 5)
    var (offered, dropped) = (0, 0)
    pair.run(seconds: 20) { number in
      offered += 1
      if lost[number] { dropped += 1 }
      return lost[number]
    }
    pair.run(seconds: 2)
    var numbers = CallStatistics(atMs: 27_000)
    numbers.complete(with: pair.received, bitrate: 32_000, now: nil)
    let received = numbers.received
    #expect(offered == 1000 && received.packetsLost == dropped, "seed \(seed)")
    #expect(abs(received.packetsReceived + received.packetsLost - 27 * 50) <= 2)
    let repaired = received.recoveredByFec + received.recoveredByRetransmission
    #expect(repaired + received.residualLost == received.packetsLost)
    #expect(received.residualLostFraction <= received.lostFraction)
    if share == 0.1 { #expect(received.recoveredByFec > received.packetsLost * 8 / 10) }
    // The other side knows it from reports: of the newest seconds not yet.
    let remote = try #require(AudioDetails(pair.sent, now: nil, headerBytesSent: 0).remote)
    #expect(remote.packetsLost == dropped && remote.packetsExpected <= 27 * 50)
    #expect(remote.residualLost == received.residualLost)
  }

  @Test func `fills Agora's set`() throws {
    var pair = try PipelinePair.make()
    pair.run(seconds: 10)
    var received = CallStatistics.Inbound()
    received.bitrateBps = 31_000
    let stats = RemoteAudioStats(pair.received, received, network: 20)
    #expect(stats.quality == 1 && stats.mosValue > 400 && stats.qualityChangedReason == nil)
    #expect(stats.receivedBitrate == 31 && stats.numChannels == 1)
    #expect(stats.e2eDelay == 20 + 26.5 + stats.delay.jitterBuffer)
    #expect(RemoteAudioStats(pair.received, received, network: nil).e2eDelay == 0)
  }

  @Test func `hears a call again, bit for bit, and otherwise with other settings`() throws {
    let lost = Self.losses(0.15, seed: 5)
    var pair = try PipelinePair.make()
    pair.run(seconds: 6) { lost[$0] }
    pair.setMuted(true)
    pair.run(seconds: 2)
    pair.setMuted(false)
    pair.run(seconds: 4) { lost[$0] }
    pair.finish()
    #expect(pair.arrivals.isFinished)
    let heard = pair.ear.heard.withLock { $0 }
    #expect(heard.count == 12 * 48_000)
    #expect(pair.received.requested > 0 || pair.received.repairedByCopies > 0)

    let recording = pair.arrivals.bytes
    let again = try Self.hear(recording)
    #expect(again.samples == heard)
    #expect(again.statistics.received.concealedSamples == pair.received.playout.concealedSamples)
    #expect(again.statistics.received.mos != nil && again.statistics.audio != nil)

    var settings = CallReplay.Settings()
    settings.usesCopies = false
    settings.usesRetransmissions = false
    let bare = try Self.hear(recording, settings)
    #expect(bare.samples.count == heard.count)
    #expect(bare.statistics.received.concealedSamples > 10_000)
    settings = CallReplay.Settings()
    settings.leastDelayMs = 150
    let late = try Self.hear(recording, settings)
    let wait = try #require(late.statistics.received.jitterBufferDelayMs).p50
    #expect(wait >= 140, "\(wait)")
  }

  /// Goal: the first sample is heard within a round trip and 70 ms after the first packet was sent,
  /// and in the first two seconds nothing is made up, and no more than a pull spliced away.
  @Test func `begins at once, and clean`() throws {
    var pair = try PipelinePair.make()
    pair.run(seconds: 2)
    let heard = pair.ear.heard.withLock { $0 }
    let first = try #require(heard.firstIndex { abs(Int($0)) > 300 })
    // The two ends' first ticks are 3 ms apart, and the first packet leaves in the first one.
    let milliseconds = Double(first) / 48 + 3
    #expect(milliseconds <= 40 + 70, "\(milliseconds) ms")
    let playout = pair.received.playout
    #expect(playout.concealedSamples == 0)
    #expect(playout.insertedSamplesForDeceleration == 0)
    #expect(playout.removedSamplesForAcceleration <= 480)
  }

  /// A narrow line makes frames longer: they begin when their last sample is there.
  @Test func `asks a microphone for nothing that it has not captured yet`() throws {
    let microphone = Microphone()
    var pair = try PipelinePair.make(microphone)
    pair.run(seconds: 2)
    pair.allowedKilobits = 25
    pair.run(seconds: 4)
    #expect(microphone.longestRead == 2880 && microphone.shortReads == 0)
    pair.allowedKilobits = 511
    pair.run(seconds: 12)
    #expect(microphone.shortReads == 0)
    #expect(pair.sent.sent.framesSent > 600)
  }

  /// The pipeline of a call is the engine and nothing beside it: the same frames lost, the same
  /// samples heard, the same frames asked for.
  @Test(arguments: [UInt64(3), 9]) func `hears what the engine alone gives`(seed: UInt64) throws {
    let lost = Self.losses(0.2, seed: seed)
    var pair = try PipelinePair.make()
    pair.run(seconds: 8) { lost[$0] }
    let engines = try Self.listen(seconds: 8) { lost[$0] }
    let heard = pair.ear.heard.withLock { $0 }
    #expect(engines.heard == heard && heard.contains { abs(Int($0)) > 4000 }, "seed \(seed)")
    #expect(engines.requested == pair.received.requested)
    #expect(engines.repaired == pair.received.repairedByCopies && engines.repaired > 40)
  }

  /// Goal: while nothing is lost the media thread wakes for frames to send and for packets to
  /// decode, 100 times a second; what is heard is what a visit every 5 ms gives, to the bit. There
  /// are no copies: a report that leaves 5 ms later would end them one frame later.
  @Test func `wakes for what must be decided, and plays the same`() throws {
    var pair = try PipelinePair.make(usesCopies: false)
    pair.run(seconds: 4)
    let before = pair.receiverVisits
    pair.run(seconds: 4)
    #expect(pair.receiverVisits - before <= 4 * 100 + 4, "\(pair.receiverVisits - before)")
    var settings = AudioEngine.Settings()
    settings.makesCopies = false
    settings.encoder.usesForwardErrorCorrection = false
    let engines = try Self.listen(settings, seconds: 8, isVisitedAlways: true) { _ in false }
    let heard = pair.ear.heard.withLock { $0 }
    #expect(heard.count >= 8 * 48_000 && heard.contains { abs(Int($0)) > 4000 })
    #expect(engines.heard.prefix(8 * 48_000) == heard.prefix(8 * 48_000))
  }

  /// Two engines on the line of `PipelinePair`.
  private static func listen(
    _ settings: AudioEngine.Settings = AudioEngine.Settings(), seconds: Int,
    isVisitedAlways: Bool = false, isLost: (Int) -> Bool
  ) throws -> (heard: [Int16], requested: UInt64, repaired: UInt64) {
    var speaker = try AudioEngine(settings)
    var listener = try AudioEngine(settings)
    let tones = [Tone(), Tone()]
    var (heard, number): ([Int16], Int) = ([], 0)
    var queues: [[Body]] = [[], []]
    var ahead = [0, 0]
    for tick in 1...(seconds * 200) {
      let now = UInt64(1_000_000_000 + tick * 5_000_000)
      ahead = ahead.map { isVisitedAlways ? 0 : $0 - 1 }
      if ahead[0] <= 0 {
        let own = Instant(nanoseconds: now)
        let visit = try visit(&speaker, tones[0], queues[0], own, isVisitedAlways)
        ahead[0] = 1 + visit.ahead
        queues[0] = []
      }
      if ahead[1] <= 0 {
        let later = Instant(nanoseconds: now + 3_000_000)
        let visit = try visit(&listener, tones[1], queues[1], later, isVisitedAlways)
        ahead[1] = 1 + visit.ahead
        queues[1] = []
        heard += visit.samples
      }
      let arrival = Instant(nanoseconds: now + 10_000_000)
      queues[1] += poll(&speaker, arrival).filter { body in
        guard body.header.kind == .frame else { return true }
        number += 1
        return !isLost(number - 1)
      }
      queues[0] += poll(&listener, arrival)
    }
    return (
      heard, listener.receiver.framesRequested, listener.receiver.framesRepairedByCopies
    )
  }

  private struct Body {
    var header: AudioBodyHeader
    var bytes: [UInt8]
    var arrival: Instant
  }

  /// One visit, and what it does ahead, unless it is to do nothing so.
  private static func visit(
    _ engine: inout AudioEngine, _ tone: Tone, _ arrived: [Body], _ now: Instant,
    _ isAlone: Bool = false
  ) throws -> (samples: [Int16], ahead: Int) {
    for body in arrived {
      try engine.receive(
        body.bytes.span, body.header, arrival: body.arrival,
        PathConditions(roundTrip: (40_000_000, 40_000_000)), now: now)
    }
    engine.tick(now: now)
    var step = [Int16](repeating: 0, count: 240)
    pull(&engine, &step, now)
    var samples = step
    let wanted = engine.wantedSampleCount
    if wanted > 0 {
      var frame = [Int16](repeating: 0, count: wanted)
      _ = tone.read(into: &frame, frameCount: wanted)
      try engine.capture(frame.span, channels: 1)
    }
    let ahead = isAlone ? 0 : engine.certainTickCount(hasSource: true)
    for tick in 0..<ahead {
      let due = now + .milliseconds(5 * Int64(tick + 1))
      engine.tick(now: due)
      pull(&engine, &step, due)
      samples += step
    }
    return (samples, ahead)
  }

  private static func pull(_ engine: inout AudioEngine, _ step: inout [Int16], _ now: Instant) {
    var span = step.mutableSpan
    _ = engine.pull(into: &span, now: now)
  }

  private static func poll(_ engine: inout AudioEngine, _ arrival: Instant) -> [Body] {
    var bodies: [Body] = []
    while true {
      var bytes: [UInt8] = []
      var header: AudioBodyHeader?
      bytes.append(addingCapacity: 1275) { header = engine.pollTransmit(into: &$0) }
      guard let header else { return bodies }
      bodies.append(Body(header: header, bytes: bytes, arrival: arrival))
    }
  }

  @Test func `refuses what is no recording`() {
    #expect(throws: EarshotError.self) { _ = try CallReplay([1, 2, 3]) }
    #expect(throws: EarshotError.self) { _ = try Self.hear(Array("ESAR".utf8) + [1, 1, 0, 2, 77]) }
  }

  private static func hear(
    _ recording: [UInt8], _ settings: CallReplay.Settings = CallReplay.Settings()
  ) throws -> (samples: [Int16], statistics: CallStatistics) {
    var replay = try CallReplay(recording, settings: settings)
    var samples = [Int16](repeating: 0, count: 960)
    var heard: [Int16] = []
    while try replay.read(into: &samples) { heard += samples.prefix(240) }
    #expect(replay.milliseconds == heard.count / 48)
    return (heard, replay.statistics)
  }
}
