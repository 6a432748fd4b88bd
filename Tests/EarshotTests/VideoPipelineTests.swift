import Peer
import Primitives
import Reactor
import Synchronization
import Testing
import Video

@testable import Earshot

/// Both threads' work without threads, network or waiting.
@Suite struct VideoPipelineTests {
  private static let start = Instant(nanoseconds: 1_000_000_000_000)
  private static let size = I420Picture(VideoLadder.rungs[5].box).size

  /// One way from a source to a sink; the network in between is a loop of this test.
  private final class Way {
    let camera = Camera(VideoPipelineTests.size)
    let eye = Eye()
    let rings: VideoRings
    let sentClock = MediaClock(start: VideoPipelineTests.start)
    let heardClock = MediaClock(start: .zero)
    let expectation = VideoReceiving.Expectation()
    let hold = PictureHold()
    var sending: VideoSending
    var receiving: VideoReceiving
    var now = VideoPipelineTests.start
    var number: UInt16 = 0
    var frames: [EncodedFrame] = []

    init() throws {
      rings = VideoRings(wake: try LoopWake())
      sending = VideoSending(camera, clock: sentClock, rings: rings)
      receiving = VideoReceiving(
        eye,
        clocks: VideoReceiving.Clocks(
          heard: heardClock, recording: sentClock, expects: expectation, hold: hold,
          turns: Guarded(PictureTurns())),
        rings: rings)
      rings.setDemand(VideoDemand(bitsPerSecond: 200_000, needsKeyFrame: false))
    }

    /// A thirtieth of a second; every frame that comes out arrives at once, unless it is lost.
    func step(loses: (EncodedFrame) -> Bool = { _ in false }) {
      sending.tick(now: now, due: now)
      var bytes: [UInt8] = []
      while case .outgoing(let frame, let mediaTime)? = rings.outbox.withLock({
        $0.pop(into: &bytes)
      }) {
        frames.append(frame)
        number &+= 1
        guard !loses(frame) else { continue }
        let assembled = AssembledFrame(
          number: number, isKeyFrame: frame.isKeyFrame, temporalLayer: frame.temporalLayer,
          mediaTime: mediaTime, byteCount: bytes.count, firstArrival: now, completed: now)
        _ = rings.inbox.withLock { $0.push(.incoming(assembled), &bytes) }
      }
      if let next = receiving.run(now: now), next < now + .milliseconds(33) {
        _ = receiving.run(now: max(next, now))
      }
      now = now + .nanoseconds(33_333_333)
    }

    var notes: [VideoNote] { rings.takeNotes() }
  }

  @Test func `a key frame that was wanted stays wanted while no picture is`() throws {
    let rings = VideoRings(wake: try LoopWake())
    rings.setDemand(VideoDemand(bitsPerSecond: 200_000, needsKeyFrame: true))
    rings.setDemand(nil)
    #expect(rings.takeDemand() == nil)
    rings.setDemand(VideoDemand(bitsPerSecond: 300_000, needsKeyFrame: false))
    #expect(rings.takeDemand() == VideoDemand(bitsPerSecond: 300_000, needsKeyFrame: true))
    #expect(rings.takeDemand() == VideoDemand(bitsPerSecond: 300_000, needsKeyFrame: false))
  }

  @Test func `pictures go from a source to a sink with their numbers and times`() throws {
    let way = try Way()
    for _ in 0..<60 { way.step() }
    way.receiving.finish()
    let sights = way.eye.sights.withLock { $0 }
    #expect(sights.count >= 28, "half of 30 a second at this bitrate, for two seconds")
    #expect(way.eye.unreadable.withLock { $0 } == 0)
    for sight in sights {
      // The burnt-in time is the frame's own media time, to a millisecond.
      let media = sight.moment.mediaTime / .milliseconds(1)
      #expect(abs(Double(sight.stamp.clock) - media) <= 1)
    }
    #expect(zip(sights, sights.dropFirst()).allSatisfy { $0.stamp.number < $1.stamp.number })
    #expect(way.eye.recorded.withLock { $0.count } == sights.count)
    #expect(way.eye.isFinished.withLock { $0 })
    let (notes, size) = (way.notes, way.frames[0].size)
    #expect(notes.contains(.shown(ShownPicture(size: size, isFirst: true))))
  }

