package import Primitives

/// An identity that is kept out of a channel, by the clock of this process.
package struct ChannelBan: Sendable {
  package let channel: Bytes32
  package let id: PeerID
  package let until: Instant

  package init(channel: Bytes32, id: PeerID, until: Instant) {
    self.channel = channel
    self.id = id
    self.until = until
  }

  /// Who is kept out of what: there is one ban of each.
  struct Place: Hashable {
    let channel: Bytes32
    let id: PeerID
  }

  var place: Place { Place(channel: channel, id: id) }
}

/// Who is kept out of which channel, and until when. A channel need not be there for it.
struct ChannelBans {
  private(set) var all: [ChannelBan] = []

  var count: Int { all.count }

  /// The end of each.
  var ends: [ChannelBan.Place: Instant] {
    Dictionary(all.map { ($0.place, $0.until) }) { max($0, $1) }
  }

  /// Of more than there may be the one that ends first makes room, in the channel itself, or in the
  /// one that has most: who bans many in channels of its own displaces nobody else's.
  mutating func insert(_ ban: ChannelBan, _ limits: ChannelLimits, now: Instant) {
    end(now: now)
    if let known = all.firstIndex(where: { $0.id == ban.id && $0.channel == ban.channel }) {
      if all[known].until >= ban.until { return }
      all.remove(at: known)
    }
    if all.count(where: { $0.channel == ban.channel }) >= limits.bans {
      removeFirst { $0.channel == ban.channel }
    }
    if all.count >= limits.bansInAll, let largest = all.mostFrequent(\.channel) {
      removeFirst { $0.channel == largest }
    }
    all.append(ban)
  }

  func contains(_ id: PeerID, in channel: Bytes32, now: Instant) -> Bool {
    all.contains { $0.id == id && $0.channel == channel && $0.until > now }
  }

  mutating func end(now: Instant) { all.removeAll { $0.until <= now } }

  private mutating func removeFirst(where isMeant: (ChannelBan) -> Bool) {
    let places = all.indices.filter { isMeant(all[$0]) }
    if let first = places.min(by: { all[$0].until < all[$1].until }) { all.remove(at: first) }
  }
}
