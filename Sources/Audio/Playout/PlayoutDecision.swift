/// What one pull did, mostly in NetEQ's words.
package enum PlayoutOperation: Equatable, Sendable {
  /// Nothing to play: before the first packet, or long after the last.
  case silence
  /// What came off the wire, as it came.
  case normal
  /// The same, made a little shorter to lower the delay.
  case accelerate
  /// The same, made a little longer to raise the delay.
  case preemptiveExpand
  /// Made up, because nothing came.
  case expand
  /// A lost packet, restored from the copy in the one that followed it.
  case forwardErrorCorrection
  /// The first audio after something made up.
  case merge
}

/// What there is to play when more samples are needed: all that the decision rests on.
struct PlayoutSituation: Sendable {
  /// Samples missing between what was decoded last and the first packet in the buffer; 0 when that
  /// packet is the one wanted, `nil` when the buffer is empty.
  var gap: Int?
  /// Samples made up since something was decoded.
  var concealed = 0
  /// Whether concealment has faded to silence.
  var isMuted = false
  /// What the first packet says of itself.
  var carriesForwardErrorCorrection = false
  var packetSampleCount = 0
  /// How much later than its target the first packet would sound, in nanoseconds.
  var excess: Int64 = 0
  /// How much media time the buffer holds, in samples.
  var bufferedSpan: Int64 = 0
  /// Whether less is held than what brings lost frames back takes.
  var isShortOfRepair = false
  /// Whether what lies before the first packet was never sent.
  var isAfterPause = false

  /// - Parameters:
  ///   - first: in the buffer, and `last`.
  ///   - start: media time of what is wanted next, in samples.
  ///   - excess: of `first`, in nanoseconds.
  mutating func describe(
    _ first: PacketBuffer.Entry, _ last: PacketBuffer.Entry, from start: Int64, excess: Int64
  ) {
    gap = Int(clamping: first.timestamp &- start)
    isAfterPause = first.isMarked
    packetSampleCount = first.packet.sampleCount
    carriesForwardErrorCorrection = first.packet.carriesForwardErrorCorrection
    self.excess = excess
    bufferedSpan = last.end &- first.timestamp
  }
}

/// What to do about it.
///
/// Station 19 of the house tour; next is `OpusDecoder`.
enum PlayoutDecision: Equatable, Sendable {
  case decode
  /// Restore this many samples from the first packet, then decode it.
  case recover(sampleCount: Int)
  case conceal
  case staySilent

  init(_ situation: PlayoutSituation) {
    guard let gap = situation.gap else {
      self = situation.isMuted ? .staySilent : .conceal
      return
    }
    if situation.isMuted {
      // Waiting costs nothing while nothing sounds: build the delay up before going on.
      let mayStart = situation.excess >= 0 || situation.bufferedSpan > Self.plenty
      self = mayStart ? .decode : .staySilent
      return
    }
    let missing = gap - situation.concealed
    // The delay that copies need is had at once: what is made up already goes on a little. Once by
    // 60 ms costs no more than three times by 20.
    if situation.isShortOfRepair, !situation.isAfterPause,
      (1..<Self.longestWait).contains(situation.concealed)
    {
      self = .conceal
      return
    }
    // A pause that the sender took, or a hole that is longer than concealment lasts: what came
    // after it is not made to wait for its end.
    let isPassedOver = situation.isAfterPause || missing > Self.outage
    guard missing > 0, !(isPassedOver && situation.excess >= 0) else {
      self = .decode
      return
    }
    self = Self.bridge(missing: missing, situation)
  }

  /// The packet after a hole is here, and it is not yet its turn.
  private static func bridge(missing: Int, _ situation: PlayoutSituation) -> PlayoutDecision {
    let reach = situation.packetSampleCount
    guard situation.carriesForwardErrorCorrection, missing <= reach else { return .conceal }
    if missing == reach { return .recover(sampleCount: reach) }
    // Part of the frame has been made up already: hear all of it only if we are early anyway.
    let repeated = AudioFormat.nanoseconds(samples: Int64(reach - missing))
    return situation.excess &+ repeated <= 0 ? .recover(sampleCount: reach) : .conceal
  }

  /// 400 ms: with so much in the buffer the sender's time line has moved, not the path.
  private static let plenty: Int64 = 19_200
  /// 80 ms.
  private static let longestWait = 3840
  /// 120 ms.
  private static let outage = 5760
}
