internal import Audio
internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// One call's audio at this end, as the media thread runs it every 5 ms: what came in is played,
/// what is to go out is encoded, and the two pipelines tell each other what got lost. Station 4 of
/// the house tour; before it `OpusEncoder`, after it `Peer/PeerMachine+Media.swift`.
///
/// All memory is made in `init`; a tick allocates nothing of its own.
struct AudioPipeline: ~Copyable {
  private let source: (any AudioSource)?
  private let sink: (any AudioSink)?
  private var sender: AudioSender
  private var receiver: AudioReceiver
  private var policy: RedundancyPolicy
  private let asksAgain: Bool
  private let rings: AudioRings
  private let arrivals: (any ArrivalSink)?
  private var account = AudioAccount()

  private var sourceSamples: [Int16]
  private var packet: [UInt8] = []
  private var playoutSamples: [Int16]

  /// Media time of the next frame, in steps of 10 ms (frames.md §5).
  private var mediaTime: UInt16 = 0
  /// Milliseconds; a tick at first: the first tick sends a frame.
  private var untilNextFrame = Self.tickMilliseconds
  /// Of all ticks, in nanoseconds: the media time that the present one begins with.
  private var elapsed: Int64 = 0
  private var isMarked = true
  private var silentMilliseconds = 0
  /// Something was put into the ring since the loop was woken.
  private var hasToWake = false
  var isMuted: Bool
  /// The other side said that it sends no audio: what is missing then is silence, not loss.
  var isRemoteMuted = false
  /// Silence is played instead of what comes.
  var isUnwanted = false
  /// The least playout delay that goes with the picture, and the delay there was before one had to.
  private var pictureHold: Int64 = 0
  private var delayBefore: Int64 = 0
  private(set) var pausedSamples: UInt64 = 0
  private var isFinished = false

  static func make(
    _ options: CallOptions, channels: Int, rings: AudioRings
  ) throws(OpusError) -> AudioPipeline {
    var sender = try AudioSender(
      OpusEncoder.Settings(
        channels: channels, bitsPerSecond: options.bitrate,
        frameLength: FrameLength(rawValue: options.frameMilliseconds) ?? .milliseconds20,
        usesForwardErrorCorrection: options.usesFEC))
    let receiver = try AudioReceiver(channels: options.sink?.channelCount ?? 1)
    var limits = RedundancyPolicy.Limits(
      bitrate: sender.bitsPerSecond, frameLength: sender.plan.frameLength)
    limits.makesCopies = options.usesFEC
    let policy = RedundancyPolicy(limits)
    try sender.follow(policy.plan)
    return AudioPipeline(options, sender, receiver, policy, rings)
  }

  private init(
    _ options: CallOptions, _ sender: consuming AudioSender, _ receiver: consuming AudioReceiver,
    _ policy: RedundancyPolicy, _ rings: AudioRings
  ) {
    source = options.source
    sink = options.sink
    self.rings = rings
    isMuted = options.startsMuted
    // Nothing was heard that would have to end in silence.
    silentMilliseconds = isMuted ? Self.muteFadeMilliseconds : 0
    asksAgain = options.usesNACK
    arrivals = options.arrivals
    self.policy = policy
    self.sender = sender
    self.receiver = receiver
    if arrivals != nil {
      self.receiver.buffer.recording = ArrivalRecording(
        channels: self.receiver.buffer.channels, limit: Self.longestRecording)
    }
    sourceSamples = Array(repeating: 0, count: FrameLength.milliseconds60.sampleCount * 2)
    playoutSamples = Array(repeating: 0, count: AudioFormat.pullSampleCount * 2)
    packet.reserveCapacity(AudioFormat.maxPayloadByteCount)
  }

  /// Five milliseconds, both ways; `due` is when they began.
  mutating func tick(now: Instant, due: Instant) {
    rings.sentClock.note(elapsed, at: due)
    elapsed &+= AudioFormat.pullNanoseconds
    takeArrivals(now: now)
    answer(now: now)
    holdForPicture()
    play(now: now)
    if let heard = receiver.buffer.heardNanoseconds {
      rings.heardClock.note(heard, at: due + Self.tickLength)
    }
    let peerHeard = rings.peerHeard.value
    if let change = account.tick(&receiver.buffer, peerHeard: peerHeard) { tell(change) }
    if let arrivals { Self.drain(&receiver.buffer.recording, to: arrivals) }
    untilNextFrame -= Self.tickMilliseconds
    // Frames of 20 ms go every fourth tick.
    while untilNextFrame <= 0, source != nil {
      untilNextFrame += sender.plan.frameLength.milliseconds
      sendFrame()
    }
    repeatFrames()
    if hasToWake { rings.wake.signal() }
    hasToWake = false
  }

  // MARK: - In

  private mutating func takeArrivals(now: Instant) {
    let rings = self.rings
    while true {
      let taken: Bool? = rings.received.pop { payload, packed in
        take(payload, AudioLabel(packed), now: now)
        return true
      }
      if taken == nil { return }
    }
  }

