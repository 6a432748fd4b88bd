internal import Peer
internal import Primitives
internal import Reactor
internal import Synchronization
internal import Video
internal import Wire

/// One call's video from the other side as its thread runs it: decoded when it comes, shown when
/// the sound of its time is heard.
struct VideoReceiving: ~Copyable {
  private let sink: any VideoSink
  private let rings: VideoRings
  private let clocks: Clocks
  private var decoder: VP8Decoder?
  private var bytes: [UInt8] = []
  /// Decoded and not yet shown, the next one at `first`; few, as each has a picture's memory.
  private var waiting: [Waiting]
  private var first = 0
  private var count = 0
  private var lip = LipSync()
  private var freezes = FreezeMeter()
  private var balance = LipBalance()
  /// In milliseconds.
  private var lipOffsets = SampleReservoir()
  private var numbers = VideoReceiveNumbers()
  private var last = (shown: Instant?.none, due: Instant.zero)
  private var lastFrame: (number: UInt16, mediaTime: UInt32)?
  /// The next picture ends something: a freeze, a failure, a pause.
  private var hasToTell = true
  private var isFinished = false
  private var rotation = PictureRotation.none
  private var second = (start: Instant.zero, count: 0)
  private var pace = DecodePace()

  /// What the thread looks at.
  struct Clocks: Sendable {
    /// What is heard of the other side's sound, by its media time.
    var heard: MediaClock
    /// Since the first sample that was heard.
    var recording: MediaClock
    /// Whether pictures are to be expected: not while the other side is muted.
    var expects: Expectation
    /// Where it says that the sound is to wait.
    var hold: PictureHold
    /// How the other side's pictures are turned.
    var turns: Guarded<PictureTurns>
  }

  /// Said by the loop.
  final class Expectation: Sendable {
    private let value = Atomic<Bool>(true)
    var isOn: Bool { value.load(ordering: .relaxed) }
    func set(_ isOn: Bool) { value.store(isOn, ordering: .relaxed) }
  }

  private struct Waiting {
    var picture: VideoPicture
    var frame: AssembledFrame?
    var due = Instant.zero
  }

  init(_ sink: any VideoSink, clocks: Clocks, rings: VideoRings) {
    self.sink = sink
    self.clocks = clocks
    self.rings = rings
    let small = I420Picture(VideoLadder.rungs[VideoLadder.rungs.count - 1].box)
    waiting = (0..<Self.capacity).map { _ in Waiting(picture: VideoPicture(small)) }
  }

  /// Decodes what has come and shows what is due.
  ///
  /// - Returns: when it must run again without being told.
  mutating func run(now: Instant) -> Instant? {
    if !clocks.expects.isOn {
      freezes.pause(now: now)
      hasToTell = true
    }
    listen()
    showDue(now: now)
    var now = now
    while count < Self.capacity, decodeNext(now: &now) { showDue(now: now) }
    if clocks.expects.isOn, freezes.handleTimeout(now: now) {
      hasToTell = true
      rings.appendNote(.frozen)
    }
    if pace.pollRequest(now: now) { rings.appendNote(.decodeFailed("too many pictures")) }
    publish(now: now)
    let show = count > 0 ? waiting[first].due : nil
    return earliest(earliest(show, freezes.nextDeadline), pace.nextRequest)
  }

  /// Nothing is shown after this. Harmless when repeated.
  mutating func finish() {
    guard !isFinished else { return }
    isFinished = true
    while count > 0 { show(now: SystemClock.now) }
    measureLips()
    let now = SystemClock.now
    if clocks.expects.isOn { _ = freezes.handleTimeout(now: now) }
    publish(now: now)
    sink.finish()
  }

  private mutating func listen() {
    guard let heard = clocks.heard.lastNote else { return }
    // Both wrap; a negative time is one before the sender's first.
    let step = heard.media / 10_000_000
    lip.handleHeard(
      mediaTime: UInt16(truncatingIfNeeded: step),
      now: heard.at - .nanoseconds(heard.media % 10_000_000))
  }

  // MARK: - Decoding

  /// - Parameter now: moves on by what the decoder took.
  /// - Returns: whether there was a frame.
  private mutating func decodeNext(now: inout Instant) -> Bool {
    guard let frame = Self.takeFrame(&bytes, from: rings) else { return false }
    guard pace.admits(isKeyFrame: frame.isKeyFrame, now: now) else { return true }
    do throws(VPXError) {
      if decoder == nil { decoder = try VP8Decoder() }
      let place = (first + count) % Self.capacity
      let began = rings.stopwatch()
      let isPicture = try Self.decode(bytes, with: &decoder, into: &waiting[place].picture)
      let taken = rings.stopwatch() - began
      now = now + taken
      numbers.totalDecodeTime += taken
      numbers.totalProcessingDelay += now - frame.firstArrival
      numbers.framesDecoded += 1
      if frame.isKeyFrame { numbers.keyFramesDecoded += 1 }
      if let offset = lip.offset(of: frame.mediaTime, now: now),
        let hold = balance.recordOffset(offset, now: now)
      {
        clocks.hold.set(hold.nanoseconds)
      }
      let due = max(lip.showTime(of: frame.mediaTime, now: now), last.due)
      last.due = due
      let turned = clocks.turns.withLock { $0.coming(at: frame.mediaTime) }
      sink.record(bytes, moment(of: frame, waiting[place].picture, turned, at: due))
      guard isPicture else { return true }
      waiting[place].frame = frame
      waiting[place].due = due
      count += 1
    } catch {
      fail(error)
    }
    return true
  }

