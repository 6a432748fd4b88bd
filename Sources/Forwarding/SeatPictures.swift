import Primitives
import Wire

/// What a relay keeps of a member's pictures, and of what it wants of others'.
struct SeatPictures {
  /// Those that it sends; `nil` before the first.
  var store: PictureStore? {
    didSet { if store == nil { low.store = nil } }
  }
  /// Its low stream.
  var low = SeatLowStream()
  /// What it wants of others, in bit/s, and until when that holds.
  var wish: (bitsPerSecond: UInt32, until: Instant) = (0, .zero)
  /// The way there, while it wants some.
  var downlink: Downlink?
  /// Until when it is there for sound alone.
  var soundUntil = Instant.zero
  /// Whether that way is looked at.
  var isWatched = false
  /// Whether it is among those whose way has room for something that waits.
  var isReady = false
  /// When the next of it may leave: before that the way has no room.
  var sleepsUntil: Instant?
  /// Bit/s of what it sends, by temporal layer, over the last second.
  var rates: InlineArray<3, Double> = [0, 0, 0]
  var lastShown: Instant?
  /// It has said what it wants: it knows of pictures.
  var isConcerned = false
  /// Whose pictures the VIDEO_NACK behind is about.
  var askedSource: UInt8 = 0
  /// What it is to be asked for of its two streams.
  var requests: InlineArray<2, PictureRequests>
  /// Until when it is not tried again to keep its pictures, where there was no memory for them.
  var refusedUntil: Instant?
  /// Where the member is.
  var origin = SeatOrigin()
  var byteMeter = PaceMeter()
  var fragmentMeter = PaceMeter()
  var wishMeter = PaceMeter()
  var emptyMeter = PaceMeter()
  var repairMeter = PaceMeter()

  init() { requests = [PictureRequests(), PictureRequests()] }

  /// Keeps a fragment of either stream; `nil` if that is not needed.
  mutating func keep(
    _ header: VideoMediaFrame, _ payload: Span<UInt8>, lowCapacity: Int
  ) -> UInt32? {
    guard header.stream == 1 else { return store?.append(header, payload) }
    guard store != nil else { return nil }
    if low.store == nil { low.store = PictureStore(capacity: lowCapacity, isLow: true) }
    return low.store?.append(header, payload)
  }

  func entry(_ number: UInt32) -> PictureStore.Entry? {
    number & PictureStore.lowBit == 0 ? store?[number] : low.store?[number]
  }

  /// The number of the frame of a stream whose fragment came last.
  func newestFrame(of stream: UInt8) -> UInt16? {
    stream == 0 ? store?.newestFrame : low.store?.newestFrame
  }

  @_lifetime(packet: copy packet)
  func write(
    _ entry: PictureStore.Entry, isAgain: Bool, to packet: inout OutputSpan<UInt8>
  ) {
    if entry.header.stream == 1 {
      low.store?.write(entry, isAgain: isAgain, to: &packet)
    } else {
      store?.write(entry, isAgain: isAgain, to: &packet)
    }
  }

  /// It understands low streams, and says what its own takes.
  mutating func handleLow(_ frame: ChannelLowFrame, most: UInt32) {
    low.isKnown = true
    low.offer = min(frame.bitsPerSecond, most)
    downlink?.choice.takesLow = true
  }

  /// A fragment of a temporal layer has come.
  mutating func recordShown(_ layer: UInt8, byteCount: Int, now: Instant) {
    // What was not shown for a moment takes as much as before when it goes on. Where there is no
    // low stream a line that is taken for too narrow has nothing for long: there it may be less.
    let longest = low.offer > 0 ? Self.longestGap : 1
    let elapsed = lastShown.map { min(Double(now.nanoseconds(since: $0)) / 1e9, longest) } ?? 1
    lastShown = now
    for index in 0..<3 { rates[index] *= max(0, 1 - elapsed) }
    rates[min(Int(layer), 2)] += Double(byteCount) * 8
  }

