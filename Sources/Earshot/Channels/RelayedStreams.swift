internal import Peer
internal import Primitives
internal import Reactor

/// The states of all streams of a channel by a relay: those of this side, and those of each host.
/// The rules are those of a call (`CallStreams`). Pure; each method returns what is to be told.
struct RelayedStreams {
  /// What this side has switched of its own media.
  var switches = MediaSwitches()
  /// It is to listen only, and the rendezvous does not know yet: nothing is sent.
  var isResigning = false
  /// Whose media it does not want.
  var unwanted = (audio: HostChoice<UInt32>(), video: HostChoice<UInt32>())
  let began: Instant
  private var own: CallStreams
  private var hosts: [UInt32: CallStreams] = [:]
  /// There is a seat, and media may flow.
  private var hasSeat = false
  private var hasScreen = false
  /// What the relay sends of others' pictures at the most.
  private var pictures = PictureFallback.usual

  init(now: Instant = SystemClock.now) {
    began = now
    own = CallStreams(now: now)
  }

  /// All hosts, by rising uid.
  var uids: [UInt32] { hosts.keys.sorted() }
  var isPublishingAudio: Bool { own.isPublishingAudio }
  func expectsPictures(of uid: UInt32) -> Bool { hosts[uid]?.expectsPictures ?? true }
  func isMuted(_ uid: UInt32) -> Bool { hosts[uid]?.isRemoteAudioMuted ?? false }

  /// Whose media is neither played nor shown: everybody's, where its kind is switched off.
  var mutes: (audio: HostChoice<UInt32>, video: HostChoice<UInt32>) {
    (
      switches.audio.isOff ? HostChoice(all: true) : unwanted.audio,
      switches.video.isOff ? HostChoice(all: true) : unwanted.video
    )
  }

  /// Whether nothing of the own media goes out.
  var silence: (audio: Bool, video: Bool) {
    (isResigning || switches.audio.isSilent, isResigning || switches.video.isSilent)
  }

  // MARK: - Beginning and end

  /// A host is in the channel.
  mutating func add(_ uid: UInt32, hasScreen: Bool, now: Instant) -> [ChannelRelayStep] {
    self.hasScreen = hasScreen
    guard hosts[uid] == nil else { return [] }
    hosts[uid] = CallStreams(now: now)
    return beginHost(uid, now: now)
  }

  mutating func remove(_ uid: UInt32, now: Instant) -> [ChannelRelayStep] {
    unwanted.audio.remove(uid)
    unwanted.video.remove(uid)
    guard var streams = hosts.removeValue(forKey: uid) else { return [] }
    return steps(streams.end(now: now), of: uid, now: now)
  }

  /// There is a seat.
  mutating func begin(now: Instant) -> [ChannelRelayStep] {
    hasSeat = true
    return uids.flatMap { beginHost($0, now: now) }
  }

  /// There is none any more. Who is host stays so.
  mutating func end(now: Instant) -> [ChannelRelayStep] {
    hasSeat = false
    pictures = .usual
    var told = endOwn(now: now)
    for uid in uids {
      guard var streams = hosts[uid] else { continue }
      told += steps(streams.end(now: now), of: uid, now: now)
      hosts[uid] = CallStreams(now: now)
    }
    return told
  }

  private mutating func beginHost(_ uid: UInt32, now: Instant) -> [ChannelRelayStep] {
    guard hasSeat, var streams = hosts[uid] else { return [] }
    var told = Self.apply(mutes, to: &streams, uid, now: now)
    var beginning = CallStreams.Beginning(hasVideoSink: hasScreen)
    beginning.isOwn = false
    told += streams.begin(beginning, now: now)
    if pictures == .audioOnly {
      told += streams.changeRemoteVideo(now: now) { $0.handle(subscribesAudioOnly: true) }
    }
    hosts[uid] = streams
    return steps(told, of: uid, now: now)
  }

  /// This side publishes from now on.
  mutating func beginOwn(
    _ sound: RelayedSound, _ view: RelayedView, now: Instant
  ) -> [ChannelRelayStep] {
    var beginning = CallStreams.Beginning(hasAudioSource: true, isAudioMuted: sound.isMuted)
    beginning.hasVideoSource = view.isSending
    beginning.isVideoMuted = view.isMuted
    beginning.isRemote = false
    return steps(own.begin(beginning, now: now), of: nil, now: now)
  }

  mutating func endOwn(now: Instant) -> [ChannelRelayStep] {
    let told = own.end(now: now)
    if !told.isEmpty { own = CallStreams(now: now) }
    return steps(told, of: nil, now: now)
  }