  @Test func `the rate is that of a second, however the pictures fall in it`() throws {
    #expect(VideoRings.rate(31, in: .milliseconds(1033)) == 30)
    #expect(VideoRings.rate(9, in: .milliseconds(1120)) == 8)
    #expect(VideoRings.rate(31, in: .seconds(2)) == 0)
    let way = try Way()
    way.rings.setDemand(VideoDemand(bitsPerSecond: 2_000_000, needsKeyFrame: false))
    for _ in 0..<120 { way.step() }
    #expect(way.rings.sent.withLock { $0.framesPerSecond } == 30)
  }

  @Test func `nothing is encoded while nobody wants it`() throws {
    let way = try Way()
    way.rings.setDemand(nil)
    for _ in 0..<30 { way.step() }
    #expect(way.frames.isEmpty && way.eye.count == 0)
    #expect(way.rings.sent.withLock { $0.framesCaptured } == 30)
    way.rings.setDemand(VideoDemand(bitsPerSecond: 200_000, needsKeyFrame: true))
    way.step()
    #expect(way.frames.first?.isKeyFrame == true)
  }

  @Test func `a low stream is made beside the usual one only while it is wanted`() throws {
    let way = try Way()
    for _ in 0..<30 { way.step() }
    #expect(way.frames.allSatisfy { $0.stream == 0 })
    for _ in 0..<2 {
      let before = way.frames.count
      var low = VideoDemand(bitsPerSecond: 100_000, needsKeyFrame: false)
      low.box = PictureSize(width: 160, height: 90)
      low.framesPerSecond = 15
      way.rings.setLowDemand(low)
      for _ in 0..<60 { way.step() }
      let all = way.frames[before...]
      let small = all.filter { $0.stream == 1 }
      #expect((28...32).contains(small.count), "\(small.count) in two seconds")
      #expect(all.contains { $0.stream == 0 })
      #expect(small.first?.isKeyFrame == true && small.filter(\.isKeyFrame).count == 1)
      #expect(small.allSatisfy { $0.size.height <= 90 && $0.size.width <= 160 })
      #expect(small.reduce(0) { $0 + $1.byteCount * 8 } < 260_000)
      way.rings.setLowDemand(nil)
      let stopped = way.frames.count
      for _ in 0..<15 { way.step() }
      #expect(way.frames[stopped...].allSatisfy { $0.stream == 0 })
    }
  }

  @Test func `a wish for a key frame is kept until a picture is encoded`() throws {
    let way = try Way()
    for _ in 0..<4 { way.step() }
    let before = way.frames.count
    way.rings.setDemand(VideoDemand(bitsPerSecond: 200_000, needsKeyFrame: true))
    way.rings.setDemand(VideoDemand(bitsPerSecond: 200_000, needsKeyFrame: false))
    for _ in 0..<3 { way.step() }
    #expect(way.frames[before].isKeyFrame)
  }

  /// Seeds' `firstRemoteVideoDecoded`: again after 15 s without a picture, and not before.
  @Test func `a picture after fifteen seconds is a first one again`() throws {
    let way = try Way()
    for _ in 0..<10 { way.step() }
    let firsts = {
      way.notes.filter { note in
        if case .shown(let picture) = note { picture.isFirst } else { false }
      }.count
    }
    #expect(firsts() == 1)
    way.now = way.now + .seconds(14)
    for _ in 0..<10 { way.step() }
    #expect(firsts() == 0)
    way.now = way.now + .seconds(16)
    for _ in 0..<10 { way.step() }
    #expect(firsts() == 1)
  }

  @Test func `a full hand-over leaves pictures out and breaks no reference`() throws {
    let way = try Way()
    for _ in 0..<60 {
      way.sending.tick(now: way.now, due: way.now)
      way.now = way.now + .nanoseconds(33_333_333)
    }
    #expect(way.rings.outbox.withLock { $0.count } == 4)
    #expect(way.rings.sent.withLock { $0.framesWaitedOut } > 20)
    #expect(way.rings.sent.withLock { $0.framesEncoded } == 4)
    for _ in 0..<10 { way.step() }
    #expect(way.rings.received.withLock { $0.decodeFailures } == 0)
  }

