package import Primitives

/// A network address translator (terms of RFC 4787).
package struct SimulatedNAT: Sendable {
  /// On what a mapping, or a filter, depends (RFC 4787 §4.1 and §5).
  package enum Dependence: Sendable { case endpointIndependent, address, addressAndPort }

  package struct Behaviour: Sendable {
    package var mapping: Dependence
    package var filtering: Dependence
    /// How long a mapping lives without a datagram from inside.
    package var mappingTimeout: Duration
    /// Whether two hosts inside can meet at the outer address (RFC 4787 §6).
    package var isHairpinning = false
    /// Whether the box takes what its filter refuses as sent to itself, as Linux without a firewall
    /// does: for `ownTimeout` its port belongs to that conversation, and who is inside reaches that
    /// remote address from another port.
    package var tracksItself = false

    /// Whether a host inside may ask for a port (RFC 6886).
    package var mapsOnRequest = false

    package init(
      mapping: Dependence, filtering: Dependence, mappingTimeout: Duration = .seconds(120)
    ) {
      self.mapping = mapping
      self.filtering = filtering
      self.mappingTimeout = mappingTimeout
    }

    /// "Full cone".
    package static let endpointIndependent = Behaviour(
      mapping: .endpointIndependent, filtering: .endpointIndependent)
    package static let addressRestricted = Behaviour(
      mapping: .endpointIndependent, filtering: .address)
    package static let portRestricted = Behaviour(
      mapping: .endpointIndependent, filtering: .addressAndPort)
    package static let symmetric = Behaviour(
      mapping: .addressAndPort, filtering: .addressAndPort)
    /// Port-restricted, with no firewall of its own: Docker, libvirt, a plain masquerading host.
    package static let unguarded: Behaviour = {
      var behaviour = portRestricted
      behaviour.tracksItself = true
      return behaviour
    }()
  }

  /// A port that a host inside has asked for, and who has come by it: those are answered from it.
  private struct OpenPort: Sendable {
    var inner: SocketAddress
    var outerPort: UInt16
    var guests: [SocketAddress] = []
  }

  private struct Mapping: Sendable {
    var inner: SocketAddress
    /// What the mapping depends on; only the parts that `Behaviour.mapping` names are compared.
    var remote: SocketAddress
    var outerPort: UInt16
    var lastOutbound: Instant
    var contacted: [SocketAddress]
    /// Whether it is for that remote address alone, because another port was taken for it.
    var isAside = false
  }

  /// What somebody outside said to the box itself.
  private struct OwnConversation: Sendable {
    var remote: SocketAddress
    var port: UInt16
    var last: Instant
  }

  /// `nf_conntrack_udp_timeout` of Linux.
  private static let ownTimeout = Duration.seconds(30)

  package let behaviour: Behaviour
  package private(set) var outerAddress: SocketAddress
  private var mappings: [Mapping] = []
  private var own: [OwnConversation] = []
  private var openPorts: [OpenPort] = []
  private var random: RandomSource

  package init(_ behaviour: Behaviour, outerAddress: SocketAddress, random: RandomSource) {
    self.behaviour = behaviour
    self.outerAddress = outerAddress
    self.random = random
  }

  /// The source that the outside sees on a datagram from `inner` to `remote`.
  package mutating func translate(
    from inner: SocketAddress, to remote: SocketAddress, at now: Instant
  ) -> SocketAddress {
    mappings.removeAll { now - $0.lastOutbound > behaviour.mappingTimeout }
    own.removeAll { now - $0.last > Self.ownTimeout }
    let open = openPorts.first { $0.inner == inner && $0.guests.contains(remote) }
    if let open { return outer(open.outerPort) }
    var isTaken = false
    let aside = mappings.firstIndex { $0.isAside && $0.inner == inner && $0.remote == remote }
    for index in aside.map({ $0..<($0 + 1) }) ?? mappings.indices
    where mappings[index].inner == inner && Self.fits(mappings[index].remote, remote, mapping) {
      if !mappings[index].contacted.contains(remote), isOwn(mappings[index].outerPort, remote) {
        isTaken = true
        continue
      }
      mappings[index].lastOutbound = now
      if !mappings[index].contacted.contains(remote) { mappings[index].contacted.append(remote) }
      return outer(mappings[index].outerPort)
    }
    let port = freePort()
    mappings.append(
      Mapping(
        inner: inner, remote: remote, outerPort: port, lastOutbound: now, contacted: [remote],
        isAside: isTaken))
    return outer(port)
  }

  private func isOwn(_ port: UInt16, _ remote: SocketAddress) -> Bool {
    own.contains { $0.port == port && $0.remote == remote }
  }

  /// A datagram came that nobody inside gets.
  package mutating func noteRefused(port: UInt16, from remote: SocketAddress, at now: Instant) {
    guard behaviour.tracksItself else { return }
    own.removeAll { $0.port == port && $0.remote == remote }
    own.append(OwnConversation(remote: remote, port: port, last: now))
  }

  /// Who inside gets a datagram that came to `port`; `nil` when the filter refuses it.
  package mutating func receiver(
    ofPort port: UInt16, from remote: SocketAddress, at now: Instant
  ) -> SocketAddress? {
    if let index = openPorts.firstIndex(where: { $0.outerPort == port }) {
      if !openPorts[index].guests.contains(remote) { openPorts[index].guests.append(remote) }
      return openPorts[index].inner
    }
    for entry in mappings where entry.outerPort == port {
      guard now - entry.lastOutbound <= behaviour.mappingTimeout else { return nil }
      for known in entry.contacted where Self.fits(known, remote, behaviour.filtering) {
        return entry.inner
      }
      return nil
    }
    return nil
  }

  /// Opens a port for everybody outside; `nil` where the box does not do that.
  package mutating func openPort(for inner: SocketAddress) -> SocketAddress? {
    guard behaviour.mapsOnRequest else { return nil }
    let known = openPorts.first { $0.inner == inner }
    if let known { return outer(known.outerPort) }
    let port = freePort()
    openPorts.append(OpenPort(inner: inner, outerPort: port))
    return outer(port)
  }

  /// Forgets every mapping, as after a restart, and may come back under another outer address.
  package mutating func rebind(outerAddress newAddress: SocketAddress? = nil) {
    mappings.removeAll()
    own.removeAll()
    openPorts.removeAll()
    if let newAddress { outerAddress = newAddress }
  }

  private var mapping: Dependence { behaviour.mapping }

  private func outer(_ port: UInt16) -> SocketAddress {
    var address = outerAddress
    address.port = port
    return address
  }

  private mutating func freePort() -> UInt16 {
    while true {
      let port = UInt16(20_000 + random.below(40_000))
      let isTaken =
        mappings.contains { $0.outerPort == port } || openPorts.contains { $0.outerPort == port }
      if !isTaken { return port }
    }
  }

  private static func fits(
    _ known: SocketAddress, _ remote: SocketAddress, _ dependence: Dependence
  ) -> Bool {
    switch dependence {
    case .endpointIndependent: true
    case .address: known.isSameHost(as: remote)
    case .addressAndPort: known == remote
    }
  }
}
