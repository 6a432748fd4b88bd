import Congestion
import GroupKeys
import Primitives
import SecureSession
import Video
import Wire

/// The pictures of a channel at one member, by way of a relay: the own ones on their way there, as
/// in a call, and those of hosts that come. Whole pictures are sealed, then cut. A class, because
/// its parts are large and change in place; one `ChannelRelayMachine` owns it.
package final class RelayedPictures {
  /// What goes out, by the estimate of the way to the relay.
  let media = CallMedia(audioToSend: 1, receivedAudio: 1)
  /// Pictures of others are wanted, and of all of them but these.
  private var receives: Bool
  private var unwanted: Set<UInt32> = []
  /// Bit/s of the own pictures, whatever others can take.
  private let most: Int
  /// The low stream beside them.
  private var low: RelayedLowStream
  /// Whether the relay takes CHANNEL_LOW: to one that does not it is a violation.
  private var knowsLow = false
  /// What the relay sends of others' pictures at the most.
  private var view = ChannelLowFrame.View.usual
  private var streams = RelayedPictureStreams()
  private var memory: [UInt8] = []
  private var nextWish = Instant.zero
  /// When the relay last said that somebody wants the own pictures.
  private var wantedUntil = Instant.zero
  private(set) var unopenedCount: UInt64 = 0
  /// When the others are told next that there are no pictures, while the line carries none.
  private var nextPause: Instant?
  /// The way to the relay carries no own pictures.
  private var isFallenBack = false
  /// The own pictures are kept back.
  private var isMuted = false
  /// Of the last own picture.
  private var lastMediaTime: UInt32 = 0
  /// Hosts that have said that they show none, or show some again.
  private var pauses: [(uid: UInt32, isPaused: Bool)] = []

  /// - Parameter receives: Pictures of others are wanted.
  init(_ settings: VideoSettings, receives: Bool) {
    self.receives = receives
    most = settings.mostBitsPerSecond
    low = RelayedLowStream(settings.small)
    var settings = settings
    // The relay repairs, and of what is lost on one member's line parity would cost all.
    settings.protects = false
    media.video = VideoLink(settings)
    _ = media.video?.handleWanted(.audio)
  }

  /// There is a session with the relay. Who sends nothing needs no estimate of the way there.
  ///
  /// - Parameter knowsLow: The relay has said that it takes low streams.
  func open(on association: Association, knowsLow: Bool) {
    nextWish = .zero
    self.knowsLow = knowsLow
    guard media.video?.isEnabled == true else { return }
    media.mayStart = true
    media.open(on: association, hasVideo: true)
  }

  func setSends(_ sends: Bool, on association: Association?) {
    media.setVideo(sends: sends)
    if let association { open(on: association, knowsLow: knowsLow) }
  }

  // MARK: - In

  /// A fragment of a host's picture.
  ///
  /// - Returns: Whether somebody is to ask for pictures.
  func handle(
    _ frame: VideoMediaFrame, _ payload: Span<UInt8>, of uid: UInt32, source: UInt8, now: Instant
  ) -> Bool {
    guard receives, !unwanted.contains(uid) else { return false }
    guard let stream = streams.begin(uid, source, beside: unwanted, now: now) else { return false }
    stream.handle(frame, payload, now: now)
    defer { stream.isTold = true }
    return !stream.isTold
  }

  func handle(
    _ request: VideoNackFrame, in packet: Span<UInt8>, on association: Association, now: Instant
  ) {
    guard request.stream == 1 else {
      _ = media.handleVideo(.videoNack(request), in: packet, on: association, now: now)
      return
    }
    let smoothed = Int64(clamping: association.history.roundTrip.smoothed)
    low.handle(request, in: packet, roundTrip: .nanoseconds(smoothed), now: now)
  }

  /// The relay says how much of the own pictures is wanted.
  func handleWants(_ bitsPerSecond: UInt32, now: Instant) {
    wantedUntil = bitsPerSecond == 0 ? now : now + Self.wishLife
    let (most, least) = (self.most, Self.leastBitsPerSecond)
    media.video?.change { $0.mostBitsPerSecond = max(least, min(most, Int(bitsPerSecond))) }
    settleWanted(now: now)
  }

  /// The relay says what it sends at the most, and whether it wants the own low stream.
  ///
  /// - Returns: What it sends, if that is news.
  func handleLow(_ frame: ChannelLowFrame, now: Instant) -> ChannelLowFrame.View? {
    low.handleWanted(frame.bitsPerSecond, now: now)
    guard receives, frame.view != view else { return nil }
    view = frame.view
    return view
  }

  func remove(_ uid: UInt32) {
    streams.remove(uid)
    unwanted.remove(uid)
  }

  /// - Returns: Whether the way to the relay carries no pictures, or does again, if that is news.
  func handleTimeout(on association: Association, now: Instant) -> FallbackMachine.Change? {
    settleWanted(now: now)
    low.handleTimeout(now: now)
    let change = media.checkVideo(on: association, now: now).publishing
    if let change {
      isFallenBack = change.mode == .audioOnly
      settlePause(now: now)
    }
    return change
  }

  /// Whether pictures of others are wanted at all: the relay sends none to whoever wants none.
  package func setReceives(_ receives: Bool) {
    guard receives != self.receives else { return }
    self.receives = receives
    if !receives { for stream in streams.all.values { stream.restart() } }
    nextWish = .zero
  }

  /// Whether a host's pictures are wanted. The relay does not know: what comes is dropped.
  package func setUnwanted(_ isUnwanted: Bool, _ uid: UInt32) {
    if !isUnwanted {
      unwanted.remove(uid)
    } else if unwanted.insert(uid).inserted {
      streams[uid]?.restart()
    }
  }

  /// What has come of a host; `nil` before something has.
  func statistics(of uid: UInt32) -> VideoReceiveStatistics? { streams[uid]?.statistics }

  /// Whether the own pictures end where the way to the relay does not carry them.
  package func setFallsBack(_ fallsBack: Bool) { media.video?.change { $0.fallsBack = fallsBack } }

  /// The own pictures are kept back from now on, or go on. Who wants them is told as of a line that
  /// does not carry them.
  func setMuted(_ isMuted: Bool, now: Instant) {
    guard isMuted != self.isMuted else { return }
    self.isMuted = isMuted
    settlePause(now: now)
    settleWanted(now: now)
  }

  private func settlePause(now: Instant) {
    nextPause = isMuted || isFallenBack ? nextPause ?? now : nil
  }

  /// Those whose pictures may be given out because time has passed; each once, until it was asked.
  func takeDue(now: Instant) -> [UInt32] {
    var due: [UInt32] = []
    for (uid, stream) in streams.all where !stream.isTold {
      guard let deadline = stream.requestDeadline, deadline <= now else { continue }
      stream.isTold = true
      due.append(uid)
    }
    return due.sorted()
  }

  private func settleWanted(now: Instant) {
    let isWanted = now < wantedUntil && !isMuted
    guard media.video?.isWanted != isWanted else { return }
    _ = media.video?.handleWanted(isWanted ? [.audio, .video] : .audio)
  }

  // MARK: - Out

  @_lifetime(packet: copy packet)
  func write(
    into packet: inout OutputSpan<UInt8>, on association: Association, now: Instant
  ) -> Bool {
    if now >= nextWish {
      nextWish = now + Self.wishPace
      Session.beginPacket(&packet)
      ChannelWantsFrame.write(receives ? .max : 0, to: &packet)
      let isSending = media.video?.isEnabled == true && !isMuted
      let offer = isSending ? low.offer(association.uplink) : 0
      if knowsLow { ChannelLowFrame(bitsPerSecond: offer).write(to: &packet) }
      if association.seal(&packet, elicits: false, hasMessages: false, now: now) { return true }
      packet.removeAll()
    }
    for (_, stream) in streams.all.sorted(by: { $0.key < $1.key }) {
      guard let deadline = stream.requestDeadline, deadline <= now else { continue }
      stream.lastRequest = now
      Session.beginPacket(&packet)
      ChannelPictureFrame.write(source: stream.source, to: &packet)
      if stream.pollRequest(into: &packet, now: now),
        association.seal(&packet, elicits: false, hasMessages: false, now: now)
      {
        return true
      }
      packet.removeAll()
    }
    // The low stream is small, and for those whose lines are.
    if low.write(into: &packet, on: association, now: now) { return true }
    if media.writeVideo(into: &packet, on: association, now: now) != nil { return true }
    return false
  }

  /// What is asked of the next picture; see `PeerMachine.videoDemand`.
  func demand(on association: Association, now: Instant, ahead: Duration) -> VideoDemand? {
    media.videoDemand(
      on: association, now: now, ahead: ahead, beside: low.taken(now: now))
  }

  /// The same of the low stream.
  func lowDemand(on association: Association, now: Instant) -> VideoDemand? {
    guard media.video?.isPublishing == true, media.mayStart, !isMuted else { return nil }
    return low.demand(association.uplink, now: now)
  }

  /// What fills the path beside all else.
  @_lifetime(packet: copy packet)
  func writePadding(
    into packet: inout OutputSpan<UInt8>, on association: Association, now: Instant
  ) -> Bool {
    media.writePadding(into: &packet, on: association, now: now) != nil
  }

  /// While the way to the relay carries no pictures, or they are kept back, the others are told: by
  /// a key frame in which nothing is.
  func sayPaused(keys: inout GroupKeyMachine, now: Instant) {
    guard let due = nextPause, due <= now, let size = PictureSize(width: 16, height: 16) else {
      return
    }
    nextPause = now + Self.pausePace
    guard now < wantedUntil, media.video?.isEnabled == true else { return }
    lastMediaTime = (lastMediaTime &+ 1) & 0xFF_FFFF
    let frame = EncodedFrame(
      isKeyFrame: true, size: size, place: TemporalPattern(layerCount: 1).place(isKeyFrame: true),
      quantizer: 0, byteCount: 0)
    var bytes: [UInt8] = []
    guard seal(&bytes, frame, mediaTime: lastMediaTime, by: &keys) else { return }
    media.video?.sender.handle(frame, bytes: &bytes, mediaTime: lastMediaTime, now: now)
  }

  /// The next host that shows no pictures at present, or some again.
  func popPause() -> (uid: UInt32, isPaused: Bool)? { pauses.isEmpty ? nil : pauses.removeFirst() }

  /// Seals one encoded picture and queues it.
  func send(
    _ frame: EncodedFrame, bytes: inout [UInt8], mediaTime: UInt32, keys: inout GroupKeyMachine,
    on association: Association, now: Instant
  ) -> Bool {
    guard seal(&bytes, frame, mediaTime: mediaTime, by: &keys) else { return false }
    guard frame.stream == 0 else {
      return low.send(frame, bytes: &bytes, mediaTime: mediaTime, now: now)
    }
    lastMediaTime = mediaTime
    return media.sendVideo(frame, bytes: &bytes, mediaTime: mediaTime, on: association, now: now)
      != nil
  }

  private func seal(
    _ bytes: inout [UInt8], _ frame: EncodedFrame, mediaTime: UInt32,
    by keys: inout GroupKeyMachine
  ) -> Bool {
    let room = GroupKeyMachine.headerRoom
    let label = ChannelPictureLabel(
      stream: frame.stream, temporalLayer: frame.temporalLayer, isKeyFrame: frame.isKeyFrame,
      mediaTime: mediaTime)
    let metadata = label.metadata
    let text = room..<(room + bytes.count)
    var sealed: [UInt8] = []
    swap(&sealed, &memory)
    sealed.removeAll(keepingCapacity: true)
    sealed.append(addingCapacity: text.upperBound + GroupKeyMachine.tagByteCount) { output in
      output.append(zeros: room)
      output.append(bytes: bytes)
      output.append(zeros: GroupKeyMachine.tagByteCount)
    }
    var place = text
    do throws(SFrameError) {
      var span = sealed.mutableSpan
      place = try keys.seal(&span, text: text, metadata: metadata.span)
    } catch {
      return false  // We publish nothing at the moment.
    }
    sealed.removeLast(sealed.count - place.upperBound)
    sealed.removeFirst(place.lowerBound)
    swap(&bytes, &sealed)
    swap(&memory, &sealed)
    return true
  }

  /// The next picture of a host, opened; its bytes replace those of `output`.
  ///
  /// - Returns: The picture, whether it is the first of the host, and of which stream it is where
  ///   the one before was of the other.
  func poll(
    of uid: UInt32, into output: inout [UInt8], keys: inout GroupKeyMachine, now: Instant
  ) -> (frame: AssembledFrame, isFirst: Bool, stream: Int?)? {
    guard let stream = streams[uid] else { return nil }
    let former = stream.current
    while let frame = stream.poll(into: &output, now: now) {
      guard Self.open(&output, frame, stream.current, uid, &keys, now: now) else {
        unopenedCount &+= 1
        stream.handleDecodeFailure(now: now)
        continue
      }
      if stream.isPaused != output.isEmpty {
        stream.isPaused = output.isEmpty
        pauses.append((uid, stream.isPaused))
      }
      guard !output.isEmpty else { continue }
      defer { stream.hasOpened = true }
      return (frame, !stream.hasOpened, stream.current == former ? nil : stream.current)
    }
    stream.isTold = false
    return nil
  }

  private static func open(
    _ bytes: inout [UInt8], _ frame: AssembledFrame, _ stream: Int, _ uid: UInt32,
    _ keys: inout GroupKeyMachine, now: Instant
  ) -> Bool {
    let label = ChannelPictureLabel(
      stream: UInt8(stream & 3), temporalLayer: frame.temporalLayer, isKeyFrame: frame.isKeyFrame,
      mediaTime: frame.mediaTime)
    let metadata = label.metadata
    var text = 0..<0
    do throws(SFrameError) {
      var span = bytes.mutableSpan
      text = try keys.open(
        &span, at: 0..<span.count, from: uid, metadata: metadata.span, now: now)
    } catch {
      return false  // Counted by whoever asked: `unopenedCount`.
    }
    // One in which nothing is says that there are none at present.
    guard !text.isEmpty || frame.isKeyFrame else { return false }
    bytes.removeLast(bytes.count - text.upperBound)
    bytes.removeFirst(text.lowerBound)
    return true
  }

  func handleDecodeFailure(of uid: UInt32, now: Instant) {
    streams[uid]?.handleDecodeFailure(now: now)
  }

  func setRoundTrip(_ roundTrip: Duration) {
    for stream in streams.all.values { stream.setRoundTrip(roundTrip) }
  }

  func nextDeadline(on association: Association) -> Instant? {
    var deadline = earliest(nextWish, media.deadline(on: association))
    deadline = earliest(deadline, nextPause)
    deadline = earliest(deadline, low.deadline(on: association))
    for stream in streams.all.values { deadline = earliest(deadline, stream.requestDeadline) }
    return deadline
  }

  /// From one word that there are no pictures to the next: who joins meanwhile hears it too.
  private static let pausePace = Duration.seconds(5)
  /// From one word about what is wanted to the next, and how long the relay's holds.
  private static let wishPace = Duration.seconds(2)
  private static let wishLife = Duration.seconds(10)
  /// However little the best of the others' lines carries.
  private static let leastBitsPerSecond = 60_000
}