  // MARK: - Changes

  mutating func changeOwn(
    _ body: (inout CallStreams) -> [CallProgress]
  ) -> [ChannelRelayStep] {
    steps(body(&own), of: nil, now: began)
  }

  /// One that comes without having been told of is a host as well.
  mutating func change(
    _ uid: UInt32, now: Instant, _ body: (inout CallStreams) -> [CallProgress]
  ) -> [ChannelRelayStep] {
    var told = hosts[uid] == nil ? add(uid, hasScreen: hasScreen, now: now) : []
    guard var streams = hosts[uid] else { return told }
    told += steps(body(&streams), of: uid, now: now)
    hosts[uid] = streams
    return told
  }

  mutating func changeVideo(
    of uid: UInt32, now: Instant = SystemClock.now,
    _ body: (inout RemoteVideo) -> [RemoteVideoStep]
  ) -> [ChannelRelayStep] {
    change(uid, now: now) { $0.changeRemoteVideo(now: now, body) }
  }

  /// What the threads of the own pictures have noted, and whether some have left.
  mutating func handleOwn(
    _ notes: [VideoNote], hasSent: Bool, now: Instant
  ) -> [ChannelRelayStep] {
    var told = notes.flatMap { own.handle($0, now: now) }
    if hasSent, own.awaitsVideoFrame { told += own.handleVideoSent(now: now) }
    return steps(told, of: nil, now: now)
  }

  mutating func handle(
    _ notes: [VideoNote], of uid: UInt32, now: Instant
  ) -> [ChannelRelayStep] {
    change(uid, now: now) { streams in notes.flatMap { streams.handle($0, now: now) } }
  }

  /// What the relay sends of pictures at the most, by what the line to this side carries.
  mutating func handleView(_ most: PictureFallback, now: Instant) -> [ChannelRelayStep] {
    let isAudioOnly = most == .audioOnly
    let isOther = isAudioOnly != (pictures == .audioOnly)
    pictures = most
    guard isOther else { return [] }
    return uids.flatMap { uid in
      changeVideo(of: uid, now: now) { $0.handle(subscribesAudioOnly: isAudioOnly) }
    }
  }

  /// Another seat begins with the usual pictures, and says nothing of it.
  mutating func restartView(now: Instant) -> [ChannelRelayStep] {
    guard pictures != .usual else { return [] }
    return [.subscribeFallback(.usual)] + handleView(.usual, now: now)
  }

  /// What is wanted of hosts is another thing than before.
  mutating func applyMutes(now: Instant) -> [ChannelRelayStep] {
    let (isSilent, isDark) = (switches.audio.isSilent, switches.video.isSilent)
    let ofOwn = changeOwn {
      $0.setAudioMuted(isSilent, now: now) + $0.setVideoMuted(isDark, now: now)
    }
    return ofOwn
      + uids.flatMap { uid in
        let mutes = self.mutes
        return change(uid, now: now) { Self.apply(mutes, to: &$0, uid, now: now) }
      }
  }

  /// Tells the machine of a seat whose pictures are wanted.
  func inform(_ machine: borrowing ChannelRelayMachine, hasScreen: Bool) {
    machine.pictures?.setReceives(hasScreen && !mutes.video.isAll)
    for uid in uids { machine.pictures?.setUnwanted(mutes.video.covers(uid), uid) }
  }

  private static func apply(
    _ mutes: (audio: HostChoice<UInt32>, video: HostChoice<UInt32>),
    to streams: inout CallStreams, _ uid: UInt32, now: Instant
  ) -> [CallProgress] {
    streams.setRemoteAudioUnwanted(mutes.audio.covers(uid), now: now)
      + streams.changeRemoteVideo(now: now) { $0.handle(isUnwanted: mutes.video.covers(uid)) }
  }

  // MARK: - What is told

  func milliseconds(at now: Instant) -> Int { Int((now - began).milliseconds) }

  private func steps(
    _ progress: [CallProgress], of uid: UInt32?, now: Instant
  ) -> [ChannelRelayStep] {
    progress.compactMap { step in
      switch step {
      case .firstFrameReceived: uid.map { .firstFrame(uid: $0, elapsed: now - began) }
      case .videoFailed(let text): .videoFailed(text)
      // A relay's members say it in words of their own: `audioMuted`, `picturesPaused`.
      case .remoteAudioMuted, .remoteVideoMuted: nil
      default: .progress(uid: uid, step)
      }
    }
  }
}
