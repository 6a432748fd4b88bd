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
}

/// What to do about it.
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
    guard missing > 0 else {
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
}

/// Whether the delay should change, and how much harm may be done to change it.
struct StretchDecision: Equatable, Sendable {
  var direction: TimeStretch.Direction
  /// The least normalised correlation at which a splice is accepted; `nil` accepts any.
  var leastCorrelation: Float?
  /// The farthest jump, in samples.
  var longest: Int

  /// - Parameters:
  ///   - excess: how much later than its target the newest packet sounds, in nanoseconds.
  ///   - isPassive: whether what is about to sound is a pause.
  ///   - pullsSinceLast: pulls since the last splice or attempt.
  init?(excess: Int64, isPassive: Bool, pullsSinceLast: Int) {
    let pace = isPassive || excess > Self.farTooLate ? 3 : 6
    guard pullsSinceLast >= pace else { return nil }
    let distance = Int(
      clamping: AudioFormat.samples(
        nanoseconds: excess.magnitude > 1 << 40 ? 1 << 40 : Int64(excess.magnitude)))
    if isPassive, excess > Self.late {
      self.init(.shorten, nil, distance)
    } else if excess > Self.farTooLate {
      self.init(.shorten, 0.5, distance)
    } else if excess > Self.tooLate {
      self.init(.shorten, 0.9, distance)
    } else if isPassive, excess < Self.early {
      self.init(.lengthen, nil, max(distance, TimeStretch.shortest))
    } else if excess < Self.tooEarly {
      self.init(.lengthen, 0.85, TimeStretch.longest)
    } else {
      return nil
    }
  }

  private init(_ direction: TimeStretch.Direction, _ leastCorrelation: Float?, _ longest: Int) {
    self.direction = direction
    self.leastCorrelation = leastCorrelation
    self.longest = min(longest, TimeStretch.longest)
  }

  // In nanoseconds. Speech tolerates 40 ms of needless delay better than a splice that buys it off;
  // in a pause nobody hears either.
  private static let late: Int64 = 5_000_000
  private static let tooLate: Int64 = 40_000_000
  private static let farTooLate: Int64 = 100_000_000
  private static let early: Int64 = -3_000_000
  private static let tooEarly: Int64 = -8_000_000
}