  private mutating func take(_ bytes: Span<UInt8>, _ label: AudioLabel, now: Instant) {
    if asksAgain, let trip = label.roundTrip {
      receiver.roundTripMilliseconds = Int(trip.smoothed)
    }
    account.note(bytes, label)
    switch label.kind {
    case .frame:
      let frame = AudioMediaFrame(
        length: label.length, isMarked: label.isMarked, hasCopies: label.hasCopies,
        mediaTime: label.mediaTime)
      receiver.receive(bytes, frame, arrival: Instant(nanoseconds: label.arrival))
    case .report: follow(bytes, label, now: now)
    case .request:
      do throws(WireError) {
        sender.handle(try AudioRequestFrame(body: bytes))
      } catch {
        // Checked when its packet was read, and counted there.
      }
    }
  }

  /// The other side says what it lost: the sender spends its bits accordingly.
  private mutating func follow(_ bytes: Span<UInt8>, _ label: AudioLabel, now: Instant) {
    do {
      let report = try AudioReportFrame(body: bytes)
      account.take(report)
      let roundTrip = label.roundTrip.map {
        RedundancyPolicy.RoundTrip(
          smoothed: UInt64($0.smoothed) * 1_000_000, minimum: UInt64($0.minimum) * 1_000_000)
      }
      let isNew = policy.handle(
        report, roundTrip: roundTrip, allowedWireBitrate: label.allowance, now: now)
      if isNew { try sender.follow(policy.plan) }
    } catch {
      rings.encodeFailures.add(1)
    }
  }

  /// What this side lacks, and how it goes; both travel with the next frame.
  private mutating func answer(now: Instant) {
    if let request = receiver.pollRequest(now: now) {
      Self.fill(&packet) { request.writeBody(to: &$0) }
      push(.request)
    }
    if let report = receiver.pollReport(now: now) {
      Self.fill(&packet) { report.writeBody(to: &$0) }
      push(.report)
    }
  }

  /// Sound that is ahead of its picture waits for it (`LipBalance`).
  private mutating func holdForPicture() {
    let wanted = rings.pictureHold.value
    guard wanted != pictureHold else { return }
    if pictureHold == 0 {
      delayBefore = Int64(clamping: receiver.buffer.statistics.targetDelayNanoseconds)
    }
    pictureHold = wanted
    receiver.leastDelay = wanted == 0 ? 0 : delayBefore &+ wanted
  }

  private mutating func play(now: Instant) {
    if isRemoteMuted, receiver.buffer.isEmpty {
      pausedSamples &+= UInt64(AudioFormat.pullSampleCount)
      for index in playoutSamples.indices { playoutSamples[index] = 0 }
      receiver.buffer.recording?.pause()
    } else {
      let began = SystemClock.now
      defer { account.notePull(began: began) }
      Self.pull(from: &receiver, into: &playoutSamples, now: now)
      if isUnwanted { for index in playoutSamples.indices { playoutSamples[index] = 0 } }
    }
    sink?.write(playoutSamples, frameCount: AudioFormat.pullSampleCount)
  }

  private static func pull(
    from receiver: inout AudioReceiver, into samples: inout [Int16], now: Instant
  ) {
    var span = samples.mutableSpan
    _ = receiver.buffer.pull(into: &span, now: now)
  }

  // MARK: - Out

  private mutating func sendFrame() {
    guard let source else { return }
    let frame = sender.plan.frameLength
    let wanted = frame.sampleCount
    let got = source.read(into: &sourceSamples, frameCount: wanted)
    let channels = source.channelCount
    if got < wanted {
      for index in (got * channels)..<(wanted * channels) { sourceSamples[index] = 0 }
    }
    defer { mediaTime &+= frame.stepCount }
    if isMuted {
      silentMilliseconds += frame.milliseconds
      isMarked = true
      guard silentMilliseconds <= Self.muteFadeMilliseconds else { return }
      for index in sourceSamples.indices { sourceSamples[index] = 0 }
    } else {
      silentMilliseconds = 0
    }
    account.noteSource(sourceSamples, frameCount: wanted, channels: channels)
    if channels > sender.channels { downmix(wanted) }
    encode(frame)
  }

  /// Two channels of the source onto one of the encoder.
  private mutating func downmix(_ frameCount: Int) {
    for index in 0..<frameCount {
      let sum = Int32(sourceSamples[2 * index]) + Int32(sourceSamples[2 * index + 1])
      sourceSamples[index] = Int16(truncatingIfNeeded: sum >> 1)
    }
  }

  private mutating func encode(_ frame: FrameLength) {
    let count = frame.sampleCount * sender.channels
    guard
      let hasCopies = Self.encode(sourceSamples, count, mediaTime, with: &sender, into: &packet)
    else {
      rings.encodeFailures.add(1)
      return
    }
    push(
      .frame, mediaTime: mediaTime, length: frame, isMarked: isMarked && !isMuted,
      hasCopies: hasCopies)
    isMarked = isMuted
  }