  private static func decode(
    _ bytes: [UInt8], with decoder: inout VP8Decoder?, into picture: inout VideoPicture
  ) throws(VPXError) -> Bool {
    try decoder?.decode(bytes.span, into: &picture.i420) ?? false
  }

  private static func takeFrame(_ bytes: inout [UInt8], from rings: VideoRings) -> AssembledFrame? {
    var content: [UInt8] = []
    swap(&content, &bytes)
    let (handed, wasFull) = rings.inbox.withLock { queue in
      let wasFull = queue.isFull
      return (queue.pop(into: &content), wasFull)
    }
    swap(&content, &bytes)
    // The loop has left frames where they were.
    if wasFull { rings.wake.signal() }
    guard case .incoming(let frame)? = handed else { return nil }
    return frame
  }

  private mutating func fail(_ error: VPXError) {
    numbers.decodeFailures += 1
    hasToTell = true
    rings.appendNote(
      error.call == .createDecoder ? .noDecoder("\(error)") : .decodeFailed("\(error)"))
  }

  private func moment(
    of frame: AssembledFrame, _ picture: borrowing VideoPicture, _ rotation: PictureRotation,
    at time: Instant
  ) -> VideoMoment {
    VideoMoment(
      time: .nanoseconds(clocks.recording.nanoseconds(at: time)),
      mediaTime: MediaClock.duration(ofTicks: frame.mediaTime), isKeyFrame: frame.isKeyFrame,
      width: picture.width, height: picture.height, rotation: VideoRotation(rotation))
  }

  // MARK: - Showing

  private mutating func showDue(now: Instant) {
    while count > 0, waiting[first].due <= now { show(now: now) }
  }

  private mutating func show(now: Instant) {
    guard let frame = waiting[first].frame else { return }
    let size = waiting[first].picture.i420.size
    turn(to: frame.mediaTime)
    waiting[first].picture.rotation = VideoRotation(rotation)
    sink.show(
      waiting[first].picture, moment(of: frame, waiting[first].picture, rotation, at: now))
    rings.offerSnapshot(waiting[first].picture)
    if let offset = lip.offset(of: frame.mediaTime, now: now) {
      lipOffsets.add(Double(offset.nanoseconds) / 1e6)
    }
    numbers.totalHold += now - frame.completed
    freezes.handlePicture(now: now, interval: interval(to: frame))
    if !clocks.expects.isOn { freezes.pause(now: now) }
    let isFirst = last.shown.map { now - $0 > Self.offline } ?? true
    if isFirst || hasToTell || numbers.size != size {
      rings.appendNote(.shown(ShownPicture(size: size, isFirst: isFirst)))
    }
    hasToTell = false
    last.shown = now
    numbers.size = size
    second.count += 1
    if now - second.start >= .seconds(1) {
      numbers.framesPerSecond = VideoRings.rate(second.count, in: now - second.start)
      second = (now, 0)
      measureLips()
    }
    waiting[first].frame = nil
    first = (first + 1) % Self.capacity
    count -= 1
  }

  private mutating func turn(to mediaTime: UInt32) {
    let turned = clocks.turns.withLock { $0.rotation(at: mediaTime) }
    guard turned != rotation else { return }
    rotation = turned
    rings.appendNote(.shownRotated(turned))
  }

  /// From the picture shown last to this one as the sender counts, for each frame in between.
  private mutating func interval(to frame: AssembledFrame) -> Duration? {
    defer { lastFrame = (frame.number, frame.mediaTime) }
    guard let lastFrame else { return nil }
    let count = frame.number &- lastFrame.number
    let ticks = (frame.mediaTime &- lastFrame.mediaTime) & 0xFF_FFFF
    guard (1...Self.mostFramesBetween).contains(count) else { return nil }
    return MediaClock.duration(ofTicks: ticks) / Int(count)
  }

  private mutating func measureLips() {
    if let spread = lipOffsets.spread() { numbers.lipOffset = spread }
  }

  private mutating func publish(now: Instant) {
    // Nothing was shown for so long that the last count says nothing any more.
    if now - second.start > .seconds(3) { numbers.framesPerSecond = 0 }
    (numbers.freezeCount, numbers.totalFreezes, numbers.activeTime) = freezes.totals(now: now)
    let numbers = self.numbers
    rings.received.withLock { $0 = numbers }
  }

  /// Pictures that wait for their sound: at 30 a second a tenth of a second, as in ordinary playout
  /// delays; what comes sooner waits undecoded.
  private static let capacity = 4
  /// After so long without a picture the next one is a first one again.
  private static let offline = Duration.seconds(15)
  /// Further apart frames say nothing of how far one is from the next.
  private static let mostFramesBetween: UInt16 = 8
}
