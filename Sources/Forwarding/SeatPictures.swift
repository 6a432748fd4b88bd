import Primitives
import Wire

/// What a relay keeps of a member's pictures, and of what it wants of others'.
struct SeatPictures {
  /// Those that it sends; `nil` before the first.
  var store: PictureStore?
  /// What it wants of others, in bit/s, and until when that holds.
  var wish: (bitsPerSecond: UInt32, until: Instant) = (0, .zero)
  /// The way there, while it wants some.
  var downlink: Downlink?
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
  /// What it is to be asked for: a key frame, and fragments that never came.
  var keyFrameAskedAt: Instant?
  var wantsKeyFrame = false
  var newestAsked: UInt16?
  var lacking: [VideoNackFrame.Entry] = []
  /// Until when it is not tried again to keep its pictures, where there was no memory for them.
  var refusedUntil: Instant?
  /// Where the member is.
  var origin = SeatOrigin()
  var byteMeter = PaceMeter()
  var fragmentMeter = PaceMeter()
  var wishMeter = PaceMeter()
  var repairMeter = PaceMeter()

  /// A fragment of a temporal layer has come.
  mutating func recordShown(_ layer: UInt8, byteCount: Int, now: Instant) {
    let elapsed = lastShown.map { Double(now.nanoseconds(since: $0)) / 1e9 } ?? 1
    lastShown = now
    for index in 0..<3 { rates[index] *= max(0, 1 - elapsed) }
    rates[min(Int(layer), 2)] += Double(byteCount) * 8
  }

  /// Bit/s up to each temporal layer, while it shows something.
  func needs(now: Instant) -> InlineArray<3, Double> {
    guard let lastShown, now < lastShown + .seconds(1) else { return [0, 0, 0] }
    return [rates[0], rates[0] + rates[1], rates[0] + rates[1] + rates[2]]
  }

  /// Whether one thing more may be asked for.
  mutating func admitRepair(_ limits: ForwardingLimits, now: Instant) -> Bool {
    repairMeter.admit(
      perSecond: limits.repairsPerSecond, burst: limits.repairsPerSecond, now: now)
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

  /// Asks the host for what it is to be asked for.
  @_lifetime(packet: copy packet)
  mutating func writeRequest(into packet: inout OutputSpan<UInt8>) {
    guard wantsKeyFrame || !lacking.isEmpty else { return }
    VideoNackFrame.write(
      wantsKeyFrame: wantsKeyFrame, newest: newestAsked, entries: lacking.span, to: &packet)
    wantsKeyFrame = false
    lacking.removeAll(keepingCapacity: true)
  }

  /// What it wants and its line carries, in bit/s: at least one, while it wants some.
  func wanted(now: Instant) -> UInt32 {
    guard isWanted(now: now), let downlink else { return 0 }
    return max(1, UInt32(min(Double(wish.bitsPerSecond), downlink.availableToHosts)))
  }

  func isWanted(now: Instant) -> Bool { wish.bitsPerSecond > 0 && now < wish.until }
}
