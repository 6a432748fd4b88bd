import Primitives
import Wire

/// Who is kept out of which channel, and until when. A channel need not be there for it.
struct ChannelBans {
  struct Ban: Sendable {
    let channel: Bytes32
    let id: PeerID
    let until: Instant
  }

  private var bans: [Ban] = []

  var count: Int { bans.count }

  /// Of more than there may be the one that ends first makes room, in the channel itself, or in the
  /// one that has most: who bans many in channels of its own displaces nobody else's.
  mutating func insert(_ ban: Ban, _ limits: ChannelLimits, now: Instant) {
    end(now: now)
    bans.removeAll { $0.channel == ban.channel && $0.id == ban.id }
    if bans.count(where: { $0.channel == ban.channel }) >= limits.bans {
      removeFirst { $0.channel == ban.channel }
    }
    if bans.count >= limits.bansInAll, let largest = bans.mostFrequent(\.channel) {
      removeFirst { $0.channel == largest }
    }
    bans.append(ban)
  }

  func contains(_ id: PeerID, in channel: Bytes32, now: Instant) -> Bool {
    bans.contains { $0.id == id && $0.channel == channel && $0.until > now }
  }

  mutating func end(now: Instant) { bans.removeAll { $0.until <= now } }

  private mutating func removeFirst(where isMeant: (Ban) -> Bool) {
    let places = bans.indices.filter { isMeant(bans[$0]) }
    if let first = places.min(by: { bans[$0].until < bans[$1].until }) { bans.remove(at: first) }
  }
}