  /// What each part of its pictures takes, while it shows some.
  func needs(of source: UInt8, now: Instant) -> PictureNeeds.Host? {
    guard let lastShown, now < lastShown + .seconds(1) else { return nil }
    let offer = Double(low.offer)
    return PictureNeeds.Host(
      source: source, low: [offer * Self.lowShare, offer],
      usual: [rates[0], rates[0] + rates[1], rates[0] + rates[1] + rates[2]])
  }

  /// Whether one thing more may be asked for.
  mutating func admitRepair(_ limits: ForwardingLimits, now: Instant) -> Bool {
    repairMeter.admit(
      perSecond: limits.repairsPerSecond, burst: limits.repairsPerSecond, now: now)
  }

  /// Asks the host for what it is to be asked for.
  @_lifetime(packet: copy packet)
  mutating func writeRequest(into packet: inout OutputSpan<UInt8>) {
    for stream in 0..<2 { requests[stream].write(of: UInt8(stream), into: &packet) }
  }

  /// What it wants and its line carries, in bit/s: at least one, while it wants some.
  func wanted(now: Instant) -> UInt32 {
    guard isWanted(now: now), let downlink, !downlink.isForSound else { return 0 }
    return max(1, UInt32(min(Double(wish.bitsPerSecond), downlink.availableToHosts)))
  }

  func isWanted(now: Instant) -> Bool { wish.bitsPerSecond > 0 && now < wish.until }

  /// Seconds: what shows fewer than four pictures a second seems to take more than it does.
  private static let longestGap = 0.25
  /// Of two temporal layers the lower one's (`TemporalPattern`).
  private static let lowShare = 0.6
}

/// What a relay knows of a member and low streams.
struct SeatLowStream {
  /// Fragments of its own; `nil` before the first.
  var store: PictureStore?
  /// What its own takes, in bit/s; 0 = it offers none.
  var offer: UInt32 = 0
  /// It understands low streams.
  var isKnown = false
  /// Until when somebody has its own, and whether it knows.
  var wantedUntil = Instant.zero
  var isTold = false
  /// What it was told of what it gets.
  var view = ChannelLowFrame.View.usual
  private var meter = PaceMeter()

  /// Whether a packet of its own keeps to twice what it takes by its own word, with a second of it
  /// at once: a key frame is no more. Narrow lines are filled by that word.
  mutating func admit(_ byteCount: Int, now: Instant) -> Bool {
    let rate = UInt64(offer) / 4
    return isKnown && rate > 0
      && meter.admit(UInt64(byteCount), perSecond: rate, burst: rate, now: now)
  }
}

/// What a host is to be asked for of one stream: a key frame, and fragments that never came.
struct PictureRequests {
  private var askedAt: Instant?
  private var wantsKeyFrame = false
  private var newest: UInt16?
  private var lacking: [VideoNackFrame.Entry] = []

  /// - Returns: `false` if one was asked for a moment ago, which goes to all.
  mutating func askKeyFrame(newest: UInt16?, pause: Duration, now: Instant) -> Bool {
    if let askedAt, now < askedAt + pause { return false }
    askedAt = now
    wantsKeyFrame = true
    self.newest = newest
    return true
  }

  /// The host is to be asked for fragments.
  ///
  /// - Returns: Whether nothing was to be asked of it yet.
  mutating func addLacking(_ entry: VideoNackFrame.Entry) -> Bool {
    guard lacking.count < VideoNackFrame.maximumEntryCount, !lacking.contains(entry) else {
      return false
    }
    lacking.append(entry)
    return lacking.count == 1
  }

  @_lifetime(packet: copy packet)
  mutating func write(of stream: UInt8, into packet: inout OutputSpan<UInt8>) {
    guard wantsKeyFrame || !lacking.isEmpty else { return }
    VideoNackFrame.write(
      stream: stream, wantsKeyFrame: wantsKeyFrame, newest: newest, entries: lacking.span,
      to: &packet)
    wantsKeyFrame = false
    lacking.removeAll(keepingCapacity: true)
  }
}
