internal import CLinux
internal import Glibc
package import Primitives

/// The addresses under which this host can be reached on its own networks.
package enum NetworkInterfaces {
  /// What `hostAddresses` gives at most: more candidates would only make connecting slower.
  package static let addressLimit = 8

  /// Addresses of interfaces that are up, each with `port`, in an order that is the same each time:
  /// by interface, then IPv6 before IPv4, then by number; IPv4 link-local addresses last. Then the
  /// families take turns, so that several addresses of one do not delay the other (RFC 8421 §4).
  /// Link-local IPv6 is left out: it means nothing without the name of an interface.
  package static func hostAddresses(
    port: UInt16, includingLoopback: Bool = false, limit: Int = addressLimit
  ) throws(ReactorError) -> [SocketAddress] {
    let found = try addresses(port: port)
    return usable(found, includingLoopback: includingLoopback, limit: limit)
  }

  /// Every address of every interface, as the kernel lists them, each with `port`.
  package static func addresses(port: UInt16 = 0) throws(ReactorError) -> [InterfaceAddress] {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard unsafe getifaddrs(&first) == 0 else {
      throw ReactorError("list", "network interfaces", errno: errno)
    }
    defer { unsafe freeifaddrs(first) }
    var found: [InterfaceAddress] = []
    var next = unsafe first
    while let entry = unsafe next {
      unsafe next = entry.pointee.ifa_next
      guard let address = unsafe entry.pointee.ifa_addr, let name = unsafe entry.pointee.ifa_name
      else { continue }
      var raw = earshot_address()
      unsafe earshot_read_address(address, &raw)
      raw.port = port
      guard let address = SocketAddress(raw) else { continue }
      found.append(
        InterfaceAddress(
          address: address, interface: unsafe if_nametoindex(name),
          isUp: unsafe entry.pointee.ifa_flags & UInt32(IFF_UP) != 0,
          name: unsafe String(cString: name)))
    }
    return found
  }

  /// What `alternates` gives at most: bridges of containers have later numbers than cards.
  package static let alternateLimit = 4

  /// An address of each family on each interface that is up, except the one that has `source`: the
  /// host's other uplinks, if they lead anywhere.
  package static func alternates(
    to source: SocketAddress?
  ) throws(ReactorError) -> [InterfaceAddress] {
    alternates(to: source, of: try addresses())
  }

  /// The choice, apart from the kernel.
  static func alternates(
    to source: SocketAddress?, of found: [InterfaceAddress]
  ) -> [InterfaceAddress] {
    let usual = found.first { entry in source.map { entry.address.isSameHost(as: $0) } ?? false }
    var result: [InterfaceAddress] = []
    for entry in usable(found) where entry.interface != usual?.interface {
      let isKnown = result.contains {
        $0.interface == entry.interface && $0.address.family == entry.address.family
      }
      if !isKnown, !entry.address.isLinkLocalV4 { result.append(entry) }
    }
    return Array(result.prefix(alternateLimit))
  }

  /// The own address that a packet to `remote` would come from, with `port`: what a socket bound to
  /// every address sends from (RFC 1122 §3.3.4.3). `nil` when there is no way there. Sends nothing.
  package static func address(toward remote: SocketAddress, port: UInt16) -> SocketAddress? {
    var target = remote.forKernel
    var local = earshot_address()
    guard unsafe earshot_source_address(&target, &local) == 0 else { return nil }
    local.port = port
    return SocketAddress(local)
  }

  /// The choice and the order; apart from the kernel so that it can be tested.
  static func usable(
    _ found: [InterfaceAddress], includingLoopback: Bool, limit: Int
  ) -> [SocketAddress] {
    var result: [SocketAddress] = []
    for entry in usable(found, includingLoopback: includingLoopback)
    where !result.contains(entry.address) {
      result.append(entry.address)
    }
    return Array(takingTurns(result).prefix(max(0, limit)))
  }

  /// Those that others can reach, in order.
  private static func usable(
    _ found: [InterfaceAddress], includingLoopback: Bool = false
  ) -> [InterfaceAddress] {
    let kept = found.filter { entry in
      entry.isUp && !entry.address.isUnspecified && !entry.address.isLinkLocalV6
        && (includingLoopback || !entry.address.isLoopback)
    }
    return kept.sorted { $0.rank.lexicographicallyPrecedes($1.rank) }
  }
}

extension NetworkInterfaces {
  /// The same addresses, one family after the other as long as there are both.
  private static func takingTurns(_ addresses: [SocketAddress]) -> [SocketAddress] {
    guard let first = addresses.first?.family else { return [] }
    let own = addresses.filter { $0.family == first }
    let other = addresses.filter { $0.family != first }
    var result: [SocketAddress] = []
    for index in 0..<max(own.count, other.count) {
      if index < own.count { result.append(own[index]) }
      if index < other.count { result.append(other[index]) }
    }
    return result
  }
}

/// One address of one interface, as the kernel lists it.
package struct InterfaceAddress: Sendable {
  package var address: SocketAddress
  /// The kernel's number; physical cards usually have lower ones than bridges of containers.
  package var interface: UInt32
  package var isUp: Bool
  /// "eth0".
  package var name = ""

  fileprivate var rank: [UInt64] {
    [
      address.isLinkLocalV4 ? 1 : 0, UInt64(interface), address.family == .v6 ? 0 : 1, address.high,
      address.low,
    ]
  }
}

extension SocketAddress {
  package var isLinkLocalV6: Bool { family == .v6 && high >> 54 == 0xFE80 >> 6 }
  fileprivate var isLinkLocalV4: Bool { family == .v4 && high >> 48 == 0xA9FE }
}
