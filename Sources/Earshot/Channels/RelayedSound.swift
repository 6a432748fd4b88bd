internal import Audio
internal import Glibc
internal import GroupKeys
internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// The pipelines of a channel's audio by way of a relay: one that encodes the own source, and one
/// for each host that is heard. On the loop's thread.
struct RelayedSound {
  /// One pipeline, and its place on the loop.
  private struct Line {
    let audio: CallAudio
    let watch: EventLoop.Token
    /// Nothing is made up while nothing comes.
    var isSilent = false
  }

  private var sending: Line?
  private var playing: [UInt32: Line] = [:]
  private var sums = SoundSums()
  private var level: UInt8 = 127

  /// Nothing of the own sound goes out; pictures go on by its time.
  var isMuted = false
  /// Frames were kept back, and none has gone out since.
  private var hasKeptBack = false

  /// What had come by the relay before.
  var hosts = RelayedHosts()
  /// When a frame of a host last came.
  private(set) var lastHeard: [UInt32: Instant] = [:]

  /// Music in the own sound.
  var mixing = MixingDesk()
  /// Music plays in the own sound: a new seat is told so.
  private var hasMusic = false

  /// What of volumes was told.
  var volumes = VolumeTeller()

  var isSending: Bool { sending != nil }
  var sendingRings: AudioRings? { sending?.audio.rings }
  func playingRings(of uid: UInt32) -> AudioRings? { playing[uid]?.audio.rings }
  var sendingAudio: CallAudio? { sending?.audio }
  func playingAudio(of uid: UInt32) -> CallAudio? { playing[uid]?.audio }
  var playingUIDs: [UInt32] { playing.keys.sorted() }

  // MARK: - Volumes

  /// How loud the own sound and all hosts were since the report before.
  mutating func reportVolumes(
    now: Instant
  ) -> (reports: [VolumeReport], speaker: VolumeParty?) {
    let sources = playing.sorted { $0.key < $1.key }.map { uid, line in
      VolumeTeller.Source(
        party: .member(uid), sums: line.audio.sums, isMuted: true, isRemoteMuted: false)
    }
    return volumes.report(sources, own: sending?.audio.sums, isOwnMuted: isMuted, now: now)
  }

  /// Looks for the pitch of the own voice where that is wanted.
  func updatePitch() { sending?.audio.setPitch(wanted: volumes.options?.reportsPitch == true) }

  // MARK: - Out

  mutating func beginSending(
    _ options: CallOptions, on loop: EventLoop, _ body: @escaping () -> Void
  ) throws {
    var options = options
    // What repeats frames is the relay's session.
    options.usesFEC = false
    options.usesNACK = false
    let wake = try LoopWake()
    let audio = try CallAudio(options, wake: wake)
    sending = Line(audio: audio, watch: try wake.attach(to: loop, body))
    updatePitch()
  }

  mutating func stopSending(on loop: EventLoop) {
    guard let line = sending else { return }
    line.audio.stop()
    loop.unwatch(line.watch)
    sending = nil
    // The next source begins with its own sums.
    sums = SoundSums()
    level = 127
    hasMusic = false
  }

  /// Hands every Opus packet that waits to the machine.
  ///
  /// - Returns: Whether one has left.
  mutating func sendFrames(by machine: inout ChannelRelayMachine, now: Instant) -> Bool {
    guard let audio = sending?.audio else { return false }
    machine.setMedia(now: now) { $0.hasMusic = hasMusic }
    measure(audio)
    var hasSent = false
    var isThere = true
    while isThere {
      isThere =
        audio.rings.toSend.pop { payload, packed in
          let header = AudioLabel(packed).header
          guard header.kind == .frame, !header.frame.hasCopies else { return true }
          guard !isMuted else {
            hasKeptBack = true
            return true
          }
          let label = ChannelAudioLabel(
            length: header.frame.length, isMarked: header.frame.isMarked || hasKeptBack,
            mediaTime: header.frame.mediaTime, level: level)
          hasKeptBack = false
          hasSent = machine.sendAudio(payload, label, now: now) || hasSent
          return true
        } ?? false
    }
    return hasSent
  }

  /// What has become of own music and effects.
  mutating func takeMixing() -> [MixerNote] {
    let notes = sendingRings?.takeMixing() ?? []
    for note in notes {
      if case .music(let isOn)? = note.told { hasMusic = isOn }
    }
    return notes
  }

  /// There is no relay: what was encoded meanwhile is not sent later.
  mutating func dropFrames() {
    guard let audio = sending?.audio else { return }
    while audio.rings.toSend.pop({ _, _ in true }) == true { hasKeptBack = true }
  }

