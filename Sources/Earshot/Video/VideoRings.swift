internal import Peer
internal import Primitives
internal import Reactor
internal import Video
internal import Wire

/// What a video thread tells the loop besides frames.
enum VideoNote: Sendable, Equatable {
  /// The source has no more pictures.
  case sourceEnded
  /// The source gave its first picture, or one of another size.
  case captured(PictureSize)
  /// The source's pictures are turned from this media time on.
  case rotated(PictureRotation, mediaTime: UInt32)
  /// The other side's are, from the picture on that is shown.
  case shownRotated(PictureRotation)
  /// What is wrong with the source now.
  case capture(CaptureFault)
  /// A picture could not be encoded.
  case encodeFailed(String)
  /// A frame could not be decoded: only a key frame helps.
  case decodeFailed(String)
  /// There is no decoder.
  case noDecoder(String)
  /// A picture was shown that deserves mention.
  case shown(ShownPicture)
  /// The last picture has stood for more than 500 ms.
  case frozen
}

/// The picture that begins something.
struct ShownPicture: Sendable, Equatable {
  var size: PictureSize
  /// The first, or the first after 15 s without any.
  var isFirst: Bool
}

/// What the loop and a call's video threads hand to each other. Nobody holds a lock while he
/// encodes, decodes or sends.
final class VideoRings: Sendable {
  let outbox = Guarded(FrameQueue(capacity: 4))
  let inbox = Guarded(FrameQueue(capacity: 32))
  let sent = Guarded(VideoSendNumbers())
  let received = Guarded(VideoReceiveNumbers())
  let wake: LoopWake
  /// What encoding and decoding take is measured with it.
  let stopwatch: @Sendable () -> Instant
  private let demand = Guarded(Wish())
  private let notes = Guarded(Notes())
  private let snapshot = Guarded(Snapshot())

  private struct Wish {
    var demand: VideoDemand?
    /// A key frame was wanted and none has been begun; also while no picture is wanted at all.
    var owesKeyFrame = false
    /// The same of the low stream beside it.
    var low: VideoDemand?
    var owesLowKeyFrame = false
  }
  private struct Notes {
    var waiting: [VideoNote] = []
  }

  private struct Snapshot {
    /// Numbers those who ask; the last whose picture is there, and how many wait or look at it.
    var asked = 0
    var shown = 0
    var readers = 0
    var picture: VideoPicture?
  }

  init(wake: LoopWake, stopwatch: @escaping @Sendable () -> Instant = { SystemClock.now }) {
    self.wake = wake
    self.stopwatch = stopwatch
  }

  // MARK: - A picture for the application

  /// Loop: the next picture that is shown is wanted, until `endSnapshot`.
  ///
  /// - Returns: A number for `snapshot(_:)`.
  func wantSnapshot() -> Int {
    snapshot.withLock { snapshot in
      snapshot.asked += 1
      snapshot.readers += 1
      return snapshot.asked
    }
  }

  /// Video thread: a picture is shown; copies it where one is wanted.
  func offerSnapshot(_ picture: borrowing VideoPicture) {
    guard snapshot.withLock({ $0.asked > $0.shown }) else { return }
    let copied = copy picture
    snapshot.withLock { snapshot in
      guard snapshot.readers > 0 else { return }
      snapshot.picture = copied
      snapshot.shown = snapshot.asked
    }
  }

  /// Loop: the picture, once one was shown after that number was given.
  func snapshot(_ number: Int) -> VideoPicture? {
    snapshot.withLock { $0.shown >= number ? $0.picture : nil }
  }

  /// Loop: somebody has a picture, or waits no more.
  func endSnapshot() {
    snapshot.withLock { snapshot in
      snapshot.readers -= 1
      guard snapshot.readers == 0 else { return }
      snapshot.shown = snapshot.asked
      snapshot.picture = nil
    }
  }

  // MARK: - What the encoder is to do

