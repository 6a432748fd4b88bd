/// The parts of a probe, in order.
public enum ProbePhase: String, Sendable, CaseIterable {
  /// Asking the other end.
  case asking
  /// Small packets only: delay and loss of the idle line.
  case idle
  /// Short trains of rising rate: roughly what the line carries.
  case ramp
  /// A steady rate that the line carries: loss and delay variation.
  case steady
  /// The downlink as full as it gets.
  case loadedDownlink
  /// The uplink as full as it gets.
  case loadedUplink
  /// Both as full as they get.
  case loadedBoth
  /// Last reports come in.
  case finishing
}

extension ProbePhase {
  /// For people.
  public var word: String {
    switch self {
    case .loadedDownlink: "downlink full"
    case .loadedUplink: "uplink full"
    case .loadedBoth: "both full"
    case .asking, .idle, .ramp, .steady, .finishing: rawValue
    }
  }
}

/// When a phase ran, in seconds from the start of the probe.
public struct PhaseSpan: Sendable, Equatable {
  /// Which.
  public var phase: ProbePhase
  /// When it began.
  public var from: Double
  /// When it ended.
  public var to: Double

  /// A phase and its times in seconds.
  public init(phase: ProbePhase, from: Double, to: Double) {
    self.phase = phase
    self.from = from
    self.to = to
  }
}

/// One direction over 100 ms of the test, by the time of sending.
public struct TimelinePoint: Sendable, Equatable {
  /// Which way.
  public var direction: LineDirection
  /// The middle of the interval, in seconds from the start of the probe.
  public var at: Double
  /// Test packets sent in it.
  public var sent: Int
  /// How many of them were lost.
  public var lost: Int
  /// Sent, in bit/s of IP packets.
  public var sentRate: Double
  /// Mean one-way delay above the least of the test, in ms; `nil` when nothing arrived.
  public var addedDelayMs: Double?
  /// The largest.
  public var largestAddedDelayMs: Double?

  /// An interval in which nothing was sent.
  public init(direction: LineDirection, at: Double) {
    self.direction = direction
    self.at = at
    sent = 0
    lost = 0
    sentRate = 0
  }
}

/// What a probe tells while it runs. `finished` comes exactly once and last, also after a
/// cancellation.
public enum ProbeProgress: Sendable, Equatable {
  /// A phase began.
  case phaseBegan(ProbePhase)
  /// About ten times a second: the share of the duration that is over, 0...1, and the round trip
  /// of the last answer in ms.
  case progressed(share: Double, latestRoundTripMs: Double?)
  /// At most 2 s after the start: delay and loss of the idle line, no bandwidth.
  case firstGrade(LineReport)
  /// The end.
  case finished(LineReport)
}

extension ProbeProgress {
  /// What it is about, in a word, for logs.
  package var word: String {
    switch self {
    case .phaseBegan(let phase): phase.rawValue
    case .progressed: "progressed"
    case .firstGrade: "firstGrade"
    case .finished(let report): "finished \(report.state.rawValue) \(report.ending.rawValue)"
    }
  }
}
