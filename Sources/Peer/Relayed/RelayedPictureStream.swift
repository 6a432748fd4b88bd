import Primitives
import Video
import Wire

/// One host's pictures at a member of a channel: its usual stream or its low one, as the relay
/// chooses (docs/protocol/relay.md §4). A class, because its parts are large and change in place.
final class RelayedPictureStream {
  var source: UInt8
  var lastRequest = Instant.zero
  /// Whether whoever asks for pictures knows that there may be some.
  var isTold = false
  /// The host has said that it shows none at present.
  var isPaused = false
  /// One of them has opened.
  var hasOpened = false
  /// By the number of the stream; one that does not come is not kept.
  private var assemblers: [Box?] = [Box(VideoAssembler()), nil]
  /// The stream of the picture that was given out last.
  private(set) var current = 0
  /// Media time of the newest fragment, and of the picture that was given out last.
  private var newest: UInt32?
  private var given: UInt32?
  /// When a fragment came last.
  private(set) var lastArrival = Instant.zero
  private var roundTrip = Duration.milliseconds(100)
  /// Of assemblers that there are no more.
  private var ended = VideoReceiveStatistics()

  /// In a box, an assembler is asked for a time in place. In an array all of it was copied first.
  private final class Box {
    var assembler: VideoAssembler

    init(_ assembler: VideoAssembler) { self.assembler = assembler }
  }

  init(source: UInt8) { self.source = source }

  func handle(_ frame: VideoMediaFrame, _ payload: Span<UInt8>, now: Instant) {
    lastArrival = now
    let stream = Int(frame.stream)
    guard stream < assemblers.count else { return }
    let isNewest = newest.map { Self.isLater(frame.mediaTime, than: $0) } ?? true
    if isNewest { newest = frame.mediaTime }
    if assemblers[stream] == nil {
      // What is late of a stream that has ended begins nothing. A key frame and a picture of the
      // low stream may be of the same moment.
      let isLate = given.map { Self.isLater($0, than: frame.mediaTime) } ?? false
      guard isNewest || (frame.isKeyFrame && !isLate) else { return }
      assemblers[stream] = Box(VideoAssembler(stream: frame.stream))
      assemblers[stream]?.assembler.roundTrip = roundTrip
    }
    assemblers[stream]?.assembler.handle(frame, payload, now: now)
  }

  /// The next picture to open and decode; one of the other stream ends the one so far.
  func poll(into output: inout [UInt8], now: Instant) -> AssembledFrame? {
    if let frame = assemblers[current]?.assembler.poll(into: &output, now: now) {
      given = frame.mediaTime
      return frame
    }
    let other = 1 - current
    while let frame = assemblers[other]?.assembler.poll(into: &output, now: now) {
      // An assembler begins with a key frame; one that is late is of the stream that has ended.
      if let given, Self.isLater(given, than: frame.mediaTime) { continue }
      end(current)
      current = other
      given = frame.mediaTime
      return frame
    }
    return nil
  }

  private func end(_ stream: Int) {
    if let box = assemblers[stream] { ended.add(box.assembler.statistics) }
    assemblers[stream] = nil
  }

  /// Pictures are not wanted, or do not come: they begin again with a key frame. Until then there
  /// is no memory for them.
  func restart() {
    for stream in assemblers.indices { end(stream) }
    (current, newest, given, isTold) = (0, nil, nil, false)
  }

  /// Whether it has memory for pictures.
  var hasMemory: Bool { assemblers.contains { $0 != nil } }

  /// Of both streams, so far.
  var statistics: VideoReceiveStatistics {
    var all = ended
    for case .some(let box) in assemblers { all.add(box.assembler.statistics) }
    return all
  }

  @_lifetime(packet: copy packet)
  func pollRequest(into packet: inout OutputSpan<UInt8>, now: Instant) -> Bool {
    for stream in assemblers.indices
    where assemblers[stream]?.assembler.pollRequest(into: &packet, now: now) == true { return true }
    return false
  }

  func handleDecodeFailure(now: Instant) {
    assemblers[current]?.assembler.handleDecodeFailure(now: now)
  }

  func setRoundTrip(_ roundTrip: Duration) {
    self.roundTrip = roundTrip
    for stream in assemblers.indices { assemblers[stream]?.assembler.roundTrip = roundTrip }
  }

  var requestDeadline: Instant? {
    var deadline: Instant?
    for stream in assemblers.indices {
      deadline = earliest(deadline, assemblers[stream]?.assembler.nextDeadline)
    }
    return deadline.map { max($0, lastRequest + .milliseconds(5)) }
  }

  /// Media times have 24 bits, and wrap.
  private static func isLater(_ time: UInt32, than other: UInt32) -> Bool {
    let ahead = (time &- other) & 0xFF_FFFF
    return ahead > 0 && ahead < 0x80_0000
  }
}

/// The pictures of all hosts at a member of a channel. There is memory for so many of them at once.
struct RelayedPictureStreams {
  /// By uid, with those that gave their memory back: their counts go on.
  private(set) var all: [UInt32: RelayedPictureStream] = [:]

  subscript(uid: UInt32) -> RelayedPictureStream? { all[uid] }

  mutating func remove(_ uid: UInt32) { all[uid] = nil }

  /// The stream of a host of which a fragment has come; `nil` while there is no memory for it.
  ///
  /// - Parameter unwanted: Hosts that nobody watches.
  mutating func begin(
    _ uid: UInt32, _ source: UInt8, beside unwanted: Set<UInt32>, now: Instant
  ) -> RelayedPictureStream? {
    let known = all[uid]
    guard known?.hasMemory == true || makeRoom(beside: unwanted, now: now) else { return nil }
    let stream = known ?? RelayedPictureStream(source: source)
    all[uid] = stream
    stream.source = source
    return stream
  }

  /// Whether there is memory for one more. That of the host of which nothing has come for longest
  /// is taken, if nobody watches it.
  private mutating func makeRoom(beside unwanted: Set<UInt32>, now: Instant) -> Bool {
    let kept = all.filter(\.value.hasMemory)
    if kept.count >= Self.mostAtOnce {
      let idle = kept.filter { uid, stream in
        unwanted.contains(uid) || stream.isPaused || stream.lastArrival + Self.idleTime <= now
      }
      guard let uid = Self.oldest(of: idle) else { return false }
      all[uid]?.restart()
    }
    // A relay may name hosts that are not there.
    if all.count >= Self.most, let uid = Self.oldest(of: all.filter { !$0.value.hasMemory }) {
      all[uid] = nil
    }
    return true
  }

  private static func oldest(of streams: [UInt32: RelayedPictureStream]) -> UInt32? {
    streams.min { ($0.value.lastArrival, $0.key) < ($1.value.lastArrival, $1.key) }?.key
  }

  /// Hosts whose pictures are put together at once; each takes 1.2 MB.
  private static let mostAtOnce = 16
  /// Hosts of a channel (docs/protocol/relay.md §5).
  private static let most = 64
  /// After which nobody watches a host any more: a relay keeps pictures for 10 s.
  private static let idleTime = Duration.seconds(10)
}
