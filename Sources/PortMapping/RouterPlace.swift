package import Primitives

/// Which router is asked, and for whom.
package struct RouterPlace: Hashable, Sendable {
  /// The IPv4 address of the router that packets to the internet go by; its port means nothing.
  package var router: SocketAddress
  /// The own address that packets to it leave from, with the port to be opened.
  package var own: SocketAddress

  /// `nil` where there is nothing to ask: another family than IPv4, or an own address that others
  /// reach without a translator.
  package init?(router: SocketAddress, own: SocketAddress) {
    guard router.family == .v4, own.family == .v4, own.port != 0, own.isPrivateV4,
      !router.isUnspecified, !router.isLoopback, !router.isSameHost(as: own)
    else { return nil }
    self.router = router
    self.router.port = 0
    self.own = own
  }

  /// The outer port to ask for first: another number than the own port. A translator that keeps
  /// ports shows the host at its own one, and what peers have sent there before the port was open
  /// may still keep it closed for them (docs/decisions/0065).
  package var firstOuterPort: UInt16 {
    let (first, count) = (1024, 64_512)
    return UInt16(first + (Int(own.port) + count / 2) % count)
  }

  /// Without a look at either address.
  init(exactly router: SocketAddress, own: SocketAddress) {
    self.router = router
    self.own = own
  }
}
