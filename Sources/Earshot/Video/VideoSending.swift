internal import Peer
internal import Primitives
internal import Reactor
internal import Video

/// One call's video at this end as its thread runs it for each picture of the source: read, made
/// smaller, encoded, handed to the loop. What the network wants of it is read anew for each
/// picture.
struct VideoSending: ~Copyable {
  private let source: any VideoSource
  private let rings: VideoRings
  private let clock: MediaClock
  private let framesPerSecond: Int
  private var encoder: AdaptiveEncoder?
  private var low: LowVideoSending
  private var picture: VideoPicture
  private var bytes: [UInt8] = []
  private var numbers = VideoSendNumbers()
  private var failuresInARow = 0
  private var hasEnded = false
  private var second = (start: Instant.zero, count: 0)
  private var lastTick: Instant?
  private var lastLate: Instant?
  private var watch = CaptureWatch()
  private var rotation = VideoRotation.none

  /// - Parameter clock: says what media time the own audio is at.
  init(_ source: any VideoSource, clock: MediaClock, rings: VideoRings) {
    self.source = source
    self.clock = clock
    self.rings = rings
    framesPerSecond = Int(min(max(source.framesPerSecond, 1), 60).rounded())
    low = LowVideoSending(framesPerSecond: framesPerSecond)
    picture = VideoPicture(I420Picture(VideoLadder.usual.box))
  }

  /// The time of one picture.
  ///
  /// - Parameter due: when the tick was due; `now` is later.
  mutating func tick(now: Instant, due: Instant) {
    guard !hasEnded else { return }
    noteTime(now: now, due: due)
    let media = max(0, clock.nanoseconds(at: due))
    switch source.read(into: &picture, at: .nanoseconds(media)) {
    case .picture:
      numbers.framesCaptured += 1
      if numbers.sourceSize != picture.i420.size { rings.appendNote(.captured(picture.i420.size)) }
      numbers.sourceSize = picture.i420.size
      if picture.rotation != rotation {
        rotation = picture.rotation
        rings.appendNote(.rotated(rotation.wire, mediaTime: MediaClock.ticks(media)))
      }
      let fault = Self.examine(picture, rate: framesPerSecond, with: &watch, now: now)
      reportFault(fault)
      if failuresInARow < Self.mostFailures { encode(media, now: now) }
    case .nothingNew:
      let fault = watch.handleNothing(now: now)
      reportFault(fault)
    case .ended:
      hasEnded = true
      rings.appendNote(.sourceEnded)
    }
    let numbers = self.numbers
    rings.sent.withLock { $0 = numbers }
    // Also without a frame: the loop then says what it wants of the next picture.
    rings.wake.signal()
  }

  private static func examine(
    _ picture: borrowing VideoPicture, rate: Int, with watch: inout CaptureWatch, now: Instant
  ) -> CaptureFault? {
    watch.handle(picture.bytes, size: picture.i420.size, rate: rate, now: now)
  }

  private func reportFault(_ fault: CaptureFault?) {
    if let fault { rings.appendNote(.capture(fault)) }
  }

  private mutating func encode(_ media: Int64, now: Instant) {
    if rings.outbox.withLock({ $0.isFull }) {
      // To leave out an encoded frame would cost a key frame; to leave out a picture costs nothing.
      numbers.framesWaitedOut += 1
      return
    }
    encodeLow(media)
    guard let demand = rings.takeDemand() else {
      numbers.targetBitsPerSecond = 0
      numbers.framesPerSecond = 0
      return
    }
    numbers.targetBitsPerSecond = demand.bitsPerSecond
    do throws(VPXError) {
      let began = rings.stopwatch()
      guard let frame = try run(demand, media, now: now) else { return }
      let took = rings.stopwatch() - began
      numbers.totalEncodeTime += took
      encoder?.handleEncoded(frame, took: took)
      failuresInARow = 0
      count(frame, now: now)
      let time = MediaClock.ticks(media)
      _ = Self.hand(frame, time, &bytes, to: rings)
    } catch {
      fail(error)
    }
  }

  private mutating func encodeLow(_ media: Int64) {
    guard let demand = rings.takeLowDemand() else { return low.stop() }
    do throws(VPXError) {
      let frame = try low.encode(picture.i420, milliseconds: media / 1_000_000, demand)
      if let frame { low.hand(frame, at: MediaClock.ticks(media), to: rings) }
    } catch {
      low.stop()
      fail(error)
    }
  }

  private mutating func run(
    _ demand: VideoDemand, _ media: Int64, now: Instant
  ) throws(VPXError) -> EncodedFrame? {
    if encoder == nil {
      encoder = try AdaptiveEncoder(
        size: picture.i420.size, framesPerSecond: framesPerSecond,
        bitsPerSecond: demand.steadyBitsPerSecond, stopwatch: rings.stopwatch)
    }
    return try encoder?.encode(
      picture.i420, milliseconds: media / 1_000_000,
      demand: AdaptiveEncoder.Demand(
        bitsPerSecond: demand.bitsPerSecond, steadyBitsPerSecond: demand.steadyBitsPerSecond,
        needsKeyFrame: demand.needsKeyFrame, box: demand.box,
        framesPerSecond: demand.framesPerSecond),
      now: now, into: &bytes) ?? nil
  }

  private static func hand(
    _ frame: EncodedFrame, _ mediaTime: UInt32, _ bytes: inout [UInt8], to rings: VideoRings
  ) -> Bool {
    var content: [UInt8] = []
    swap(&content, &bytes)
    let isTaken = rings.outbox.withLock { queue in
      queue.push(.outgoing(frame, mediaTime: mediaTime), &content)
    }
    swap(&content, &bytes)
    return isTaken
  }

  /// The next picture gets a new encoder, a few times: then it is no accident.
  private mutating func fail(_ error: VPXError) {
    encoder = nil
    failuresInARow += 1
    if failuresInARow == 1 || failuresInARow == Self.mostFailures {
      rings.appendNote(.encodeFailed("\(error)"))
    }
  }

  private mutating func count(_ frame: EncodedFrame, now: Instant) {
    numbers.framesEncoded += 1
    if frame.isKeyFrame { numbers.keyFramesEncoded += 1 }
    numbers.size = frame.size
    if let ladder = encoder?.ladder {
      numbers.resolutionChanges = ladder.changeCount
      numbers.isLimitedByBandwidth =
        frame.size != picture.i420.size || ladder.rung.framesPerSecond < framesPerSecond
    }
    second.count += 1
    let elapsed = now - second.start
    guard elapsed >= .seconds(1) else { return }
    numbers.framesPerSecond = VideoRings.rate(second.count, in: elapsed)
    second = (now, 0)
  }

  /// A thread that is often too late has too much to do.
  private mutating func noteTime(now: Instant, due: Instant) {
    if now - due > .milliseconds(1000 / Int64(framesPerSecond)) { lastLate = now }
    numbers.isLimitedByProcessor =
      lastLate.map { now - $0 < .seconds(2) } ?? false
      || encoder?.isLimitedByProcessor(picture.i420.size) ?? false
    guard let lastTick else {
      lastTick = now
      return
    }
    let passed = now - lastTick
    self.lastTick = now
    if numbers.isLimitedByProcessor {
      numbers.limitedByProcessor += passed
    } else if numbers.isLimitedByBandwidth {
      numbers.limitedByBandwidth += passed
    } else {
      numbers.unlimited += passed
    }
  }

  private static let mostFailures = 5
}