  /// Loop: what holds from the next picture on. A key frame that was wanted stays wanted.
  func setDemand(_ demand: VideoDemand?) {
    self.demand.withLock { wish in
      wish.demand = demand
      if demand?.needsKeyFrame == true { wish.owesKeyFrame = true }
    }
  }

  /// Loop: the same of a low stream; `nil` = none is to be made.
  func setLowDemand(_ demand: VideoDemand?) {
    self.demand.withLock { wish in
      wish.low = demand
      if demand?.needsKeyFrame == true { wish.owesLowKeyFrame = true }
    }
  }

  /// Video thread: the same; the wish for a key frame is taken.
  func takeLowDemand() -> VideoDemand? {
    demand.withLock { wish in
      guard var demand = wish.low else { return nil }
      demand.needsKeyFrame = wish.owesLowKeyFrame
      wish.owesLowKeyFrame = false
      return demand
    }
  }

  /// Video thread: the same; the wish for a key frame is taken.
  func takeDemand() -> VideoDemand? {
    demand.withLock { wish in
      guard var demand = wish.demand else { return nil }
      demand.needsKeyFrame = wish.owesKeyFrame
      wish.owesKeyFrame = false
      return demand
    }
  }

  // MARK: - What is to be told

  /// Video thread; at most 64 wait.
  func appendNote(_ note: VideoNote) {
    notes.withLock { notes in
      if notes.waiting.count < 64 { notes.waiting.append(note) }
    }
    wake.signal()
  }

  /// Loop.
  func takeNotes() -> [VideoNote] {
    notes.withLock { notes in
      guard !notes.waiting.isEmpty else { return [] }
      let waiting = notes.waiting
      notes.waiting.removeAll(keepingCapacity: true)
      return waiting
    }
  }
}

extension VideoRings {
  /// Pictures a second, where `count` came in about one; a longer time says nothing of the last.
  static func rate(_ count: Int, in time: Duration) -> Int {
    time < .seconds(2) ? Int((Double(count) / (time / .seconds(1))).rounded()) : 0
  }
}

/// What the encoder's thread counts; by the names of W3C webrtc-stats where it has them.
struct VideoSendNumbers: Sendable {
  /// Pictures that the source gave.
  var framesCaptured = 0
  var framesEncoded = 0
  var keyFramesEncoded = 0
  var totalEncodeTime = Duration.zero
  /// Pictures that were not encoded because frames still waited for the loop.
  var framesWaitedOut = 0
  /// Of the source.
  var sourceSize: PictureSize?
  /// Of the last frame.
  var size: PictureSize?
  /// Encoded in the last whole second.
  var framesPerSecond = 0
  var targetBitsPerSecond = 0
  var resolutionChanges = 0
  /// Whether the bitrate makes the picture smaller, or leaves some out.
  var isLimitedByBandwidth = false
  /// Whether encoding takes longer than there is time.
  var isLimitedByProcessor = false
  /// How long each of these held.
  var limitedByBandwidth = Duration.zero
  var limitedByProcessor = Duration.zero
  var unlimited = Duration.zero
}

/// What the decoder's thread counts.
struct VideoReceiveNumbers: Sendable {
  var framesDecoded = 0
  var keyFramesDecoded = 0
  /// Frames that could not be decoded.
  var decodeFailures = 0
  var totalDecodeTime = Duration.zero
  /// From the first packet of a frame to its picture.
  var totalProcessingDelay = Duration.zero
  /// From the frame being whole to its picture being shown.
  var totalHold = Duration.zero
  var size: PictureSize?
  /// Shown in the last whole second.
  var framesPerSecond = 0
  var freezeCount = 0
  var totalFreezes = Duration.zero
  var activeTime = Duration.zero
  /// How far pictures were from their sound when they were shown, in milliseconds; positive: behind
  /// it.
  var lipOffset: CallStatistics.Milliseconds?
}