  /// Method: sound of the same media time is heard 80 ms after it was made.
  @Test func `a picture waits for its sound`() throws {
    let way = try Way()
    for tick in 0..<60 {
      let media = Int64(tick) * 33_333_333 - 80_000_000
      way.heardClock.set(media, at: way.now)
      way.step()
      // What became due before the next picture.
      while let next = way.receiving.run(now: way.now), next <= way.now {}
    }
    let offset = try #require(way.rings.received.withLock { $0.lipOffset?.p50 })
    // Looked at every 33 ms, so up to that much late, and never early.
    #expect((-1...34).contains(offset), "\(offset) ms")
    let waited = way.rings.received.withLock { $0.totalHold / Double($0.framesDecoded) }
    #expect((.milliseconds(60)...(.milliseconds(120))).contains(waited), "\(waited)")
  }

  @Test func `a frame that cannot be decoded is told, and a key frame mends it`() throws {
    let way = try Way()
    for _ in 0..<10 { way.step() }
    _ = way.notes
    var junk: [UInt8] = [0x31, 0, 0, 1, 2, 3]
    let frame = AssembledFrame(
      number: 99, isKeyFrame: false, temporalLayer: 0, mediaTime: 0, byteCount: 6,
      firstArrival: way.now, completed: way.now)
    _ = way.rings.inbox.withLock { $0.push(.incoming(frame), &junk) }
    _ = way.receiving.run(now: way.now)
    let isTold = way.notes.contains { note in
      if case .decodeFailed = note { true } else { false }
    }
    #expect(isTold)
    way.rings.setDemand(VideoDemand(bitsPerSecond: 200_000, needsKeyFrame: true))
    let before = way.eye.count
    for _ in 0..<10 { way.step() }
    #expect(way.eye.count > before)
  }

  /// Goal: where pictures are left out because there are too many, a key frame is asked for; none
  /// of them counts as one that could not be decoded.
  @Test func `too many pictures ask for a key frame`() throws {
    let way = try Way()
    way.step()
    var picture: [UInt8] = []
    for _ in 0..<8 where picture.isEmpty {
      way.sending.tick(now: way.now, due: way.now)
      way.now = way.now + .nanoseconds(33_333_333)
      _ = way.rings.outbox.withLock { $0.pop(into: &picture) }
    }
    try #require(!picture.isEmpty)
    way.now = way.now + .seconds(2)
    _ = way.notes
    let before = way.rings.received.withLock { $0.framesDecoded }
    for number in 0..<200 as Range<UInt16> {
      var copy = picture
      way.now = way.now + .milliseconds(1)
      let frame = AssembledFrame(
        number: 99 + number, isKeyFrame: false, temporalLayer: 0, mediaTime: 0,
        byteCount: copy.count, firstArrival: way.now, completed: way.now)
      _ = way.rings.inbox.withLock { $0.push(.incoming(frame), &copy) }
      _ = way.receiving.run(now: way.now)
    }
    let asked = way.notes.filter { $0 == .decodeFailed("too many pictures") }
    let numbers = way.rings.received.withLock { $0 }
    #expect(asked.count == 1 && numbers.decodeFailures == 0)
    #expect((120...150).contains(numbers.framesDecoded - before))
    let next = way.receiving.run(now: way.now)
    #expect(next.map { $0 <= way.now + .seconds(1) } == true)
  }

  @Test func `a picture that stands is a freeze, but not while none is expected`() throws {
    let way = try Way()
    for _ in 0..<30 { way.step() }
    _ = way.notes
    way.now = way.now + .milliseconds(600)
    _ = way.receiving.run(now: way.now)
    #expect(way.notes == [.frozen])
    #expect(way.rings.received.withLock { $0.freezeCount } == 1, "also while it lasts")
    #expect(way.rings.received.withLock { $0.totalFreezes } >= .milliseconds(600))
    for _ in 0..<4 { way.step() }
    #expect(way.notes.count == 1, "that it moves again")
    way.expectation.set(false)
    _ = way.receiving.run(now: way.now)
    _ = way.receiving.run(now: way.now + .seconds(5))
    #expect(way.notes.isEmpty)
    #expect(way.rings.received.withLock { $0.freezeCount } == 1)
  }
}

