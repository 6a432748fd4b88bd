/// Which way packets go, seen from the host that probes.
public enum LineDirection: UInt8, Sendable, CaseIterable {
  /// To the other end.
  case uplink = 0
  /// From the other end.
  case downlink = 1
}

/// What a probe found out about one direction.
public struct DirectionReport: Sendable, Equatable {
  /// Test packets sent, the ones of overload included.
  public var sent: Int
  /// Test packets that arrived, duplicates not counted.
  public var received: Int
  /// Loss at rates that the line carries: what our own overload lost is not in it. `nil` before
  /// enough packets have met their fate.
  public var loss: ShareEstimate?
  /// Loss while the test was at or above what the line carries.
  public var overloadLoss: ShareEstimate?
  /// Mean number of packets lost in a row, at rates that the line carries; `nil` when none was.
  public var meanLossBurst: Double?
  /// Packets that arrived after one that was sent later.
  public var reordered: Int
  /// Copies that arrived besides the first.
  public var duplicated: Int
  /// One-way delay above the least of the whole test, without load; needs no common clock. Its
  /// minimum is 0 by construction.
  public var delayVariation: DelaySummary?
  /// The round trip while this direction is loaded with as much as it carries, the other idle.
  public var loadedRoundTrip: DelaySummary?
  /// What became of the ECN field; `nil` when no packet told.
  public var ecn: ECNSurvival?
  /// Sustained rate; `nil` when it could not be measured.
  public var bandwidth: BandwidthEstimate?
  /// What the other end sends at most, in bit/s, where that is less than was expected.
  public var otherEndLimit: Double?
  /// What was sent under load, as a share of what was to be sent; below 0.9 the host that sent was
  /// too slow, and not the line.
  public var sentShare: Double?
  /// Somebody else's packets were seen in its queue (docs/probe.md §2).
  public var isShared = false

  /// Counts without any estimate.
  public init(sent: Int, received: Int, reordered: Int = 0, duplicated: Int = 0) {
    self.sent = sent
    self.received = received
    self.reordered = reordered
    self.duplicated = duplicated
  }
}

/// Sustained rate of one direction, in bits of IP packets a second: payload, seal, UDP and IP
/// headers (28 bytes for IPv4, 48 for IPv6), nothing of the link below (docs/protocol/probe.md §5).
public struct BandwidthEstimate: Sendable, Equatable {
  /// The estimate, never above the expected rate.
  public var bitsPerSecond: Double
  /// Lower end of the 95 % interval.
  public var low: Double
  /// Upper end; at the expected rate when the test was the limit.
  public var high: Double
  /// The line carried all that the test was allowed to send: it may be faster.
  public var limitedByTest: Bool
  /// The rate at which packets came out while the bottleneck was busy varied by more than a line of
  /// constant rate shows: somebody else sent through it, or its rate changes.
  public var isUnsteady: Bool
  /// No queue stood, and less was sent than was to be: the host that sends was the limit, by its
  /// time or its socket. The line may be faster.
  public var heldByHost = false
  /// No queue stood, and all was sent that was to be: the time was over before the load had found
  /// what the line carries. The line may be faster.
  public var ranOutOfTime = false
  /// Whether the line carries at least the rate, and how much more is not known.
  public var isLowerBound: Bool { limitedByTest || heldByHost || ranOutOfTime }

  /// An estimate with its interval, in bit/s.
  public init(
    bitsPerSecond: Double, low: Double, high: Double, limitedByTest: Bool, isUnsteady: Bool = false
  ) {
    self.bitsPerSecond = bitsPerSecond
    self.low = low
    self.high = high
    self.limitedByTest = limitedByTest
    self.isUnsteady = isUnsteady
  }
}

/// What became of the ECN field (RFC 3168 §5) of packets that were sent as ECT(0).
public enum ECNSurvival: String, Sendable, CaseIterable {
  /// Arrived as sent.
  case survived
  /// Arrived, and some were marked CE by a congested queue.
  case marked
  /// The line cleared it.
  case bleached

  /// `nil` when too few came to say.
  ///
  /// - Parameters:
  ///   - received: Packets that came.
  ///   - marked: Of these, with CE.
  ///   - bleached: Of these, as not ECN-capable.
  package init?(received: Int, marked: Int, bleached: Int) {
    guard received >= Self.fewest, marked >= 0, bleached >= 0 else { return nil }
    if 2 * bleached > received {
      self = .bleached
    } else {
      self = marked > 0 ? .marked : .survived
    }
  }

  private static let fewest = 8
}

/// The two bits of the IP header (RFC 3168 §5).
enum ECNField {
  static let notCapable: UInt8 = 0
  static let capable: UInt8 = 2
  static let congestionExperienced: UInt8 = 3
}