  private static func encode(
    _ samples: [Int16], _ count: Int, _ mediaTime: UInt16, with sender: inout AudioSender,
    into packet: inout [UInt8]
  ) -> Bool? {
    var hasCopies: Bool?
    fill(&packet) { output in
      do throws(OpusError) {
        hasCopies = try sender.encode(
          samples.span.extracting(0..<count), mediaTime: mediaTime, into: &output)
      } catch {
        // There is nothing to send, and the caller counts it.
      }
    }
    return hasCopies
  }

  /// What was asked for goes by itself when no frame is soon to take it along.
  private mutating func repeatFrames() {
    guard sender.hasRepetitions, isMuted || untilNextFrame > Self.patience else { return }
    var mediaTime: UInt16?
    Self.repeatFrames(of: &sender, into: &packet, &mediaTime)
    guard let mediaTime else { return }
    push(.frame, mediaTime: mediaTime, length: .milliseconds20, hasCopies: true)
  }

  private static func repeatFrames(
    of sender: inout AudioSender, into packet: inout [UInt8], _ mediaTime: inout UInt16?
  ) {
    var carrying: UInt16?
    fill(&packet) { carrying = sender.writeRepetitions(into: &$0) }
    mediaTime = carrying
  }

  private static func fill(_ packet: inout [UInt8], _ write: (inout OutputSpan<UInt8>) -> Void) {
    packet.removeAll(keepingCapacity: true)
    packet.append(addingCapacity: AudioFormat.maxPayloadByteCount) { write(&$0) }
  }

  /// Hands `packet` to the loop.
  private mutating func push(
    _ kind: AudioKind, mediaTime: UInt16 = 0, length: FrameLength = .milliseconds20,
    isMarked: Bool = false, hasCopies: Bool = false
  ) {
    var label = AudioLabel()
    label.kind = kind
    label.mediaTime = mediaTime
    label.length = AudioMediaFrame.Length(length)
    label.isMarked = isMarked
    label.hasCopies = hasCopies
    if rings.toSend.push(packet.span, label.packed) { hasToWake = true }
  }

  // MARK: - Numbers

  var statistics: AudioNumbers {
    var numbers = AudioNumbers(receiver.buffer)
    numbers.account = account
    numbers.sent = sender.statistics
    numbers.targetBitrate = sender.plan.payloadBitrate
    numbers.isMuted = isMuted || source == nil
    numbers.repairedByCopies = receiver.framesRepairedByCopies
    numbers.repairedByRetransmissions = receiver.framesRepairedByRetransmissions
    numbers.requested = receiver.framesRequested
    return numbers
  }

  private mutating func tell(_ change: QualityChange) {
    rings.qualityChange.withLock { $0 = change }
    hasToWake = true
  }

  /// Nothing is given out after this. Harmless when repeated.
  mutating func finish() {
    guard !isFinished else { return }
    isFinished = true
    sink?.finish()
    guard let arrivals else { return }
    Self.drain(&receiver.buffer.recording, to: arrivals, isLast: true)
    arrivals.finish()
  }

  private static func drain(
    _ recording: inout ArrivalRecording?, to arrivals: any ArrivalSink, isLast: Bool = false
  ) {
    guard let bytes = recording?.bytes, bytes.count >= (isLast ? 1 : drainedAtOnce) else { return }
    arrivals.write(bytes)
    recording?.removeBytes()
  }

  private static let drainedAtOnce = 4096
  /// 1 GiB: a day of speech with copies.
  private static let longestRecording = 1 << 30

  /// Silence that goes out after muting, so that the other side's last sound is not concealment.
  private static let muteFadeMilliseconds = 200

  /// From one visit of the media thread to the next.
  static let tickMilliseconds = 5
  static let tickLength = Duration.milliseconds(5)
  /// How soon a frame must be due to take repetitions along, in milliseconds.
  private static let patience = 20
}

extension AudioMediaFrame.Length {
  init(_ length: FrameLength) {
    switch length {
    case .milliseconds10: self = .milliseconds10
    case .milliseconds20: self = .milliseconds20
    case .milliseconds40: self = .milliseconds40
    case .milliseconds60: self = .milliseconds60
    }
  }
}

/// What the loop and the media thread hand to each other, each with an `AudioLabel`.
struct AudioRings: Sendable {
  let received = SPSCRing(slotCount: 64, slotByteCount: AudioFormat.maxPayloadByteCount)
  let toSend = SPSCRing(slotCount: 16, slotByteCount: AudioFormat.maxPayloadByteCount)
  let wake: LoopWake
  let encodeFailures = FailureCount()
  /// The media time of what is read, and of what is heard: video keeps to them.
  let sentClock = MediaClock(start: SystemClock.now)
  let heardClock = MediaClock(start: .zero)
  /// What the picture wants the sound to wait for it.
  let pictureHold = PictureHold()
  /// When anything of the other side came last, while something is sent to it.
  let peerHeard = PeerHeard()
  /// The last change, until the loop has told it.
  let qualityChange = Guarded<QualityChange?>(nil)

  init(wake: LoopWake) { self.wake = wake }
}
