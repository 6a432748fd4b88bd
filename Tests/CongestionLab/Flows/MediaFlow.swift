package import Congestion
import Primitives
import Wire

/// Audio and video from one end to the other, with the machines that ship: history, estimator and
/// pacer at the sender, the recorder at the receiver, and FEEDBACK as bytes on the way back.
package final class MediaFlow {
  let index: Int
  let spec: FlowSpec
  package let start: UInt64
  private(set) var estimator: BandwidthEstimator
  var keepsSeries = false
  package private(set) var series: [SeriesPoint] = []
  package private(set) var tally = MediaTally()
  private var history = SentPacketHistory(capacity: 8192)
  private var pacer: Pacer
  private var recorder = FeedbackRecorder()
  private var source: VideoSource
  private var nextNumber: UInt64 = 0
  private var pumpTime = UInt64.max
  private var reportTime = UInt64.max
  private var audioInterval: UInt64 = 20_000_000
  private var fallback: FallbackMachine
  private var hold = AudioHold()
  /// When the frames that are held were made.
  private var heldAudio: [UInt64] = []
  private var subscription: Subscription?

  init(_ index: Int, _ spec: FlowSpec, start: UInt64, random: inout RandomSource) {
    self.index = index
    self.spec = spec
    self.start = start
    var limits = EstimatorLimits()
    limits.tuning = spec.tuning
    limits.prior = spec.priorRate
    limits.weight = spec.weight
    limits.most = spec.hasVideo ? (spec.videoMost + spec.audioRate) * 1.1 : 200_000
    estimator = BandwidthEstimator(limits)
    estimator.insistentRate = spec.audioRate + Double(Self.overhead) * 400
    pacer = Pacer(rate: limits.start)
    if !spec.hasVideo { recorder.interval = FeedbackRecorder.audioInterval }
    let audio = spec.audioRate + Double(Self.overhead) * 400
    fallback = FallbackMachine(
      FallbackLimits(audio: audio, leastVideo: spec.videoLeast * 356 / 300))
    if spec.isAskedFor { subscription = Subscription(fallback.limits) }
    source = VideoSource(random: random.split())
  }

  func handle(_ event: LabEvent, in world: LabWorld) {
    switch event.kind {
    case .begin:
      world.schedule(.audio, flow: index, at: world.now)
      if spec.hasVideo { world.schedule(.frame, flow: index, at: world.now) }
      world.schedule(.senderTimer, flow: index, at: world.now + 10_000_000)
    case .frame: makeFrame(in: world)
    case .audio: makeAudio(in: world)
    case .pump:
      if event.time == pumpTime {
        pumpTime = .max
        pump(in: world)
      }
    case .report: if event.time == reportTime { report(in: world) }
    case .senderTimer: checkTimers(in: world)
    case .hop, .acknowledgement, .retransmission: break
    }
  }

  func finish() { tally.reserve = estimator.estimate }
  func noteAudioLost() { tally.audioLost += 1 }
  func noteOutage(_ byteCount: Int) { tally.outageBytes += byteCount }

  // MARK: Sender

  private func isPaused(_ time: UInt64) -> Bool {
    let seconds = Double(time) / 1e9
    if seconds >= spec.stop { return true }
    return spec.pauses.contains { $0.0 <= seconds && seconds < $0.1 }
  }

  private func makeAudio(in world: LabWorld) {
    world.schedule(.audio, flow: index, at: world.now + audioInterval)
    guard !isPaused(world.now) else { return }
    tally.audioSent += 1
    heldAudio.append(world.now)
    pump(in: world)
    let payload = Int(spec.audioRate * Double(audioInterval) / 8e9)
    pad(in: world, beside: payload + Self.overhead)
    pump(in: world)
  }

  private func releaseAudio(in world: LabWorld) {
    let now = Instant(nanoseconds: world.now)
    let payload = Int(spec.audioRate * Double(audioInterval) / 8e9)
    while let made = heldAudio.first {
      switch hold.verdict(queued: Instant(nanoseconds: made), now: now) {
      case .wait: return
      case .drop: tally.audioLost += 1
      case .send:
        enqueue(.audio, byteCount: payload + Self.overhead, in: world)
        hold.noteSent(now: now)
      }
      heldAudio.removeFirst()
    }
  }

  private func makeFrame(in world: LabWorld) {
    world.schedule(.frame, flow: index, at: world.now + VideoSource.interval)
    guard !isPaused(world.now), fallback.mode == .audioAndVideo,
      subscription?.isVideoWanted(at: world.now) ?? true
    else { return }
    // What already waits comes off; more than two frames of it, and this one is not encoded.
    let waiting = pacer.videoDelay
    guard waiting < 2 * VideoSource.interval else {
      tally.framesSkipped += 1
      return
    }
    let payloadShare = Double(packetPayload) / Double(packetPayload + Self.overhead)
    let room = (allowance(in: world) - audioLineRate) * payloadShare
    let correction = 1 - 0.5 * Double(waiting) / Double(VideoSource.interval)
    let rate = min(max(room * correction, spec.videoLeast), spec.videoMost)
    var left = source.nextFrame(rate: rate)
    let most = packetPayload
    let count = (left + most - 1) / most
    for place in 0..<count {
      let size = left / (count - place)
      left -= size
      enqueue(.video, byteCount: size + Self.overhead, in: world)
    }
    tally.frames += 1
    pump(in: world)
  }

  /// In audio-only, while the machine probes: up to the estimate, in packets as small as the audio.
  private func pad(in world: LabWorld, beside audio: Int) {
    guard let most = fallback.probeRate(now: Instant(nanoseconds: world.now)),
      pacer.isEmpty(.padding)
    else { return }
    let rate = min(most, estimator.estimate * 1.02)
    var left = Int(rate * Double(audioInterval) / 8e9) - audio
    while left > 60 {
      let size = min(left, 250)
      enqueue(.padding, byteCount: size, in: world)
      left -= size
    }
  }

  private func checkFallback(in world: LabWorld) {
    guard spec.fallsBack else { return }
    let now = Instant(nanoseconds: world.now)
    guard let change = fallback.update(estimator.sighting(now: now), now: now) else { return }
    tally.changes.append((Double(world.now) / 1e9, change))
    estimator.isElastic = change.mode == .audioAndVideo
    if change.mode == .audioOnly {
      pacer.removeAll(.video)
    } else {
      pacer.removeAll(.padding)
      source.restart()
    }
  }

  /// What it may use: its estimate, and of a shared uplink its share.
  private func allowance(in world: LabWorld) -> Double {
    guard spec.sharesUplink else { return estimator.estimate }
    return min(estimator.estimate, world.uplink.share(of: index))
  }

  /// What the endpoint's budget is told of this link.
  var uplinkLink: UplinkBudget.Link {
    var link = UplinkBudget.Link()
    link.estimate = estimator.estimate
    link.acknowledged = estimator.acknowledgedRate
    link.isQueued = estimator.isQueued
    let isAudioOnly = fallback.mode == .audioOnly || subscription?.isAsking == true
    link.demand = isAudioOnly ? audioLineRate * 2 : (spec.videoMost * 1.05 + audioLineRate)
    link.weight = spec.weight
    return link
  }

  private func enqueue(_ sendClass: SendClass, byteCount: Int, in world: LabWorld) {
    _ = pacer.enqueue(
      sendClass, byteCount: byteCount, token: UInt32(sendClass.rawValue),
      now: Instant(nanoseconds: world.now))
  }

  private var audioLineRate: Double {
    spec.audioRate + Double(Self.overhead) * 8e9 / Double(audioInterval)
  }

  /// Small packets where one of 1200 bytes would hold up the audio.
  private var packetPayload: Int {
    min(1_120, max(300, Int(estimator.estimate * 0.012 / 8)))
  }

  private func pump(in world: LabWorld) {
    let now = Instant(nanoseconds: world.now)
    releaseAudio(in: world)
    pacer.isProbed = hold.isProbing(now: now)
    let share = allowance(in: world) / max(estimator.estimate, 1)
    pacer.rate = estimator.pacingRate * share
    pacer.inFlightLimit = estimator.inFlightLimit
    while let packet = pacer.next(now: now, bytesInFlight: history.bytesInFlight) {
      transmit(packet, in: world)
    }
    let next = pacer.nextDeadline(now: now, bytesInFlight: history.bytesInFlight)
    if let next, next.nanoseconds < pumpTime {
      pumpTime = max(next.nanoseconds, world.now + 10_000)
      world.schedule(.pump, flow: index, at: pumpTime)
    }
  }

  private func transmit(_ paced: PacedPacket, in world: LabWorld) {
    history.record(
      SentPacket(
        number: nextNumber, sent: Instant(nanoseconds: world.now),
        byteCount: paced.byteCount - 28, elicitsFeedback: true, hasMessages: false))
    tally.sentBytes[Int(paced.sendClass.rawValue)] += paced.byteCount
    var packet = LabPacket()
    packet.flow = Int32(index)
    packet.content =
      switch paced.sendClass {
      case .audio: .audio
      case .padding: .padding
      default: .video
      }
    packet.isECT = spec.isECT
    packet.byteCount = paced.byteCount
    packet.number = nextNumber
    packet.sent = world.now
    nextNumber += 1
    world.send(packet)
  }

  private func checkTimers(in world: LabWorld) {
    world.schedule(.senderTimer, flow: index, at: world.now + 10_000_000)
    let now = Instant(nanoseconds: world.now)
    history.handleTimeout(now: now)
    while let outcome = history.poll() { estimator.handle(outcome) }
    estimator.handleTimeout(bytesInFlight: history.bytesInFlight, now: now)
    checkFallback(in: world)
    if let change = subscription?.update(at: world.now) {
      tally.changes.append((Double(world.now) / 1e9, change))
    }
    if spec.sharesUplink { world.uplink.note(self, at: world.now) }
    if keepsSeries { note(world.now) }
    pump(in: world)
  }

  private func note(_ time: UInt64) {
    series.append(
      SeriesPoint(
        time: time, estimate: estimator.estimate, acknowledged: estimator.acknowledgedRate,
        delay: estimator.standingDelay, state: "\(estimator.state)",
        reason: "\(estimator.reason)", inFlight: history.bytesInFlight,
        limit: estimator.inFlightLimit, waiting: Double(pacer.videoDelay) / 1e6))
  }

  // MARK: Receiver

  /// A packet is at its end: media at the receiver, a report at the sender.
  func receive(_ packet: LabPacket, in world: LabWorld) {
    if packet.isReverse { return takeReport(packet.bytes, in: world) }
    if packet.content == .audio { tally.audioReceived += 1 }
    subscription?.note(packet.number)
    tally.receivedBytes[Int(packet.content.rawValue)] += packet.byteCount
    recorder.record(
      packet.number, at: local(world.now), isCongestionExperienced: packet.isMarked,
      demand: .interval, byteCount: packet.byteCount)
    scheduleReport(in: world)
  }

  /// The receiver's clock.
  private func local(_ time: UInt64) -> Instant {
    Instant(nanoseconds: UInt64(Double(time) * (1 + spec.partsPerMillion / 1e6)) + 7_777_777_777)
  }

  private func scheduleReport(in world: LabWorld) {
    guard let deadline = recorder.nextDeadline else { return }
    let wait = deadline.nanoseconds(since: local(world.now))
    guard world.now + wait < reportTime else { return }
    reportTime = world.now + wait
    world.schedule(.report, flow: index, at: reportTime)
  }

  private func report(in world: LabWorld) {
    let now = local(world.now) + .microseconds(1)
    reportTime = .max
    guard recorder.isDue(now: now) else { return scheduleReport(in: world) }
    let bytes = [UInt8](capacity: 700) { output in
      _ = recorder.writeReport(into: &output, room: 600, now: now)
    }
    scheduleReport(in: world)
    guard !bytes.isEmpty else { return }
    var packet = LabPacket()
    packet.flow = Int32(index)
    packet.content = .report
    packet.isReverse = true
    packet.bytes = bytes
    packet.byteCount = bytes.count + 25 + 28
    tally.reportBytes += packet.byteCount
    world.send(packet)
  }

  private func takeReport(_ bytes: [UInt8], in world: LabWorld) {
    let now = Instant(nanoseconds: world.now)
    var reader = FrameReader(bytes.span)
    guard let frame = try? reader.next(), case .feedback(let feedback) = frame,
      (try? history.handle(feedback, in: bytes.span, now: now)) != nil
    else { return tally.badReports += 1 }
    while let outcome = history.poll() { estimator.handle(outcome) }
    hold.handleReport(
      hasNews: history.hasNews, overdue: history.overdue,
      roundTrip: estimator.baseRoundTrip, now: now)
    guard history.hasNews else { return }
    estimator.finishReport(
      roundTrip: history.latestSample, bytesInFlight: history.bytesInFlight, now: now)
    pump(in: world)
  }

  /// IP, UDP, DATA header, tag, and a media frame's own.
  static let overhead = 28 + 25 + 3
}

/// One line of a plot.
package struct SeriesPoint: Sendable {
  package var time: UInt64
  package var estimate: Double
  package var acknowledged: Double
  package var delay: Double
  package var state: String
  package var reason: String
  package var inFlight: Int
  package var limit: Int
  package var waiting: Double
}

/// What a flow counted.
package struct MediaTally: Sendable {
  package var audioSent = 0
  package var audioReceived = 0
  package var audioLost = 0
  package var frames = 0
  package var framesSkipped = 0
  package var sentBytes = Array(repeating: 0, count: 6)
  package var receivedBytes = Array(repeating: 0, count: 6)
  package var reportBytes = 0
  package var badReports = 0
  /// What was offered to a link that passed nothing.
  package var outageBytes = 0
  /// Falls back and returns: when, and why.
  package var changes: [(Double, FallbackMachine.Change)] = []
  package var reserve = 0.0
}
