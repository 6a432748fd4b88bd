import Primitives

/// A host that may send to us by the relay (RFC 8656 §9).
struct RelayPermission: Sendable {
  /// Its port does not matter.
  let host: SocketAddress
  /// When it is asked for again; `nil` while the server is asked.
  var dueAt: Instant?
}

/// The hosts that may send to us by the relay, at most `RelayLimits.peers`.
struct RelayPermissions: Sendable {
  private(set) var permissions: [RelayPermission] = []

  /// Of those that the server was asked for.
  var nextDeadline: Instant? { permissions.reduce(nil) { earliest($0, $1.dueAt) } }

  func contains(_ host: SocketAddress) -> Bool { permissions.contains { $0.host == host } }

  /// Says which hosts are wanted; what is known of them is kept.
  mutating func replace(with addresses: [SocketAddress], limit: Int, now: Instant) {
    var wanted: [RelayPermission] = []
    for address in addresses where wanted.count < limit {
      guard address.family == .v4, !address.isUnsendable,
        !wanted.contains(where: { $0.host.isSameHost(as: address) })
      else { continue }
      let known = permissions.first { $0.host.isSameHost(as: address) }
      wanted.append(known ?? RelayPermission(host: address, dueAt: now))
    }
    permissions = wanted
  }

  /// When all are asked for; `nil` = not, as there is no relay.
  mutating func setAll(dueAt: Instant?) {
    for index in permissions.indices { permissions[index].dueAt = dueAt }
  }

  mutating func set(_ host: SocketAddress, dueAt: Instant) {
    for index in permissions.indices where permissions[index].host == host {
      permissions[index].dueAt = dueAt
    }
  }

  /// A host that the server is to be asked for. Call until `nil`.
  mutating func popDue(now: Instant) -> SocketAddress? {
    let due = permissions.firstIndex { $0.dueAt.map { $0 <= now } ?? false }
    guard let due else { return nil }
    permissions[due].dueAt = nil
    return permissions[due].host
  }
}
