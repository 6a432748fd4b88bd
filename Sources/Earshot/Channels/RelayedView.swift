internal import GroupKeys
internal import Peer
internal import Primitives
internal import Reactor
internal import Video
internal import Wire

/// The pipelines of a channel's pictures by way of a relay: one that encodes the own source, and
/// one for each host that is seen. On the loop's thread.
struct RelayedView {
  private struct Line {
    let video: CallVideo
    let watch: EventLoop.Token
  }

  /// The own pictures are kept back: a new seat is told so.
  var isMuted = false
  private var sending: Line?
  private var showing: [UInt32: Line] = [:]
  /// How the own pictures are turned, and those of hosts.
  private var turn = PictureRotation.none
  private var turns: [UInt32: Guarded<PictureTurns>] = [:]
  /// Goes round between the loop and the threads.
  private var memory: [UInt8] = []

  var isSending: Bool { sending != nil }
  var sendingRings: VideoRings? { sending?.video.rings }
  func showingRings(of uid: UInt32) -> VideoRings? { showing[uid]?.video.rings }

  // MARK: - Out

  /// - Parameter audio: Of the own sound, whose media time the pictures keep to.
  mutating func beginSending(
    _ source: any VideoSource, audio: AudioRings, on loop: EventLoop,
    _ body: @escaping () -> Void
  ) throws {
    guard sending == nil else { return }
    var options = CallOptions(source: nil, sink: nil)
    options.videoSource = source
    turn = .none
    sending = try Self.makeLine(options, audio, Guarded(PictureTurns()), on: loop, body)
  }

  mutating func stopSending(on loop: EventLoop) {
    guard let line = sending else { return }
    Self.stop(line, on: loop)
    sending = nil
  }

  /// Hands over what was encoded, and says what is wanted of the next picture.
  ///
  /// - Returns: What the encoder's thread has noted, and how many frames have left.
  mutating func sendFrames(
    by machine: inout ChannelRelayMachine, now: Instant
  ) -> (notes: [VideoNote], count: Int) {
    guard let video = sending?.video else { return ([], 0) }
    let notes = video.rings.takeNotes()
    for case .rotated(let turn, let mediaTime) in notes {
      self.turn = turn
      say(turn, mediaTime, by: &machine, now: now)
    }
    var count = 0
    var bytes: [UInt8] = []
    swap(&bytes, &memory)
    while case .outgoing(let frame, let mediaTime)? = video.rings.outbox.withLock({
      $0.pop(into: &bytes)
    }) {
      // A new seat has not heard of it.
      say(turn, mediaTime, by: &machine, now: now)
      if machine.sendPicture(frame, bytes: &bytes, mediaTime: mediaTime, now: now) { count += 1 }
    }
    swap(&bytes, &memory)
    video.rings.setDemand(machine.pictureDemand(now: now, ahead: video.pictureInterval))
    video.rings.setLowDemand(machine.lowPictureDemand(now: now))
    return (notes, count)
  }

  private func say(
    _ turn: PictureRotation, _ mediaTime: UInt32, by machine: inout ChannelRelayMachine,
    now: Instant
  ) {
    machine.setMedia(now: now) { ($0.quarters, $0.mediaTime) = (turn.rawValue, mediaTime) }
  }

  // MARK: - In

  /// - Parameter audio: Of the host's sound.
  mutating func beginShowing(
    _ uid: UInt32, _ sink: any VideoSink, audio: AudioRings, on loop: EventLoop,
    _ body: @escaping () -> Void
  ) throws {
    guard showing[uid] == nil else { return }
    var options = CallOptions(source: nil, sink: nil)
    options.videoSink = sink
    showing[uid] = try Self.makeLine(options, audio, turns(of: uid), on: loop, body)
  }

  /// A host's pictures are turned like that, from one of them on.
  mutating func handle(_ turn: PictureRotation, mediaTime: UInt32, of uid: UInt32) {
    turns(of: uid).withLock { $0.appendRotation(turn, from: mediaTime) }
  }

  private mutating func turns(of uid: UInt32) -> Guarded<PictureTurns> {
    let found = turns[uid] ?? Guarded(PictureTurns())
    turns[uid] = found
    return found
  }

  func shows(_ uid: UInt32) -> Bool { showing[uid] != nil }

  /// The threads learn of whom pictures are to be expected: of others they tell no freeze.
  func apply(_ streams: RelayedStreams) {
    for (uid, line) in showing {
      let isExpected = streams.expectsPictures(of: uid)
      guard line.video.expectation.isOn != isExpected else { continue }
      line.video.expectation.set(isExpected)
      line.video.signalArrival()
    }
  }

  /// Hands what has come to the decoder, as much as it has room for.
  ///
  /// - Returns: What the decoder's thread has noted, and how many frames it has got.
  mutating func showFrames(
    of uid: UInt32, by machine: inout ChannelRelayMachine, now: Instant
  ) -> (notes: [VideoNote], count: Int) {
    guard let video = showing[uid]?.video else { return ([], 0) }
    let notes = video.rings.takeNotes()
    for case .decodeFailed in notes { machine.pictureFailed(of: uid, now: now) }
    var bytes: [UInt8] = []
    swap(&bytes, &memory)
    var count = 0
    while video.rings.inbox.withLock({ !$0.isFull }),
      let frame = machine.pollPicture(of: uid, into: &bytes, now: now)
    {
      // There is room, and nobody else puts anything there.
      _ = video.rings.inbox.withLock { $0.push(.incoming(frame), &bytes) }
      count += 1
    }
    swap(&bytes, &memory)
    if count > 0 { video.signalArrival() }
    return (notes, count)
  }

  mutating func remove(_ uid: UInt32, on loop: EventLoop) {
    if let line = showing.removeValue(forKey: uid) { Self.stop(line, on: loop) }
    turns[uid] = nil
  }

  mutating func stop(on loop: EventLoop) {
    stopSending(on: loop)
    for line in showing.values { Self.stop(line, on: loop) }
    showing = [:]
  }

  // MARK: - Parts

  private static func makeLine(
    _ options: CallOptions, _ audio: AudioRings, _ turns: Guarded<PictureTurns>,
    on loop: EventLoop, _ body: @escaping () -> Void
  ) throws -> Line {
    let wake = try LoopWake()
    let video = try CallVideo(options, audio: audio, turns: turns, wake: wake)
    return Line(video: video, watch: try wake.attach(to: loop, body))
  }

  private static func stop(_ line: Line, on loop: EventLoop) {
    line.video.stop()
    loop.unwatch(line.watch)
  }
}
