package import PortMapping
public import Primitives

/// Whether the host's router lets peers in at a port of its own (`Configuration.mapsPort`).
public enum PortMappingState: Sendable, Equatable {
  /// It does.
  case open(MappedPort)
  /// It no longer does; it is asked again.
  case closed
}

/// A port that a router has opened for this endpoint.
public struct MappedPort: Sendable, Equatable {
  /// How the router is spoken to.
  public enum Service: String, Sendable, Equatable {
    /// NAT Port Mapping Protocol (RFC 6886).
    case natPMP = "NAT-PMP"
    /// UPnP Internet Gateway Device.
    case upnpIGD = "UPnP-IGD"
  }

  /// How the router is spoken to.
  public var service: Service
  /// The router; its port means nothing.
  public var router: SocketAddress
  /// Where others reach this endpoint, by the router's word.
  public var external: SocketAddress

  package init(_ port: OpenedPort, router: SocketAddress) {
    switch port.service {
    case .natPMP: service = .natPMP
    case .upnp: service = .upnpIGD
    }
    self.router = router
    external = port.external
  }
}
