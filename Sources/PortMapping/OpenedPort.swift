package import Primitives

/// How a router is spoken to.
package enum RouterService: Hashable, Sendable {
  /// RFC 6886.
  case natPMP
  /// UPnP Internet Gateway Device.
  case upnp(UPnPService)
}

/// A router's WANIPConnection or WANPPPConnection service, as its description tells.
package struct UPnPService: Hashable, Sendable {
  /// Where its actions are posted.
  package var control: RouterURL
  /// `urn:schemas-upnp-org:service:WANIPConnection:1`.
  package var type: String

  /// `nil` for a type that is none of the two services.
  package init?(control: RouterURL, type: String) {
    let known = ["WANIPConnection:", "WANPPPConnection:"].contains { name in
      let start = "urn:schemas-upnp-org:service:" + name
      let version = type.utf8.dropFirst(start.utf8.count)
      return type.hasPrefix(start) && version.count == 1
        && version.allSatisfy { (0x31...0x39).contains($0) }
    }
    guard known else { return nil }
    self.control = control
    self.type = type
  }
}

/// A port that a router has opened for us.
package struct OpenedPort: Hashable, Sendable {
  package var service: RouterService
  /// Where others reach us.
  package var external: SocketAddress
  /// For how long, as the router says.
  package var lifetime: Duration

  package init(service: RouterService, external: SocketAddress, lifetime: Duration) {
    self.service = service
    self.external = external
    self.lifetime = lifetime
  }
}

/// Why a router has opened no port.
package enum RouterFault: Error, Hashable, Sendable {
  /// It did not answer the search.
  case silent
  /// It has answered the search, and then did not go on.
  case fellSilent
  /// It says no; the reason is a code of the protocol: "718", "NAT-PMP 2".
  case refused(String)
  /// It says what means nothing here.
  case notUnderstood
  /// Nobody wanted a port any more before one was asked for.
  case calledOff
}

/// One conversation with a router; it blocks for a few seconds at most.
package enum RouterJob: Hashable, Sendable {
  /// Opens a port, or keeps it open.
  ///
  /// - Parameters:
  ///   - service: How the router was spoken to before; `nil` = it is searched for.
  ///   - wanted: The outer port to ask for first.
  case open(RouterPlace, service: RouterService?, wanted: UInt16)
  /// Gives a port back.
  case close(RouterPlace, OpenedPort)
}

/// The numbers of port mapping.
package enum RouterLimits {
  /// For how long a port is asked, in s: a program that is killed leaves it open for no longer.
  package static let lifetimeSeconds: UInt32 = 3600
  /// How long a router may take to answer the search, in ms: devices of UPnP wait for a second, and
  /// the question is asked twice.
  package static let searchMilliseconds = 1200
  /// When it is asked for the second time, in ms.
  package static let searchAgainMilliseconds = 200
  /// How long one exchange with a router that has answered may take, in ms.
  package static let exchangeMilliseconds = 1000
  /// An answer to the search: an HTTP head in one datagram.
  package static let answerByteCount = 1500
  /// A description of a router; usual ones have 3 to 20 KiB.
  package static let descriptionByteCount = 65_536
  /// An answer to an action; usual ones have 0.5 KiB.
  package static let replyByteCount = 8192
  /// Outer ports that are tried where another host has the wanted one.
  package static let portTries = 3
}
