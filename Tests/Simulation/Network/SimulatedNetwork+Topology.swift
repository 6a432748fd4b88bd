package import Primitives

/// Sites and hosts: where they are, and how they move.
extension SimulatedNetwork {
  /// Adds a place with a line of its own; with a NAT its hosts have private addresses, which are
  /// the same at every site, as in life.
  package func addSite(
    _ access: AccessConditions, nat: SimulatedNAT.Behaviour? = nil,
    family: SocketAddress.Family = .v4
  ) -> SiteID {
    let address = publicAddress(family)
    sites.append(
      Site(
        up: SimulatedLink(access.up, random: random.split()),
        down: SimulatedLink(access.down, random: random.split()),
        nat: nat.map { SimulatedNAT($0, outerAddress: address, random: random.split()) },
        outerAddress: address))
    return SiteID(index: sites.count - 1)
  }

  /// Adds a host; without a NAT a site has one address, and its hosts differ by port.
  package func addHost(at site: SiteID, port: UInt16) -> HostID {
    hosts.append(Host(address: freshAddress(at: site, port: port), site: site))
    return HostID(index: hosts.count - 1)
  }

  /// Gives a host at a site without a NAT one address more, from which it sends only when it says
  /// so: the system would choose the first.
  package func addAddress(to host: HostID) -> SocketAddress {
    let site = hosts[host.index].site.index
    precondition(sites[site].nat == nil, "behind a NAT a host has one address")
    var address = publicAddress()
    sites[site].otherAddresses.append(address)
    address.port = hosts[host.index].address.port
    hosts[host.index].others.append(Attachment(address, hosts[host.index].site))
    return address
  }

  /// Gives a host an address at a further site, from which it sends only when it says so.
  package func addUplink(to host: HostID, at site: SiteID) -> (SocketAddress, LocalAddressID) {
    let address = freshAddress(at: site, port: hosts[host.index].address.port)
    hosts[host.index].others.append(Attachment(address, site))
    return (address, LocalAddressID(rawValue: UInt16(hosts[host.index].others.count)))
  }

  /// Asks the translator of the host's site for a port; `nil` where none answers.
  package func openPort(for host: HostID) -> SocketAddress? {
    sites[hosts[host.index].site.index].nat?.openPort(for: hosts[host.index].address)
  }

  /// Nothing that `site` sends to `address` arrives from now on.
  package func makeUnreachable(_ address: SocketAddress, from site: SiteID) {
    unreachable.append((address, site))
  }

  /// The address that the host itself knows.
  package func address(of host: HostID) -> SocketAddress { hosts[host.index].address }

  package func site(of host: HostID) -> SiteID { hosts[host.index].site }

  /// Takes a host to another site, as a phone that leaves the house: datagrams for its old address
  /// are lost.
  package func move(_ host: HostID, to site: SiteID, now: Instant) {
    let port = hosts[host.index].address.port
    hosts[host.index] = Host(address: freshAddress(at: site, port: port), site: site)
    addressChanges[host.index] = now
    log.note(at: now, "host \(host.index) moves to \(hosts[host.index].address)")
  }

  /// When the address that others see of a host last changed; `nil` = never.
  package func lastAddressChange(of host: HostID) -> Instant? { addressChanges[host.index] }

  /// Whether the line passes anything from one host to the other, as far as switches tell.
  package func carries(from: HostID, to: HostID) -> Bool {
    let (from, to) = (site(of: from), site(of: to))
    return !sites[from.index].up.isDown && !sites[to.index].down.isDown
      && !isBlocked(from: from, to: to)
  }

  /// Whether what leaves or reaches one of both is lost in a burst just now, all of it.
  package func losesAll(_ one: HostID, _ other: HostID) -> Bool {
    [site(of: one), site(of: other)].contains { site in
      sites[site.index].up.losesAll || sites[site.index].down.losesAll
    }
  }

  /// The site's NAT forgets its mappings; a site without one gets a new address.
  package func rebind(_ site: SiteID, changesAddress: Bool, now: Instant) {
    let address = changesAddress ? publicAddress() : sites[site.index].outerAddress
    log.note(at: now, "site \(site.index) rebinds as \(address.hostText)")
    sites[site.index].outerAddress = address
    for index in hosts.indices where hosts[index].site == site { addressChanges[index] = now }
    guard sites[site.index].nat == nil else {
      sites[site.index].nat?.rebind(outerAddress: address)
      return
    }
    for index in hosts.indices where hosts[index].site == site {
      var moved = address
      moved.port = hosts[index].address.port
      hosts[index].address = moved
    }
  }

  // MARK: - Lines

  package func conditions(of site: SiteID) -> AccessConditions {
    AccessConditions(
      up: sites[site.index].up.conditions, down: sites[site.index].down.conditions)
  }

  package func setConditions(_ access: AccessConditions, of site: SiteID, now: Instant) {
    log.note(at: now, "site \(site.index) has new conditions")
    sites[site.index].up.conditions = access.up
    sites[site.index].down.conditions = access.down
  }

  /// Cuts a site off, or one direction of its line, or joins it again.
  package func setDown(up: Bool, down: Bool, of site: SiteID, now: Instant) {
    log.note(at: now, "site \(site.index) is cut off: up \(up), down \(down)")
    sites[site.index].up.isDown = up
    sites[site.index].down.isDown = down
  }

  package func counters(
    of site: SiteID
  ) -> (up: SimulatedLink.Counters, down: SimulatedLink.Counters) {
    (sites[site.index].up.counters, sites[site.index].down.counters)
  }

  // MARK: - Addresses

  /// The next public address is the first of another /24.
  package func beginNetwork() { addressCount |= 255 }

  /// The next of 198.18.0.0/15, which RFC 2544 sets aside for such networks, or of 2001:db8::/32
  /// (RFC 3849).
  private func publicAddress(_ family: SocketAddress.Family = .v4) -> SocketAddress {
    addressCount += 1
    guard family == .v4 else {
      return SocketAddress(
        family: .v6, high: 0x2001_0DB8_0000_0000, low: UInt64(addressCount), port: 0)
    }
    return SocketAddress(
      v4: 198, 18, UInt8(addressCount >> 8 & 255), UInt8(addressCount & 255), port: 0)
  }

  private func freshAddress(at site: SiteID, port: UInt16) -> SocketAddress {
    sites[site.index].hostCount += 1
    guard sites[site.index].nat != nil else {
      var address = sites[site.index].outerAddress
      address.port = port
      return address
    }
    let last = UInt8(1 + sites[site.index].hostCount & 127)
    return SocketAddress(v4: 192, 168, 1, last, port: port)
  }
}
