/// What a probe found out about the line between two hosts: a plain value, made once at the end
/// and, in part, as the first grade. What was not measured is absent, never 0
/// (docs/protocol/probe.md §5).
public struct LineReport: Sendable, Equatable {
  /// How much of what was asked for could be measured.
  public enum State: String, Sendable, CaseIterable {
    /// Everything that was asked for.
    case complete
    /// Delay and loss, but no bandwidth in at least one direction that was asked for.
    case incompleteNoBandwidth
    /// Nothing: no answer, or a refusal.
    case unavailable
  }

  /// Why the probe ended.
  public enum Ending: String, Sendable, CaseIterable {
    /// It ran through.
    case finished
    /// It runs: this is what is known so far.
    case underWay
    /// Its owner stopped it.
    case cancelled
    /// The other end did not answer within the duration, or fell silent.
    case noAnswer
    /// The other end was there and accepted, and no path between the two hosts carried packets.
    case noPath
    /// The other end is in another probe or in a call, or serves as many probes as it may.
    case busy
    /// The other end does not let us probe.
    case notAllowed
    /// This end is in a call, or a call began: it has priority.
    case callInProgress
    /// The session that carried the probe ended.
    case sessionLost
    /// The other end stopped sending because its byte budget was used up.
    case budgetSpent
    /// The other end does not know probes.
    case notSupported
    /// Nobody has the name or ID that was to be probed.
    case unknownPeer
    /// The name or ID is this identity's own.
    case ownIdentity
    /// The peer is known, and not online.
    case notOnline
    /// The peer is another than it was, or its card is not good.
    case identityChanged
  }

  /// How much could be measured.
  public var state: State
  /// Why it ended.
  public var ending: Ending
  /// Round trips while no load was on the line.
  public var idleRoundTrip: RoundTripReport?
  /// This host to the other end; `nil` when it was not probed or nothing came of it.
  public var uplink: DirectionReport?
  /// The other end to this host; `nil` when it was not probed or nothing came of it.
  public var downlink: DirectionReport?
  /// The way that the packets took.
  public var path: PathFacts
  /// How well this measurement could tell the time; `nil` without a round trip.
  public var clock: ClockQuality?
  /// What the probe itself took.
  public var cost: ProbeCost
  /// What was asked for.
  public var plan: ProbePlan
  /// Which part of the probe ran when, in order.
  public var phases: [PhaseSpan]
  /// Rate, delay and loss over the test, both directions, in order of time; at most 2 × 300 points.
  public var timeline: [TimelinePoint]
  /// Every test packet, where the plan asks for them.
  public var packets: [ProbedPacket] = []

  /// A report in which nothing was measured.
  public init(plan: ProbePlan, path: PathFacts = PathFacts(), ending: Ending) {
    state = .unavailable
    self.ending = ending
    self.plan = plan
    self.path = path
    cost = ProbeCost()
    phases = []
    timeline = []
  }
}

/// What the probe itself took, as the line counts it: IP and UDP headers included.
public struct ProbeCost: Sendable, Equatable {
  /// From the start to the result.
  public var seconds: Double = 0
  /// Bytes to the other end.
  public var bytesSent: Int = 0
  /// Bytes from the other end.
  public var bytesReceived: Int = 0
  /// The most that the probe could have sent.
  public var sendBudget: Int = 0
  /// The most that the other end was asked to send.
  public var receiveBudget: Int = 0
  /// Packets of this host that its own kernel had no room for.
  public var refusedByHost: Int = 0
  /// Packets to this host that came, and for which its socket had no room.
  public var overflowedHere: Int = 0

  /// Nothing yet.
  public init() {}
}

/// A share of trials with its 95 % interval after Wilson (1927), which is honest near 0 and 1 too.
public struct ShareEstimate: Sendable, Equatable {
  /// Trials.
  public var trials: Int
  /// Trials that came out positive.
  public var hits: Int
  /// Lower end, 0...1.
  public var low: Double
  /// Upper end, 0...1.
  public var high: Double

  /// `hits / trials`, 0...1.
  public var share: Double { trials > 0 ? Double(hits) / Double(trials) : 0 }

  /// `nil` without trials.
  public init?(hits: Int, of trials: Int) {
    guard trials > 0, hits >= 0, hits <= trials else { return nil }
    self.trials = trials
    self.hits = hits
    // The 97.5th percentile of the normal distribution.
    let z = 1.959964
    let count = Double(trials)
    let share = Double(hits) / count
    let scale = 1 + z * z / count
    let middle = (share + z * z / (2 * count)) / scale
    let inside = share * (1 - share) / count + z * z / (4 * count * count)
    let half = z * inside.squareRoot() / scale
    low = max(0, middle - half)
    high = min(1, middle + half)
  }
}
