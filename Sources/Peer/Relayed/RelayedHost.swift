import Primitives
import Wire

/// What has come of one host by a relay: frames that wait for the pipeline, and counts.
///
/// Of silence the relay passes on a frame a second, and of more than three who speak the loudest
/// (docs/protocol/relay.md §4). What it leaves out is not lost.
struct RelayedHost {
  var queue: AudioFrameQueue
  private(set) var counters = MediaCounters()
  /// What goes on with another relay.
  private(set) var past: Past
  /// Of the frames that were left out, the ones before the session with the relay; `nil` where the
  /// relay counts none.
  private var leftOutBefore: UInt16?
  /// Its number at the relay.
  private var source: UInt8 = 0
  /// There was another session, or another number, when the last frame came.
  private var isLastOfOther = false

  /// What is known of it, without its frames.
  struct Past {
    fileprivate(set) var leftOut: UInt16 = 0
    fileprivate(set) var isSilent = false
    fileprivate var last: (mediaTime: UInt16, steps: UInt16, at: Instant, leftOut: UInt16)?
    /// When it was known last that a call brings it, and for how many nanoseconds one did since
    /// the last frame.
    fileprivate var call: (at: Instant, time: UInt64)?

    /// A call brings it, and the relay does not: told each 250 ms while it is so.
    mutating func handleCall(now: Instant) {
      var time = call?.time ?? 0
      if let at = call?.at { time &+= min(now.nanoseconds(since: at), RelayedHost.longestReview) }
      call = (now, time)
    }
  }

  /// Frames that the relays have left out so far, mod 2^16.
  var leftOut: UInt16 { past.leftOut }
  /// Nothing of it is to be heard: its last frame says so, or the relay leaves it out.
  var isSilent: Bool { past.isSilent }

  /// - Parameters:
  ///   - isTold: the relay says how many it leaves out.
  ///   - former: what had come by another relay.
  init(capacity: Int, isTold: Bool, after former: Past? = nil) {
    queue = AudioFrameQueue(capacity: capacity)
    past = former ?? Past()
    restart(isTold: isTold)
  }

  /// Another session with a relay, or with another one: it counts from 0.
  mutating func restart(isTold: Bool) {
    leftOutBefore = isTold ? past.leftOut : nil
    source = 0
    isLastOfOther = past.last != nil
  }

  /// It has that number at the relay. With another one it is counted from 0.
  mutating func handleSource(_ source: UInt8, isTold: Bool) {
    if self.source != 0, self.source != source { restart(isTold: isTold) }
    self.source = source
  }

  /// The relay has left out so many frames since it has that number.
  mutating func handleUnsent(_ count: UInt16, isLeftOut: Bool) {
    guard let leftOutBefore else { return }
    past.leftOut = leftOutBefore &+ count
    if isLeftOut { past.isSilent = true }
  }

  /// A call brings it, and the relay does not.
  mutating func handleCall(now: Instant) { past.handleCall(now: now) }

  /// A frame has opened that came in its own packet.
  ///
  /// - Parameter lastOther: when a frame of another host came last.
  mutating func recordFrame(
    _ label: ChannelAudioLabel, byteCount: Int, lastOther: Instant?, now: Instant
  ) {
    counters.recordReceived(byteCount: byteCount, now: now)
    let steps = max(1, UInt16(clamping: label.length.mediaTimeSteps))
    // After longer nobody knows how often media time has wrapped.
    if let last = past.last, now < last.at + Self.longest {
      let ahead = label.mediaTime &- last.mediaTime
      // One that was overtaken ends no gap.
      guard (1..<Self.farthest).contains(ahead) else { return }
      if ahead > last.steps {
        let missing = (ahead &- last.steps) / steps
        countLeftOut(missing, since: last.at, length: steps, lastOther: lastOther, now: now)
      }
    }
    past.call = nil
    isLastOfOther = false
    past.last = (label.mediaTime, steps, now, past.leftOut)
    past.isSilent = label.isSilent
  }

  /// A gap has ended. What of it is not loss, and the relay has said nothing of? What a call has
  /// brought meanwhile is none.
  private mutating func countLeftOut(
    _ missing: UInt16, since last: Instant, length: UInt16, lastOther: Instant?, now: Instant
  ) {
    let brought = (past.call?.time ?? 0) / 10_000_000 / UInt64(length)
    // In the same session the relay has said what it did not send.
    let isSaid = !isLastOfOther && leftOutBefore != nil
    let said = isSaid ? past.leftOut &- (past.last?.leftOut ?? past.leftOut) : 0
    var left = min(missing - min(missing, said), UInt16(clamping: brought))
    let isGuess =
      isLastOfOther ? isSilent : isGuessed(since: last, lastOther: lastOther, now: now)
    if !isSaid, isGuess { left = missing }
    past.leftOut &+= left
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
  fileprivate static let longestReview: UInt64 = 500_000_000
  /// Half of what 16 bits hold, in steps of 10 ms: 327 s.
  private static let farthest: UInt16 = 1 << 15
  /// A host that the relay leaves out is missing for that long at least while others are heard: a
  /// line that loses as much of one loses the others' as well.
  private static let leastPause = Duration.milliseconds(500)
  private static let pause = Duration.milliseconds(400)
}
