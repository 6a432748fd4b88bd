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
    /// Another mapping for another destination; whether for each address or for each port of one is
    /// not known.
    case dependent = "address-dependent mapping, or address and port-dependent"
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

/// Where one destination saw this host: what tells how a translator maps.
package struct SeenAddress: Sendable, Equatable {
  /// Who saw.
  package var by: SocketAddress
  /// The source that it saw.
  package var seen: SocketAddress

  package init(by: SocketAddress, seen: SocketAddress) {
    self.by = by
    self.seen = seen
  }
}

extension PathFacts.Mapping {
  /// What can be known for certain of the translator on the way to the first of `sightings`, all
  /// of one socket (RFC 4787 §4.1); `nil` without any.
  ///
  /// - Parameter own: Addresses of this host.
  package init?(_ sightings: [SeenAddress], own: [SocketAddress]) {
    guard let first = sightings.first else { return nil }
    func isOwn(_ address: SocketAddress) -> Bool { own.contains(address) || address.isLoopback }
    guard !isOwn(first.seen) else {
      self = .none
      return
    }
    self = .translated
    for other in sightings.dropFirst()
    where !isOwn(other.seen) && other.seen.family == first.seen.family && other.by != first.by {
      let isSameHost = other.by.isSameHost(as: first.by)
      if other.seen == first.seen {
        if !isSameHost { self = .endpointIndependent }
      } else if self != .addressAndPortDependent {
        self = isSameHost ? .addressAndPortDependent : .dependent
      }
    }
  }
}

/// How well the measurement could tell the time.
public struct ClockQuality: Sendable, Equatable {
  /// Who notes when a packet arrives.
  public enum Stamps: String, Sendable, CaseIterable {
    /// The kernel, as the packet comes in.
    case kernel
    /// This program, as it comes round to it.
    case user
  }

  /// The step of the times that cross the wire, in µs.
  public var resolutionUs: Double
  /// Drift of the other host's clock against this one's over the test, in parts per million:
  /// positive when it runs fast; `nil` when jitter or a short test hide it.
  public var driftPpm: Double?
  /// How far `driftPpm` may be off, in parts per million.
  public var driftUncertaintyPpm: Double?
  /// 95th percentile of how much later than planned this host sent its packets, in µs.
  public var sendLatenessP95Us: Double?
  /// Who notes arrivals on this host; `nil` when not known.
  public var stamps: Stamps?

  /// A clock of the given step.
  public init(
    resolutionUs: Double, driftPpm: Double? = nil, driftUncertaintyPpm: Double? = nil,
    sendLatenessP95Us: Double? = nil, stamps: Stamps? = nil
  ) {
    self.resolutionUs = resolutionUs
    self.driftPpm = driftPpm
    self.driftUncertaintyPpm = driftUncertaintyPpm
    self.sendLatenessP95Us = sendLatenessP95Us
    self.stamps = stamps
  }
}
