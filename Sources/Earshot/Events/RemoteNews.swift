internal import Primitives
internal import Reactor
internal import Wire

/// What the other side of a call has said of itself besides what it sends, and what it was told in
/// turn. Pure, but for the turns of its pictures, which the decoder's thread reads.
struct RemoteNews {
  /// Its grades of what it sends and of what it receives, 0...6.
  private(set) var quality: (sent: Int, received: Int)?
  /// The small pictures that it offers.
  private(set) var low: SmallVideo?
  /// What its pictures are, as far as it has said.
  var stream: VideoStreamKind { state.contains(.smallVideo) ? .low : .high }
  let turns = Guarded(PictureTurns())
  private var state = MediaState.audio
  private var toldQuality: (sent: Int, received: Int)?

  /// It says what it sends, and what it has switched off.
  mutating func handleState(_ now: MediaState) -> [CallProgress] {
    let changed = state.symmetricDifference(now)
    state = now
    var steps: [CallProgress] = []
    func appendStep(_ bit: MediaState, _ step: (Bool) -> CallProgress) {
      if changed.contains(bit) { steps.append(step(!now.contains(bit))) }
    }
    appendStep(.audioOff, CallProgress.remoteAudioEnabled)
    appendStep(.videoOff, CallProgress.remoteVideoEnabled)
    appendStep(.audioSourceOff, CallProgress.remoteAudioCaptureEnabled)
    appendStep(.videoSourceOff, CallProgress.remoteVideoCaptureEnabled)
    if changed.contains(.smallVideo) { steps.append(.remoteVideoStreamChanged(stream)) }
    return steps
  }

  /// It says something else.
  mutating func handleControl(_ control: CallControlMessage) -> [CallProgress] {
    switch control {
    case .quality(let sent, let received): quality = (Int(sent), Int(received))
    case .videoRotation(let rotation, let mediaTime):
      turns.withLock { $0.appendRotation(rotation, from: mediaTime) }
    case .smallVideo(let offered):
      guard offered != low else { return [] }
      low = offered
      return [.remoteLowVideoOffered(offered.map(LowVideoStream.init))]
    case .music(let isOn): return [.remoteAudioMixing(isOn)]
    case .channel(let pass): return [.invitedToChannel(ChannelInvitation(pass))]
    case .channelRemark(let remark): return [.channelWord(ChannelWord(remark))]
    case .confirm, .hangUp, .mediaState, .mediaWanted, .videoTest: break
    }
    return []
  }

  /// What it is to be told of the own grades; `nil` when it knows them.
  mutating func say(sent: Int, received: Int) -> CallControlMessage? {
    if let toldQuality, toldQuality == (sent, received) { return nil }
    toldQuality = (sent, received)
    return .quality(sent: UInt8(clamping: sent), received: UInt8(clamping: received))
  }
}

extension MixerNote {
  /// What the other side is told of it.
  var told: CallControlMessage? {
    guard case .music(let change) = self else { return nil }
    switch (change.state, change.reason) {
    case (.playing, .startedByUser), (.playing, .resumedByUser): return .music(true)
    case (.paused, _), (.stopped, _): return .music(false)
    case (.playing, _), (.failed, _): return nil
    }
  }
}

/// How the pictures of one side are turned, by media time. Pure.
struct PictureTurns: Sendable {
  private var present = PictureRotation.none
  /// What comes, in the order of its beginning; few.
  private var coming: [(rotation: PictureRotation, mediaTime: UInt32)] = []

  /// - Parameter mediaTime: from which on, 24 bits in 10 ms / 256.
  mutating func appendRotation(_ rotation: PictureRotation, from mediaTime: UInt32) {
    if coming.count == Self.most { present = coming.removeFirst().rotation }
    coming.append((rotation, mediaTime))
  }

  /// Of the picture of that time; times before it are not asked for again.
  mutating func rotation(at mediaTime: UInt32) -> PictureRotation {
    while let next = coming.first, (mediaTime &- next.mediaTime) & 0xFF_FFFF < 0x80_0000 {
      present = next.rotation
      coming.removeFirst()
    }
    return present
  }

  /// The same of a picture that is not shown yet.
  func coming(at mediaTime: UInt32) -> PictureRotation {
    coming.last { (mediaTime &- $0.mediaTime) & 0xFF_FFFF < 0x80_0000 }?.rotation ?? present
  }

  private static let most = 8
}
