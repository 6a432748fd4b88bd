import Primitives
import Wire

/// What has come of one host by a relay: frames that wait for the pipeline, and counts.
///
/// Of silence the relay passes on a frame a second, and of more than three who speak the loudest
/// (docs/protocol/relay.md §4). What it leaves out is not lost.
struct RelayedHost {
  var queue: AudioFrameQueue
  private(set) var counters = MediaCounters()
  /// Frames that the relays have left out so far, mod 2^16.
  private(set) var leftOut: UInt16 = 0
  /// Nothing of it is to be heard: its last frame says so, or the relay leaves it out.
  private(set) var isSilent = false
  private var last: (mediaTime: UInt16, steps: UInt16, at: Instant)?
  /// Of those, the ones before the session with the relay; `nil` where the relay counts none.
  private var leftOutBefore: UInt16?
  /// Its number at the relay.
  private var source: UInt8 = 0
  /// When it was known last that a call brings it, and for how many nanoseconds one did since the
  /// last frame.
  private var call: (at: Instant, time: UInt64)?
  /// There was another session, or another number, when the last frame came.
  private var isLastOfOther = false

  /// - Parameters:
  ///   - isTold: the relay says how many it leaves out.
  ///   - former: what had come by another relay.
  init(capacity: Int, isTold: Bool, after former: RelayedHost? = nil) {
    queue = AudioFrameQueue(capacity: capacity)
    if let former {
      (leftOut, isSilent, last, call) = (former.leftOut, former.isSilent, former.last, former.call)
    }
    restart(isTold: isTold)
  }

  /// Another session with a relay, or with another one: it counts from 0.
  mutating func restart(isTold: Bool) {
    leftOutBefore = isTold ? leftOut : nil
    source = 0
    isLastOfOther = last != nil
  }

  /// It has that number at the relay. With another one it is counted from 0.
  mutating func handleSource(_ source: UInt8, isTold: Bool) {
    if self.source != 0, self.source != source { restart(isTold: isTold) }
    self.source = source
  }

  /// The relay has left out so many frames since it has that number.
  mutating func handleUnsent(_ count: UInt16, isLeftOut: Bool) {
    guard let leftOutBefore else { return }
    leftOut = leftOutBefore &+ count
    if isLeftOut { isSilent = true }
  }

  /// A call brings it, and the relay does not: told each 250 ms while it is so.
  mutating func handleCall(now: Instant) {
    var time = call?.time ?? 0
    if let at = call?.at { time &+= min(now.nanoseconds(since: at), Self.longestReview) }
    call = (now, time)
  }

  /// A frame has opened that came in its own packet.
  ///
  /// - Parameter lastOther: when a frame of another host came last.
  mutating func recordFrame(
    _ label: ChannelAudioLabel, byteCount: Int, lastOther: Instant?, now: Instant
  ) {
    counters.recordReceived(byteCount: byteCount, now: now)
    let steps = max(1, UInt16(clamping: label.length.mediaTimeSteps))
    // After longer nobody knows how often media time has wrapped.
    if let last, now < last.at + Self.longest {
      let ahead = label.mediaTime &- last.mediaTime
      // One that was overtaken ends no gap.
      guard (1..<Self.farthest).contains(ahead) else { return }
      if ahead > last.steps {
        let missing = (ahead &- last.steps) / steps
        countLeftOut(missing, since: last.at, length: steps, lastOther: lastOther, now: now)
      }
    }
    call = nil
    isLastOfOther = false
    last = (label.mediaTime, steps, now)
    isSilent = label.isSilent
  }

  /// A gap has ended. What of it is not loss, and the relay has said nothing of?
  private mutating func countLeftOut(
    _ missing: UInt16, since last: Instant, length: UInt16, lastOther: Instant?, now: Instant
  ) {
    guard isLastOfOther || leftOutBefore == nil else { return }
    let brought = (call?.time ?? 0) / 10_000_000 / UInt64(length)
    var left = min(missing, UInt16(clamping: brought))
    if isLastOfOther ? isSilent : isGuessed(since: last, lastOther: lastOther, now: now) {
      left = missing
    }
    leftOut &+= left
    if let before = leftOutBefore { leftOutBefore = before &+ left }
  }

  /// Whether a relay that says nothing of it has left the host out.
  private func isGuessed(since last: Instant, lastOther: Instant?, now: Instant) -> Bool {
    let isChosen =
      now >= last + Self.leastPause && lastOther.map { $0 >= last + Self.pause } ?? false
    return isSilent || isChosen
  }

  /// A little less than `farthest`.
  private static let longest = Duration.seconds(320)
  /// 500 ms: of a call that is not told of any more so much counts.
  private static let longestReview: UInt64 = 500_000_000
  /// Half of what 16 bits hold, in steps of 10 ms: 327 s.
  private static let farthest: UInt16 = 1 << 15
  /// A host that the relay leaves out is missing for that long at least while others are heard: a
  /// line that loses as much of one loses the others' as well.
  private static let leastPause = Duration.milliseconds(500)
  private static let pause = Duration.milliseconds(400)
}
