internal import Audio
internal import Primitives
internal import Reactor

/// One call's audio at this end, as the media thread runs it every 20 ms: what came in is played,
/// what is to go out is encoded. Station 4 of the house tour; before it `OpusEncoder`, after it
/// `Peer/PeerMachine+Media.swift`.
///
/// All memory is made in `init`; a tick allocates nothing of its own.
struct AudioPipeline: ~Copyable {
  private let source: (any AudioSource)?
  private let sink: (any AudioSink)?
  private let frame: FrameLength
  private var encoder: OpusEncoder
  private var jitterBuffer: JitterBuffer
  private let rings: AudioRings

  private var sourceSamples: [Int16]
  private var packet: [UInt8] = []
  private var playoutSamples: [Int16]
  private var sinkSamples: [Int16]

  /// Media time of the next frame, in steps of 10 ms (frames.md §5).
  private var mediaTime: UInt16 = 0
  private var untilNextFrame = 0
  private var isMarked = true
  private var silentTicks = 0
  var isMuted: Bool
  /// The other side said that it sends no audio: what is missing then is silence, not loss.
  var isRemoteMuted = false
  private(set) var pausedSamples: UInt64 = 0

  static func make(
    _ options: CallOptions, channels: Int, rings: AudioRings
  ) throws(OpusError) -> AudioPipeline {
    let encoder = try OpusEncoder(
      OpusEncoder.Settings(
        channels: channels, bitsPerSecond: options.bitrate,
        frameLength: FrameLength(rawValue: options.frameMilliseconds) ?? .milliseconds20,
        usesForwardErrorCorrection: options.usesFEC))
    let jitterBuffer = try JitterBuffer(channels: options.sink?.channelCount ?? 1)
    return AudioPipeline(options, encoder, jitterBuffer, rings)
  }

  private init(
    _ options: CallOptions, _ encoder: consuming OpusEncoder,
    _ jitterBuffer: consuming JitterBuffer, _ rings: AudioRings
  ) {
    source = options.source
    sink = options.sink
    self.rings = rings
    isMuted = options.startsMuted
    frame = encoder.settings.frameLength
    self.encoder = encoder
    self.jitterBuffer = jitterBuffer
    sourceSamples = Array(repeating: 0, count: frame.sampleCount * 2)
    playoutSamples = Array(repeating: 0, count: AudioFormat.stepSampleCount * 2)
    sinkSamples = playoutSamples
    packet.reserveCapacity(AudioFormat.maxPayloadByteCount)
  }

  /// Twenty milliseconds, both ways.
  mutating func tick(now: Instant) {
    takeArrivals()
    play(now: now)
    play(now: now)
    untilNextFrame -= 20
    // Frames of 10 ms go two a tick, frames of 40 ms every other tick.
    while untilNextFrame <= 0, source != nil {
      sendFrame()
      untilNextFrame += frame.milliseconds
    }
  }

  private mutating func takeArrivals() {
    let rings = self.rings
    while true {
      let taken: Bool? = rings.received.pop { payload, label in
        jitterBuffer.insert(
          payload, mediaTime: UInt16(truncatingIfNeeded: label.second),
          arrival: Instant(nanoseconds: label.first))
        return true
      }
      if taken == nil { return }
    }
  }

  private mutating func play(now: Instant) {
    if isRemoteMuted, jitterBuffer.isEmpty {
      pausedSamples &+= UInt64(AudioFormat.stepSampleCount)
      for index in playoutSamples.indices { playoutSamples[index] = 0 }
    } else {
      Self.pull(from: &jitterBuffer, into: &playoutSamples, now: now)
    }
    sink?.write(playoutSamples, frameCount: AudioFormat.stepSampleCount)
  }

  private static func pull(
    from buffer: inout JitterBuffer, into samples: inout [Int16], now: Instant
  ) {
    var span = samples.mutableSpan
    _ = buffer.pull(into: &span, now: now)
  }

  private mutating func sendFrame() {
    guard let source else { return }
    let wanted = frame.sampleCount
    let got = source.read(into: &sourceSamples, frameCount: wanted)
    let channels = source.channelCount
    if got < wanted {
      for index in (got * channels)..<(wanted * channels) { sourceSamples[index] = 0 }
    }
    defer { mediaTime &+= frame.stepCount }
    if isMuted {
      silentTicks += 1
      isMarked = true
      guard silentTicks * frame.milliseconds <= Self.muteFadeMilliseconds else { return }
      for index in sourceSamples.indices { sourceSamples[index] = 0 }
    } else {
      silentTicks = 0
    }
    if channels > encoder.settings.channels { downmix(wanted) }
    encode(sampleCount: wanted * encoder.settings.channels)
  }

  /// Two channels of the source onto one of the encoder.
  private mutating func downmix(_ frameCount: Int) {
    for index in 0..<frameCount {
      let sum = Int32(sourceSamples[2 * index]) + Int32(sourceSamples[2 * index + 1])
      sourceSamples[index] = Int16(truncatingIfNeeded: sum >> 1)
    }
  }

  private mutating func encode(sampleCount: Int) {
    guard Self.encode(sourceSamples, sampleCount, with: &encoder, into: &packet) else {
      rings.encodeFailures.add(1)
      return
    }
    let flags = UInt64(frame.stepCount) << 16 | (isMarked && !isMuted ? 1 << 32 : 0)
    isMarked = isMuted
    if rings.toSend.push(packet.span, SPSCRing.Label(0, UInt64(mediaTime) | flags)) {
      rings.wake.signal()
    }
  }

  private static func encode(
    _ samples: [Int16], _ count: Int, with encoder: inout OpusEncoder, into packet: inout [UInt8]
  ) -> Bool {
    packet.removeAll(keepingCapacity: true)
    packet.append(addingCapacity: AudioFormat.maxPayloadByteCount) { output in
      do throws(OpusError) {
        try encoder.encode(samples.span.extracting(0..<count), into: &output)
      } catch {
        // The packet stays empty, and the caller counts it.
      }
    }
    return !packet.isEmpty
  }

  /// Tells the encoder what the other side loses: it spends on copies only when they are needed.
  mutating func announceLoss(_ fraction: Double) {
    let percent = OpusEncoder.announcement(
      lossFraction: fraction, bitsPerSecond: encoder.settings.bitsPerSecond)
    do throws(OpusError) {
      try encoder.setAnnouncedLoss(percent: percent)
    } catch {
      // The last announcement stands.
    }
  }

  var statistics: PlayoutStatistics { jitterBuffer.statistics }
  /// What the encoder looks ahead, and the frame itself, in milliseconds.
  var senderDelayMilliseconds: Double {
    Double(frame.milliseconds) + Double(encoder.lookaheadSampleCount) / 48
  }

  func finish() { sink?.finish() }

  /// Silence that goes out after muting, so that the other side's last sound is not concealment.
  private static let muteFadeMilliseconds = 200
}

/// What the loop and the media thread hand to each other.
struct AudioRings: Sendable {
  /// Arrived frames: label is arrival in ns, media time.
  let received = SPSCRing(slotCount: 64, slotByteCount: AudioFormat.maxPayloadByteCount)
  /// Encoded frames: label is 0; media time, steps << 16, marker << 32.
  let toSend = SPSCRing(slotCount: 16, slotByteCount: AudioFormat.maxPayloadByteCount)
  let wake: LoopWake
  let encodeFailures = FailureCount()

  init(wake: LoopWake) { self.wake = wake }
}