@Suite struct HandOverTests {
  /// Method: what the one thread encodes is handed to the other, without a network in between.
  @Test(.timeLimit(.minutes(1)))
  func `a call's two threads begin, work and end`() throws {
    let size = I420Picture(VideoLadder.rungs[6].box).size
    let (camera, eye) = (Camera(size), Eye())
    var options = CallOptions()
    options.videoSource = camera
    options.videoSink = eye
    let wake = try LoopWake()
    let video = try CallVideo(
      options, audio: AudioRings(wake: wake), turns: Guarded(PictureTurns()), wake: wake)
    #expect(video.isSending && video.isReceiving)
    video.rings.setDemand(VideoDemand(bitsPerSecond: 100_000, needsKeyFrame: false))
    var bytes: [UInt8] = []
    var number: UInt16 = 0
    while eye.count < 3 {
      guard
        case .outgoing(let frame, let time)? = video.rings.outbox.withLock({
          $0.pop(into: &bytes)
        })
      else { continue }
      number += 1
      let handed = AssembledFrame(
        number: number, isKeyFrame: frame.isKeyFrame, temporalLayer: 0, mediaTime: time,
        byteCount: bytes.count, firstArrival: .zero, completed: .zero)
      _ = video.rings.inbox.withLock { $0.push(.incoming(handed), &bytes) }
      video.signalArrival()
    }
    video.stop()
    video.stop()
    #expect(eye.isFinished.withLock { $0 })
    #expect(video.rings.sent.withLock { $0.framesEncoded } >= 3)
  }

  @Test func `memory goes round, and a full queue refuses`() {
    var queue = FrameQueue(capacity: 2)
    let frame = HandedFrame.incoming(
      AssembledFrame(
        number: 1, isKeyFrame: true, temporalLayer: 0, mediaTime: 2, byteCount: 3,
        firstArrival: .zero, completed: .zero))
    for round in 0..<3 as Range<UInt8> {
      var (one, two, three): ([UInt8], [UInt8], [UInt8]) = ([round, 1], [round, 2], [round, 3])
      let areTaken = [queue.push(frame, &one), queue.push(frame, &two), queue.push(frame, &three)]
      #expect(areTaken == [true, true, false] && three == [round, 3])
      for expected in [[round, 1], [round, 2]] {
        let isThere = queue.pop(into: &three) != nil
        #expect(isThere && three == expected)
      }
      let isEmpty = queue.pop(into: &three) == nil
      #expect(isEmpty)
      let (count, isFull) = (queue.count, queue.isFull)
      #expect(count == 0 && !isFull)
    }
  }

  @Test func `percentiles are those of all numbers, however many there are`() throws {
    var samples = SampleReservoir()
    #expect(samples.percentile(0.5) == nil)
    for value in 1...100 { samples.add(Double(value)) }
    #expect(samples.percentile(0.5) == 50 && samples.percentile(0.95) == 95)
    #expect(samples.percentile(0) == 1 && samples.percentile(1) == 100)
    let spread = samples.spread()
    #expect(spread?.min == 5 && spread?.p50 == 50 && spread?.p95 == 95)
    samples.add(.nan)
    for value in 0..<100_000 { samples.add(Double(value % 1000)) }
    let middle = try #require(samples.percentile(0.5))
    #expect(abs(middle - 500) < 40)
    #expect(samples.last == 999)
  }

  @Test func `media time is told from one thread to the other`() {
    let clock = MediaClock(start: Instant(nanoseconds: 500))
    #expect(clock.lastNote == nil && clock.nanoseconds(at: Instant(nanoseconds: 700)) == 200)
    clock.set(-30, at: Instant(nanoseconds: 1000))
    #expect(clock.nanoseconds(at: Instant(nanoseconds: 1100)) == 70)
    #expect(clock.lastNote?.media == -30)
    #expect(MediaClock.ticks(10_000_000) == 256)
    #expect(MediaClock.ticks(655_360_000_000 + 5_000_000) == 128)
    #expect(MediaClock.duration(ofTicks: 384) == .milliseconds(15))
  }

  @Test func `a line's history takes a sample every tenth of a second`() {
    var history = NetworkHistory()
    for millisecond in 0..<1000 {
      let now = Instant(nanoseconds: 1_000_000_000) + .milliseconds(millisecond)
      if history.isDue(now: now) { history.add(estimate: Double(millisecond), now: now) }
    }
    #expect(history.estimates.percentile(1) == 900 && history.estimates.last == 900)
  }
}
