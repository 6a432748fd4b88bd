import Primitives

/// The answered handshakes whose first DATA has not come, by age and by address.
struct UnconfirmedSessions {
  private static let listCount = 1024

  private var byAge = RecencyLists(listCount: 1)
  private var byHost = RecencyLists(listCount: listCount)
  private var byNetwork = RecencyLists(listCount: listCount)
  private let hash: KeyedHash

  init(hash: KeyedHash) { self.hash = hash }

  var count: Int { byAge.count(in: 0) }
  var oldest: UInt32? { byAge.first(in: 0) }

  mutating func insert(_ slot: UInt32, from source: SocketAddress) {
    byAge.append(slot, to: 0)
    byHost.append(slot, to: byHost.list(of: source.key(.host, hash) ?? 0))
    byNetwork.append(slot, to: byNetwork.list(of: source.key(.network, hash) ?? 0))
  }

  /// Harmless when it is none of them.
  mutating func remove(_ slot: UInt32) {
    byAge.remove(slot)
    byHost.remove(slot)
    byNetwork.remove(slot)
  }

  /// The one that has to go before another one of `source` may come: the oldest of its host or its
  /// network when they have their most, the oldest of the fullest host when there is no room at
  /// all.
  func excess(for source: SocketAddress, _ limits: ServerLimits) -> UInt32? {
    let host = byHost.list(of: source.key(.host, hash) ?? 0)
    if byHost.count(in: host) >= limits.unconfirmedPerHost { return byHost.first(in: host) }
    let network = byNetwork.list(of: source.key(.network, hash) ?? 0)
    if byNetwork.count(in: network) >= limits.unconfirmedPerNetwork {
      return byNetwork.first(in: network)
    }
    return count >= limits.unconfirmedSessions ? byHost.first(in: byHost.fullest) : nil
  }
}
