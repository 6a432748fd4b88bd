internal import Audio
internal import Primitives
internal import Reactor

/// Drives one call's `AudioEngine` on the media thread, 5 ms at a time: gives it what the loop put
/// into the ring and what the source has, and takes from it what the sink and the loop get. What
/// the engine is certain of it does ahead, so that the thread need not wake for it. It has no rules
/// of its own. Station 4 of the house tour; before it `OpusEncoder`, after it
/// `Peer/PeerMachine+Media.swift`.
///
/// All memory is made in `init`; a tick allocates nothing of its own.
struct AudioPipeline: ~Copyable {
  private let source: (any AudioSource)?
  private let sink: (any AudioSink)?
  private var engine: AudioEngine
  private let rings: AudioRings
  private let arrivals: (any ArrivalSink)?

  private var sourceSamples: [Int16]
  private var playoutSamples: [Int16]
  /// Of all ticks, in nanoseconds: the media time that the present one begins with.
  private var elapsed: Int64 = 0
  /// What of playing and of the source deserves mention.
  private var watch = PlayingWatch()
  private var hasSourceEnded = false
  private var mixer = AudioMixer()
  /// `nil` while nobody asked for the pitch of the own voice.
  private var pitch: PitchMeter?
  /// Of 100: what the source's samples, and what is heard, are multiplied by.
  private var captureVolume = 100
  private var playbackVolume = 100
  /// Something was put into the ring since the loop was woken.
  private var hasToWake = false
  private var isFinished = false

  static func make(
    _ options: CallOptions, channels: Int, rings: AudioRings
  ) throws(OpusError) -> AudioPipeline {
    var settings = AudioEngine.Settings(
      OpusEncoder.Settings(
        channels: channels, bitsPerSecond: options.bitrate,
        frameLength: FrameLength(rawValue: options.frameMilliseconds) ?? .milliseconds20,
        usesForwardErrorCorrection: options.usesFEC))
    settings.playoutChannels = options.sink?.channelCount ?? 1
    settings.makesCopies = options.usesFEC
    settings.asksAgain = options.usesNACK
    settings.startsMuted = options.startsMuted
    settings.mayBeLeftOut = options.mayBeLeftOut
    settings.records = options.arrivals != nil
    return AudioPipeline(options, try AudioEngine(settings), rings)
  }

  private init(
    _ options: CallOptions, _ engine: consuming AudioEngine, _ rings: AudioRings
  ) {
    source = options.source
    sink = options.sink
    arrivals = options.arrivals
    self.rings = rings
    self.engine = engine
    sourceSamples = Array(repeating: 0, count: FrameLength.milliseconds60.sampleCount * 2)
    playoutSamples = Array(repeating: 0, count: AudioFormat.pullSampleCount * 2)
  }

  var isMuted: Bool {
    get { engine.isMuted }
    set { engine.isMuted = newValue }
  }
  var isRemoteMuted: Bool {
    get { engine.isRemoteMuted }
    set { engine.isRemoteMuted = newValue }
  }
  var isUnwanted: Bool {
    get { engine.isUnwanted }
    set { engine.isUnwanted = newValue }
  }

  /// Takes effect with the next frame.
  mutating func setVolume(capture: Int? = nil, playback: Int? = nil) {
    captureVolume = capture ?? captureVolume
    playbackVolume = playback ?? playbackVolume
  }

  mutating func setPitch(wanted: Bool) { pitch = wanted ? pitch ?? PitchMeter() : nil }

  mutating func mix<Result>(_ body: (inout AudioMixer) -> Result) -> Result { body(&mixer) }

  var sums: SoundSums {
    let source = engine.account.source
    let played = engine.receiver.buffer.statistics
    return SoundSums(
      sourceEnergy: source.energy, sourceSeconds: source.seconds,
      playedEnergy: played.totalAudioEnergy, playedSeconds: played.totalSamplesDuration,
      pitch: pitch?.pitch ?? 0)
  }

  mutating func setEncoding(bitsPerSecond: Int, frameLength: FrameLength) throws(OpusError) {
    try engine.setEncoding(bitsPerSecond: bitsPerSecond, frameLength: frameLength)
  }

  /// What one visit of the media thread has come to.
  struct Visit: Sendable {
    /// Ticks of 5 ms after the present one that are done already.
    var ticksAhead = 0
    /// Something waits for the loop.
    var hasToWake = false
  }

  /// Five milliseconds, both ways, and as many more as the engine is certain of; `due` is when they
  /// began.
  mutating func visit(now: Instant, due: Instant) -> Visit {
    tick(now: now, due: due)
    var visit = Visit()
    // A thread that is late by a tick has to catch up first.
    if now < due + Self.tickLength {
      visit.ticksAhead = engine.certainTickCount(hasSource: source != nil)
      for tick in 0..<visit.ticksAhead {
        let ahead = due + .milliseconds(5 * Int64(tick + 1))
        step(now: ahead, due: ahead)
      }
    }
    visit.hasToWake = hasToWake
    hasToWake = false
    return visit
  }

  /// Five milliseconds, both ways; `due` is when they began.
  mutating func tick(now: Instant, due: Instant) {
    takeArrivals(now: now)
    step(now: now, due: due)
  }

