public import Primitives

/// From whom packets get in to a socket that has written to somebody (RFC 4787 §5), as far as it
/// is proven.
public enum Filtering: String, Sendable, CaseIterable {
  /// From everybody.
  case endpointIndependent = "endpoint-independent filtering"
  /// From hosts that were written to, whatever their port.
  case addressDependent = "address-dependent filtering"
  /// From where was written to, and nowhere else.
  case addressAndPortDependent = "address and port-dependent filtering"
  /// From another port of a host that was written to; whether from other hosts was not tried.
  case notByPort = "endpoint-independent filtering, or address-dependent"

  /// What two trials prove; `nil` = neither was made.
  ///
  /// - Parameters:
  ///   - otherPort: Whether a packet got in from another port of the rendezvous.
  ///   - otherAddress: Whether one did from another address of it.
  init?(otherPort: Bool?, otherAddress: Bool?) {
    switch (otherAddress, otherPort) {
    case (true?, _): self = .endpointIndependent
    case (_, false?): self = .addressAndPortDependent
    case (false?, true?): self = .addressDependent
    case (nil, true?): self = .notByPort
    case (_, nil): return nil
    }
  }
}

/// How long a translator, or a firewall, keeps its entry for a silent socket.
public struct MappingLifetime: Sendable, Equatable {
  /// The longest silence that it outlived, in seconds; 0 = none was.
  public var atLeastSeconds: Double
  /// The shortest that it did not; `nil` = it outlived all that were tried.
  public var lessThanSeconds: Double?

  package init(atLeastSeconds: Double, lessThanSeconds: Double? = nil) {
    self.atLeastSeconds = atLeastSeconds
    self.lessThanSeconds = lessThanSeconds
  }
}

/// What the echoes of one address of a rendezvous showed of the line to it. What was not tried, or
/// could not be told, is `nil`.
public struct LineTrials: Sendable, Equatable {
  /// From whom packets get in.
  public var filtering: Filtering?
  /// Why `filtering` is not known, or not better known.
  public var filteringUntested: String?
  /// Whether two sockets of this host reach each other by the addresses that others see.
  public var hairpins: Bool?
  /// How long silence may last.
  public var lifetime: MappingLifetime?
  /// Why `lifetime` is not known although it was asked for.
  public var lifetimeUntested: String?
  /// The longest IP packet in bytes that got there; none that calls use is longer than 1228, or
  /// 1248 of IPv6.
  public var largestUplinkPacket: Int?
  /// The same on the way back; one as long as `largestUplinkPacket` is the longest that could be
  /// asked for.
  public var largestDownlinkPacket: Int?
  /// Why the two are not known.
  public var packetSizeUntested: String?

  /// Nothing known.
  package init() {}
}

/// A TURN server that was tried.
public struct RelaySighting: Sendable, Equatable {
  /// `turn:HOST:PORT`, as the user or the rendezvous has named it.
  public var uri: String
  /// Whether the rendezvous named it.
  public var isOffered: Bool
  /// Its address; `nil` where it has none.
  public var server: SocketAddress?
  /// Where peers would reach this host by it; `nil` = it gave no relay.
  public var relayed: SocketAddress?
  /// The least time from a request to its answer, in ms.
  public var roundTripMs: Double?
  /// How long it took until there was a relay, connecting and TLS included, in ms.
  public var tookMs: Double?
  /// Why it gave none.
  public var error: EarshotError?

  package init(uri: String, isOffered: Bool = false) {
    self.uri = uri
    self.isOffered = isOffered
  }
}
