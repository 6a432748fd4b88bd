public import Primitives

/// The way that a probe's packets took, as far as this host can know it; `nil` = not known.
public struct PathFacts: Sendable, Equatable {
  /// Who forwards.
  public enum Kind: String, Sendable, CaseIterable {
    /// From host to host.
    case direct
    /// Between two hosts behind translators that were both opened.
    case holePunched
    /// Through a relay.
    case relayed
  }

  /// Mapping behaviour of the translators on this side (RFC 4787 §4.1).
  public enum Mapping: String, Sendable, CaseIterable {
    /// The other end sees an address of this host: no translator.
    case none = "no translation"
    /// The same mapping for every destination.
    case endpointIndependent = "endpoint-independent mapping"
    /// Another mapping for each destination address.
    case addressDependent = "address-dependent mapping"
    /// Another mapping for each destination address and port.
    case addressAndPortDependent = "address and port-dependent mapping"
    /// Translated; one destination cannot tell how others are mapped.
    case translated = "translated, mapping behaviour not known"
  }

  /// Who forwards.
  public var kind: Kind?
  /// Where the packets went.
  public var remote: SocketAddress?
  /// Our address as the other end sees it.
  public var seenAs: SocketAddress?
  /// IPv4 or IPv6.
  public var family: SocketAddress.Family?
  /// How this side's translator maps.
  public var mapping: Mapping?
  /// The largest IP packet in bytes that got through, each way; a floor of the path's MTU.
  public var largestUplinkPacket: Int?
  /// The same from the other end.
  public var largestDownlinkPacket: Int?

  /// Nothing known.
  public init() {}
}

/// How well the measurement could tell the time.
public struct ClockQuality: Sendable, Equatable {
  /// The step of the times that cross the wire, in µs.
  public var resolutionUs: Double
  /// Drift between the two hosts' clocks over the test, in parts per million; `nil` when the test
  /// was too short to see it.
  public var driftPpm: Double?
  /// 95th percentile of how much later than planned this host sent its packets, in µs.
  public var sendLatenessP95Us: Double?

  /// A clock of the given step.
  public init(resolutionUs: Double, driftPpm: Double? = nil, sendLatenessP95Us: Double? = nil) {
    self.resolutionUs = resolutionUs
    self.driftPpm = driftPpm
    self.sendLatenessP95Us = sendLatenessP95Us
  }
}