  /// The level of what was read since the last frame, as RFC 6464.
  private mutating func measure(_ audio: CallAudio) {
    let now = audio.sums
    let seconds = now.sourceSeconds - sums.sourceSeconds
    guard seconds > 0.005 else { return }
    let power = (now.sourceEnergy - sums.sourceEnergy) / seconds
    sums = now
    let attenuation = power > 1e-12 ? min(127, max(0, -10 * log10(power))) : 127
    level = UInt8(attenuation.rounded()) | (attenuation < 55 ? 128 : 0)
  }

  // MARK: - In

  /// - Parameters:
  ///   - isUnwanted: Nothing of it is to be heard.
  ///   - body: Told when the pipeline has noted something.
  mutating func beginPlaying(
    _ uid: UInt32, isUnwanted: Bool, on loop: EventLoop, _ makeSink: (UInt32) -> any AudioSink,
    _ body: @escaping (CallAudio) -> Void
  ) throws {
    guard playing[uid] == nil, playing.count < Self.mostVoices else { return }
    var options = CallOptions(source: nil, sink: makeSink(uid))
    options.mayBeLeftOut = true
    options.usesFEC = false
    options.usesNACK = false
    let wake = try LoopWake()
    let audio = try CallAudio(options, wake: wake)
    // Reports of how it sounds go nowhere: the relay reads those of the session.
    let watch = try wake.attach(to: loop) {
      while audio.rings.toSend.pop({ _, _ in true }) == true {}
      body(audio)
    }
    audio.setUnwanted(isUnwanted)
    playing[uid] = Line(audio: audio, watch: watch)
  }

  /// A seat is new: until a host is heard nobody knows whether the relay leaves it out.
  mutating func silenceAll() { for uid in playing.keys { setSilent(true, uid) } }

  /// Nothing comes of a host. Where others are heard it is taken to be left out,
  /// if the relay is an older one that does not say so.
  mutating func handleFrozen(
    _ uid: UInt32, by machine: borrowing ChannelRelayMachine, now: Instant
  ) {
    let isOtherHeard = lastHeard.contains { $0.key != uid && now - $0.value < Self.lately }
    if isOtherHeard, !machine.tellsUnsent { setSilent(true, uid) }
  }

  /// A host is heard by a call: what the relay would bring is not missed.
  mutating func handleCall(
    with uid: UInt32, by machine: inout ChannelRelayMachine, now: Instant
  ) {
    setSilent(true, uid)
    machine.handleCall(with: uid, now: now)
  }

  /// Whose sound is to be heard is another thing than before.
  func apply(_ unwanted: HostChoice<UInt32>) {
    for (uid, line) in playing { line.audio.setUnwanted(unwanted.covers(uid)) }
  }

  /// A host keeps its sound back, says nothing, or is left out by the relay: where nothing comes
  /// nothing is made up, and it counts as nothing lost.
  mutating func setSilent(_ isSilent: Bool, _ uid: UInt32) {
    guard let line = playing[uid], line.isSilent != isSilent else { return }
    playing[uid]?.isSilent = isSilent
    line.audio.setRemoteMuted(isSilent)
  }

  /// Hands what has come of a host to its pipeline.
  mutating func playFrames(
    of uid: UInt32, by machine: inout ChannelRelayMachine, now: Instant
  ) {
    lastHeard[uid] = now
    guard let rings = playing[uid]?.audio.rings else { return }
    let conditions = PathConditions(roundTrip: machine.roundTrip)
    var isThere = true
    while isThere {
      isThere =
        machine.pollAudio(of: uid) { body, received in
          _ = rings.received.push(body, AudioLabel(received, conditions).packed)
          return true
        } ?? false
    }
    setSilent(machine.isSilent(uid), uid)
  }

  mutating func remove(_ uid: UInt32, on loop: EventLoop) {
    lastHeard[uid] = nil
    guard let line = playing.removeValue(forKey: uid) else { return }
    line.audio.stop()
    loop.unwatch(line.watch)
  }

  mutating func stop(on loop: EventLoop) {
    for line in [sending].compactMap({ $0 }) + playing.values {
      line.audio.stop()
      loop.unwatch(line.watch)
    }
    sending = nil
    playing = [:]
    lastHeard = [:]
  }

  mutating func stopVolumes(on loop: EventLoop) {
    if let timer = volumes.timer { loop.removeTimer(timer) }
    volumes.timer = nil
    volumes.set(nil)
  }

  /// Threads; a relay forwards three at once, and voices that were heard stay.
  private static let mostVoices = 64
  private static let lately = Duration.milliseconds(250)
}
