package import Primitives
package import Wire

/// One end of a call's audio, both ways: captured samples become bodies to send, bodies that come
/// become samples to hear, and the two sides tell each other what got lost. Station 4 of the house
/// tour on the way out and station 18 on the way in.
///
/// It has no clock: its driver visits it every 5 ms and calls, in this order,
///
///     receive      for each body that has come
///     tick         once
///     pull         once
///     capture      once where `wantedSampleCount` is not 0
///     pollTransmit until it gives nothing
///
/// Programs, simulations and measurements all drive this type; none has rules of its own
/// (docs/decisions/0062). Nothing here allocates after `init`.
package struct AudioEngine: ~Copyable {
  /// What the user asked for.
  package struct Settings: Sendable {
    /// Of the frames themselves.
    package var encoder: OpusEncoder.Settings
    /// Channels of the sound given out: 1 or 2.
    package var playoutChannels = 1
    /// Whether copies of earlier frames are sent.
    package var makesCopies = true
    /// Whether missing frames are asked for.
    package var asksAgain = true
    /// Of all payload, in bit/s; `nil` for what the policy allows.
    package var payloadBitrate: Int?
    /// A plan that no report changes, for measurements; `nil` has the policy choose.
    package var fixedPlan: RedundancyPlan?
    /// Nanoseconds that playout is held beyond the fastest packet; `nil` has the receiver learn it.
    package var fixedDelay: Int64?
    package var startsMuted = false
    /// Whether it shows only after a moment that the other side's sound is left out.
    package var mayBeLeftOut = false
    /// Whether everything that comes is taken down for `ArrivalReplay`.
    package var records = false

    package init(_ encoder: OpusEncoder.Settings = OpusEncoder.Settings()) {
      self.encoder = encoder
    }
  }

  package internal(set) var sender: AudioSender
  package internal(set) var receiver: AudioReceiver
  package internal(set) var account = AudioAccount()
  /// `nil` with a fixed plan.
  private var policy: RedundancyPolicy?
  private let asksAgain: Bool

  /// The own audio is not sent: silence goes out for a moment, and then nothing.
  package var isMuted: Bool
  /// The other side said that it sends no audio: what is missing then is silence, not loss.
  package var isRemoteMuted = false
  /// Silence is given out instead of what comes.
  package var isUnwanted = false
  /// When anything of the other side came last, in nanoseconds.
  package var peerHeard: UInt64 = 0
  /// What the last pull did; `silence` while the other side is muted.
  package private(set) var lastOperation = PlayoutOperation.silence
  /// Samples of silence given out while the other side was muted.
  package private(set) var pausedSamples: UInt64 = 0

  var outbound: OutboundAudio
  private var request: AudioRequestFrame?
  private var report: AudioReportFrame?
  /// The least playout delay that goes with the picture, and the delay there was before one had to.
  private var pictureHold: Int64 = 0
  private var delayBeforeHold: Int64 = 0

  package init(_ settings: Settings) throws(OpusError) {
    var sender = try AudioSender(settings.encoder)
    var receiver = try AudioReceiver(channels: settings.playoutChannels)
    var limits = RedundancyPolicy.Limits(
      bitrate: sender.bitsPerSecond, frameLength: sender.plan.frameLength)
    limits.makesCopies = settings.makesCopies
    limits.payloadBitrate = settings.payloadBitrate
    let policy = RedundancyPolicy(limits)
    try sender.follow(settings.fixedPlan ?? policy.plan)
    if let delay = settings.fixedDelay { receiver.buffer.delayRange = delay...delay }
    if settings.mayBeLeftOut { receiver.buffer.concealment.patience = Self.wordDelay }
    if settings.records {
      receiver.buffer.recording = ArrivalRecording(
        channels: receiver.buffer.channels, limit: Self.longestRecording)
    }
    self.init(settings, sender, receiver, settings.fixedPlan == nil ? policy : nil)
  }

  private init(
    _ settings: Settings, _ sender: consuming AudioSender, _ receiver: consuming AudioReceiver,
    _ policy: RedundancyPolicy?
  ) {
    asksAgain = settings.asksAgain
    isMuted = settings.startsMuted
    outbound = OutboundAudio(
      startsMuted: settings.startsMuted, first: sender.plan.frameLength)
    self.policy = policy
    self.sender = sender
    self.receiver = receiver
  }

  // MARK: - In

  /// Takes one body that the other side has sent.
  ///
  /// - Parameters:
  ///   - arrival: when the kernel took its packet.
  ///   - conditions: of the path, when it came.
  package mutating func receive(
    _ body: Span<UInt8>, _ header: AudioBodyHeader, arrival: Instant, _ conditions: PathConditions,
    now: Instant
  ) throws(OpusError) {
    if asksAgain, let trip = conditions.roundTripMilliseconds {
      receiver.roundTripMilliseconds = trip
    }
    account.notePath(conditions)
    if policy?.limit(to: conditions.allowance) == true { try followPolicy() }
    switch header.kind {
    case .frame:
      account.noteFrame(body, header.frame, arrival: arrival.nanoseconds)
      receiver.receive(body, header.frame, arrival: arrival)
    case .report:
      guard let report = Self.report(body) else { return }
      try followReport(report, conditions, now: now)
    case .request:
      guard let request = Self.request(body) else { return }
      sender.handle(request)
    }
  }

  /// The other side says what it lost: the sender spends its bits accordingly.
  private mutating func followReport(
    _ report: AudioReportFrame, _ conditions: PathConditions, now: Instant
  ) throws(OpusError) {
    account.noteReport(report)
    let isNew = policy?.handle(report, allowance: conditions.allowance, now: now)
    if isNew == true { try followPolicy() }
  }

  private mutating func followPolicy() throws(OpusError) {
    if let plan = policy?.plan { try sender.follow(plan) }
  }

  /// `nil` for a body that cannot be read: it was counted when its packet was read.
  private static func report(_ body: Span<UInt8>) -> AudioReportFrame? {
    do throws(WireError) { return try AudioReportFrame(body: body) } catch { return nil }
  }

  private static func request(_ body: Span<UInt8>) -> AudioRequestFrame? {
    do throws(WireError) { return try AudioRequestFrame(body: body) } catch { return nil }
  }

  /// The user asks for another rate or frame length; takes effect with the next frame.
  ///
  /// - Parameters:
  ///   - bitsPerSecond: of the frames themselves, 6000...510 000.
  ///   - frameLength: of what is sent from now on.
  package mutating func setEncoding(
    bitsPerSecond: Int, frameLength: FrameLength
  ) throws(OpusError) {
    policy?.setEncoding(bitrate: bitsPerSecond, frameLength: frameLength)
    try followPolicy()
  }

  /// 5 ms have passed: decides what this side asks for and reports.
  package mutating func tick(now: Instant) {
    if let request = receiver.pollRequest(now: now) { self.request = request }
    if let report = receiver.pollReport(now: now) { self.report = report }
    outbound.tick()
  }

  /// How many of the ticks that follow need neither a packet that may still come nor the source:
  /// their sound is decoded, no frame is due, and nothing is missing. A driver may make them at
  /// once, `tick` and `pull` alone, instead of coming back for each; 0...3.
  ///
  /// - Parameter hasSource: whether frames are captured when they are due.
  package func certainTickCount(hasSource: Bool) -> Int {
    let untilFrame = hasSource ? outbound.ticksUntilDue(sender.plan.frameLength) - 1 : .max
    return max(0, min(receiver.certainPullCount, untilFrame, Self.mostTicksAhead))
  }

  /// What sound is held at the least so that it does not run ahead of its picture: `wanted`
  /// nanoseconds more than its delay before; 0 for nothing.
  package mutating func holdForPicture(_ wanted: Int64) {
    guard wanted != pictureHold else { return }
    if pictureHold == 0 {
      delayBeforeHold = Int64(clamping: receiver.buffer.statistics.targetDelayNanoseconds)
    }
    pictureHold = wanted
    receiver.leastDelay = wanted == 0 ? 0 : delayBeforeHold &+ wanted
  }

  // MARK: - Out

  /// Gives exactly 5 ms of sound, whatever has or has not come.
  ///
  /// - Parameter output: at least 240 samples for each channel, interleaved.
  /// - Returns: whether the jitter buffer was asked; `false` while the other side is muted.
  @_lifetime(output: copy output)
  package mutating func pull(into output: inout MutableSpan<Int16>, now: Instant) -> Bool {
    let isPaused = isRemoteMuted && receiver.buffer.isEmpty
    if isPaused {
      pausedSamples &+= UInt64(AudioFormat.pullSampleCount)
      receiver.buffer.pause()
      Self.clear(&output)
      lastOperation = .silence
    } else {
      lastOperation = receiver.buffer.pull(into: &output, now: now)
      if isUnwanted { Self.clear(&output) }
    }
    account.informBuffer(&receiver.buffer, peerHeard: peerHeard)
    return !isPaused
  }

  @_lifetime(output: copy output)
  private static func clear(_ output: inout MutableSpan<Int16>) {
    for index in output.indices { output[index] = 0 }
  }

  /// Takes one frame of the source, `wantedSampleCount` samples of each channel, and encodes it.
  ///
  /// - Parameters:
  ///   - samples: interleaved.
  ///   - channels: of `samples`, 1 or 2; two are mixed where the encoder has one.
  package mutating func capture(
    _ samples: Span<Int16>, channels: Int
  ) throws(OpusError) {
    try outbound.capture(samples, channels: channels, isMuted: isMuted, &sender, &account)
  }

  /// How many samples of each channel `capture` takes now: a frame whose last sample has passed, or
  /// 0 while there is none.
  package var wantedSampleCount: Int {
    outbound.isDue(sender.plan.frameLength) ? sender.plan.frameLength.sampleCount : 0
  }

  /// Appends what is to be sent next; `nil` when there is nothing more.
  ///
  /// - Parameter body: with room for 1275 bytes.
  @_lifetime(body: copy body)
  package mutating func pollTransmit(into body: inout OutputSpan<UInt8>) -> AudioBodyHeader? {
    if let request = self.request.take() {
      request.writeBody(to: &body)
      return AudioBodyHeader(.request)
    }
    if let report = self.report.take() {
      report.writeBody(to: &body)
      return AudioBodyHeader(.report)
    }
    if let frame = outbound.pollFrame(into: &body) { return AudioBodyHeader(frame) }
    return outbound.pollRepetition(into: &body, isMuted: isMuted, &sender).map(AudioBodyHeader.init)
  }

  /// Whether `pollTransmit` may give something.
  package var hasOutput: Bool {
    request != nil || report != nil || outbound.hasFrame || sender.hasRepetitions
  }

  /// That audio has become bad, or good again; `nil` for neither.
  package mutating func pollQualityChange() -> QualityChange? {
    guard let change = receiver.buffer.quality.pollChange() else { return nil }
    account.noteCause(of: change)
    return change
  }

  /// How long the last pull of the jitter buffer took, by the driver's clock.
  package mutating func notePull(nanoseconds: UInt64) {
    account.notePull(nanoseconds: nanoseconds)
  }

  // MARK: - Recording

  /// Gives `write` the next bytes of what was taken down, at least `least` of them, and forgets
  /// them.
  package mutating func drainRecording(atLeast least: Int, to write: ([UInt8]) -> Void) {
    guard let bytes = receiver.buffer.recording?.bytes, bytes.count >= max(least, 1) else { return }
    write(bytes)
    receiver.buffer.recording?.removeBytes()
  }

  /// 100 ms, in samples: what the word of a relay takes at the most, where it is lost once.
  private static let wordDelay = 4800
  /// 15 ms: what a sink must bear to be given early.
  private static let mostTicksAhead = 3
  /// 1 GiB: a day of speech with copies.
  private static let longestRecording = 1 << 30
}
