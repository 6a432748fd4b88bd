import Primitives
package import Wire

/// When a frame is due, what it is, and what waits to leave: the sending half of `AudioEngine`.
struct OutboundAudio {
  /// Media time of the next frame, in steps of 10 ms (docs/protocol/frames.md §5).
  private var mediaTime: UInt16 = 0
  /// Milliseconds of the source that have passed and are in no frame yet.
  private var capturedMilliseconds: Int
  /// Whether the next frame begins after silence.
  private var isMarked = true
  /// How long silence has gone out instead of the muted source.
  private var silentMilliseconds: Int
  /// The header of `body`, until it is polled.
  private var waiting: AudioMediaFrame?
  private var body: [UInt8] = []
  /// Silence, and two channels mixed to one.
  private var scratch: [Int16]

  /// - Parameter first: the length of the first frame, which the first tick sends.
  init(startsMuted: Bool, first: FrameLength) {
    capturedMilliseconds = first.milliseconds - Self.tickMilliseconds
    // Nothing was heard that would have to end in silence.
    silentMilliseconds = startsMuted ? Self.muteFadeMilliseconds : 0
    scratch = Array(repeating: 0, count: FrameLength.milliseconds60.sampleCount * 2)
    body.reserveCapacity(AudioFormat.maxPayloadByteCount)
  }

  /// Whether all of a frame of this length has passed: a source is never asked for what it cannot
  /// have yet.
  func isDue(_ length: FrameLength) -> Bool { capturedMilliseconds >= length.milliseconds }

  /// In how many ticks a frame of this length will be due, at least 1 where none is due now.
  func ticksUntilDue(_ length: FrameLength) -> Int {
    (length.milliseconds - capturedMilliseconds + Self.tickMilliseconds - 1)
      / Self.tickMilliseconds
  }

  /// Whether a frame waits to be polled.
  var hasFrame: Bool { waiting != nil }

  mutating func tick() {
    capturedMilliseconds = min(capturedMilliseconds + Self.tickMilliseconds, Self.longestWait)
  }

  /// Encodes one frame of the source, or silence instead.
  mutating func capture(
    _ samples: Span<Int16>, channels: Int, isMuted: Bool, _ sender: inout AudioSender,
    _ account: inout AudioAccount
  ) throws(OpusError) {
    let length = sender.plan.frameLength
    capturedMilliseconds -= length.milliseconds
    defer { mediaTime &+= length.stepCount }
    if isMuted {
      silentMilliseconds += length.milliseconds
      isMarked = true
      guard silentMilliseconds <= Self.muteFadeMilliseconds else { return }
      for index in scratch.indices { scratch[index] = 0 }
      account.noteSource(scratch.span, frameCount: length.sampleCount, channels: channels)
      try encodeScratch(with: &sender)
    } else {
      silentMilliseconds = 0
      account.noteSource(samples, frameCount: length.sampleCount, channels: channels)
      if channels > sender.channels {
        mix(samples, length.sampleCount)
        try encodeScratch(with: &sender)
      } else {
        try encode(samples, with: &sender)
      }
    }
    waiting?.isMarked = isMarked && !isMuted
    isMarked = isMuted
  }

  /// Two channels of the source onto one of the encoder.
  private mutating func mix(_ samples: Span<Int16>, _ frameCount: Int) {
    for index in 0..<frameCount {
      let sum = Int32(samples[2 * index]) + Int32(samples[2 * index + 1])
      scratch[index] = Int16(truncatingIfNeeded: sum >> 1)
    }
  }

  private mutating func encodeScratch(with sender: inout AudioSender) throws(OpusError) {
    waiting = nil
    waiting = try Self.encodeAll(of: scratch, mediaTime, with: &sender, into: &body)
  }

  private static func encodeAll(
    of samples: [Int16], _ mediaTime: UInt16, with sender: inout AudioSender,
    into body: inout [UInt8]
  ) throws(OpusError) -> AudioMediaFrame {
    try encode(samples.span, mediaTime, with: &sender, into: &body)
  }

  private mutating func encode(
    _ samples: Span<Int16>, with sender: inout AudioSender
  ) throws(OpusError) {
    waiting = nil
    waiting = try Self.encode(samples, mediaTime, with: &sender, into: &body)
  }

  private static func encode(
    _ samples: Span<Int16>, _ mediaTime: UInt16, with sender: inout AudioSender,
    into body: inout [UInt8]
  ) throws(OpusError) -> AudioMediaFrame {
    let length = sender.plan.frameLength
    let frame = samples.extracting(0..<(length.sampleCount * sender.channels))
    var hasCopies = false
    body.removeAll(keepingCapacity: true)
    try body.append(addingCapacity: AudioFormat.maxPayloadByteCount) {
      (output) throws(OpusError) in
      hasCopies = try sender.encode(frame, mediaTime: mediaTime, into: &output)
    }
    return AudioMediaFrame(
      length: AudioMediaFrame.Length(length), isMarked: false, hasCopies: hasCopies,
      mediaTime: mediaTime)
  }

  @_lifetime(output: copy output)
  mutating func pollFrame(into output: inout OutputSpan<UInt8>) -> AudioMediaFrame? {
    guard let frame = waiting.take() else { return nil }
    output.append(span: body.span)
    return frame
  }

  /// What was asked for goes by itself when no frame is soon to take it along.
  @_lifetime(output: copy output)
  mutating func pollRepetition(
    into output: inout OutputSpan<UInt8>, isMuted: Bool, _ sender: inout AudioSender
  ) -> AudioMediaFrame? {
    let untilNextFrame = sender.plan.frameLength.milliseconds - capturedMilliseconds
    guard sender.hasRepetitions, isMuted || untilNextFrame > Self.patienceMilliseconds,
      let time = sender.writeRepetitions(into: &output)
    else { return nil }
    return AudioMediaFrame(
      length: .milliseconds20, isMarked: false, hasCopies: true, mediaTime: time)
  }

  /// Silence that goes out after muting, so that the other side's last sound is not concealment.
  private static let muteFadeMilliseconds = 200
  /// What a driver without a source lets pass counts no further.
  private static let longestWait = 1000
  /// From one visit of the driver to the next.
  private static let tickMilliseconds = 5
  /// How soon a frame must be due to take repetitions along.
  private static let patienceMilliseconds = 20
}

extension AudioMediaFrame.Length {
  /// The code of a frame's length on the wire.
  package init(_ length: FrameLength) {
    switch length {
    case .milliseconds10: self = .milliseconds10
    case .milliseconds20: self = .milliseconds20
    case .milliseconds40: self = .milliseconds40
    case .milliseconds60: self = .milliseconds60
    }
  }
}