  /// The same without what has come meanwhile.
  private mutating func step(now: Instant, due: Instant) {
    rings.sentClock.set(elapsed, at: due)
    elapsed &+= AudioFormat.pullNanoseconds
    engine.tick(now: now)
    engine.holdForPicture(rings.pictureHold.value)
    play(now: now)
    if let heard = engine.receiver.buffer.heardNanoseconds {
      rings.heardClock.set(heard, at: due + Self.tickLength)
    }
    if let change = engine.pollQualityChange() { store(change) }
    if let arrivals {
      engine.drainRecording(atLeast: Self.drainedAtOnce) { arrivals.write($0) }
    }
    if let source, engine.wantedSampleCount > 0 { capture(from: source) }
    send()
    if !mixer.notes.isEmpty { tellMixing() }
  }

  private mutating func tellMixing() {
    let notes = mixer.takeNotes()
    rings.mixing.withLock { $0.append(contentsOf: notes) }
    hasToWake = true
  }

  // MARK: - In

  private mutating func takeArrivals(now: Instant) {
    let rings = self.rings
    var isThere = true
    while isThere {
      isThere = rings.received.popNext { body, packed in
        let label = AudioLabel(packed)
        do throws(OpusError) {
          try engine.receive(
            body, label.header, arrival: Instant(nanoseconds: label.arrival), label.conditions,
            now: now)
        } catch {
          rings.encodeFailures.add(1)
        }
      }
    }
  }

  private mutating func play(now: Instant) {
    let began = SystemClock.now
    engine.peerHeard = rings.peerHeard.value
    if Self.pull(from: &engine, into: &playoutSamples, now: now) {
      engine.notePull(nanoseconds: SystemClock.now.nanoseconds(since: began))
    }
    let isSilenced = engine.isRemoteMuted || engine.isUnwanted
    if let note = watch.handlePull(engine.lastOperation, isSilenced: isSilenced, now: now) {
      append(note)
    }
    if let sink {
      SampleGain.apply(playbackVolume, to: &playoutSamples)
      mixer.mixHeard(
        into: &playoutSamples, frameCount: AudioFormat.pullSampleCount,
        channels: sink.channelCount)
      sink.write(playoutSamples, frameCount: AudioFormat.pullSampleCount)
    }
  }

  private static func pull(
    from engine: inout AudioEngine, into samples: inout [Int16], now: Instant
  ) -> Bool {
    var span = samples.mutableSpan
    return engine.pull(into: &span, now: now)
  }

  // MARK: - Out

  private mutating func capture(from source: any AudioSource) {
    let wanted = engine.wantedSampleCount
    let got = source.read(into: &sourceSamples, frameCount: wanted)
    let channels = source.channelCount
    if got < wanted {
      for index in (got * channels)..<(wanted * channels) { sourceSamples[index] = 0 }
      if !hasSourceEnded { append(.sourceEnded) }
      hasSourceEnded = true
    }
    Self.listen(to: sourceSamples, frameCount: wanted, channels: channels, with: &pitch)
    SampleGain.apply(captureVolume, to: &sourceSamples)
    mixer.mix(into: &sourceSamples, frameCount: wanted, channels: channels)
    do throws(OpusError) {
      try Self.capture(sourceSamples, channels: channels, with: &engine)
    } catch {
      rings.encodeFailures.add(1)
    }
  }

  private static func listen(
    to samples: [Int16], frameCount: Int, channels: Int, with pitch: inout PitchMeter?
  ) {
    pitch?.handle(samples.span, frameCount: frameCount, channels: channels)
  }

  private static func capture(
    _ samples: [Int16], channels: Int, with engine: inout AudioEngine
  ) throws(OpusError) {
    try engine.capture(samples.span, channels: channels)
  }

  /// Hands everything that is to be sent to the loop. What the ring has no room for waits.
  private mutating func send() {
    guard engine.hasOutput else { return }
    let rings = self.rings
    while true {
      let isSent = rings.toSend.push { slot in
        engine.pollTransmit(into: &slot).map { AudioLabel($0).packed }
      }
      guard isSent else { return }
      hasToWake = true
    }
  }

  // MARK: - Numbers

  var statistics: AudioNumbers {
    var numbers = AudioNumbers(engine.receiver.buffer)
    numbers.account = engine.account
    numbers.sent = engine.sender.statistics
    numbers.targetBitrate = engine.sender.plan.payloadBitrate
    numbers.isMuted = engine.isMuted || source == nil
    numbers.repairedByCopies = engine.receiver.framesRepairedByCopies
    numbers.repairedByRetransmissions = engine.receiver.framesRepairedByRetransmissions
    numbers.requested = engine.receiver.framesRequested
    return numbers
  }

  private mutating func append(_ note: AudioNote) {
    rings.notes.withLock { $0.add(note) }
    hasToWake = true
  }

  private mutating func store(_ change: QualityChange) {
    rings.qualityChange.withLock { $0 = change }
    hasToWake = true
  }

  /// Nothing is given out after this. Harmless when repeated.
  mutating func finish() {
    guard !isFinished else { return }
    isFinished = true
    sink?.finish()
    guard let arrivals else { return }
    engine.drainRecording(atLeast: 1) { arrivals.write($0) }
    arrivals.finish()
  }

  private static let drainedAtOnce = 4096
  /// From one visit of the media thread to the next.
  static let tickLength = Duration.milliseconds(5)
}

/// What the loop and the media thread hand to each other, each with an `AudioLabel`.
final class AudioRings: Sendable {
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
  let notes = Guarded(AudioNotes())
  /// What the mixer has to tell; seldom anything.
  let mixing = Guarded<[MixerNote]>([])

  init(wake: LoopWake) { self.wake = wake }

  /// Loop.
  func takeMixing() -> [MixerNote] {
    mixing.withLock { notes in
      guard !notes.isEmpty else { return [] }
      let waiting = notes
      notes.removeAll(keepingCapacity: true)
      return waiting
    }
  }
}
