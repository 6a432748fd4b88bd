package import Primitives
package import Wire

/// A program of an identity, as a rendezvous knows it: who can be a member.
package struct ChannelProgram: Hashable, Sendable {
  package let id: PeerID
  package let presence: PresenceID
  /// The node where its session is; 0 = this one. It says where a program is, and not which.
  package let node: UInt64

  package init(id: PeerID, presence: PresenceID, node: UInt64 = 0) {
    self.id = id
    self.presence = presence
    self.node = node
  }

  /// Its session is at another node.
  package var isAway: Bool { node != 0 }

  package static func == (one: Self, other: Self) -> Bool {
    one.id == other.id && one.presence == other.presence
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(presence)
  }
}

/// The parts of a program's address that are counted together: hashes, never 0.
package struct ChannelSource: Hashable, Sendable {
  /// An IPv4 address, or an IPv6 /64.
  package let host: UInt64
  /// An IPv4 /24, or an IPv6 /48.
  package let network: UInt64

  package init(host: UInt64, network: UInt64) {
    self.host = host
    self.network = network
  }
}

/// How many memberships there are, and whose; and who made the channels.
struct MembershipCounts {
  private(set) var total = 0
  private var byProgram: [ChannelProgram: Int] = [:]
  private var byHost: [UInt64: Int] = [:]
  private var byNetwork: [UInt64: Int] = [:]
  /// Channels that there are, by the addresses of those who made them.
  private var madeByHost: [UInt64: Int] = [:]
  private var madeByNetwork: [UInt64: Int] = [:]

  /// Whether one more fits.
  ///
  /// - Parameter leaving: Memberships that end for it. Each makes room only where it is counted: a
  ///   stay at another address makes none at this one.
  func hasRoom(
    for program: ChannelProgram, at source: ChannelSource, after leaving: [RoomMember] = [],
    _ limits: ChannelLimits
  ) -> Bool {
    let ofProgram = leaving.count { $0.program == program }
    let ofHost = leaving.count { $0.source.host == source.host }
    let ofNetwork = leaving.count { $0.source.network == source.network }
    return total - leaving.count < limits.memberships
      && byProgram[program, default: 0] - ofProgram < limits.perProgram
      && byHost[source.host, default: 0] - ofHost < limits.perHost
      && byNetwork[source.network, default: 0] - ofNetwork < limits.perNetwork
  }

  /// Whether somebody at that address may make one more channel.
  func hasRoomToMake(at source: ChannelSource, _ limits: ChannelLimits) -> Bool {
    madeByHost[source.host, default: 0] < limits.madePerHost
      && madeByNetwork[source.network, default: 0] < limits.madePerNetwork
  }

  mutating func addChannel(by maker: ChannelSource) {
    madeByHost[maker.host, default: 0] += 1
    madeByNetwork[maker.network, default: 0] += 1
  }

  mutating func removeChannel(by maker: ChannelSource) {
    Self.decrease(&madeByHost, maker.host)
    Self.decrease(&madeByNetwork, maker.network)
  }

  mutating func add(_ program: ChannelProgram, at source: ChannelSource) {
    total += 1
    byProgram[program, default: 0] += 1
    byHost[source.host, default: 0] += 1
    byNetwork[source.network, default: 0] += 1
  }

  mutating func remove(_ program: ChannelProgram, at source: ChannelSource) {
    total -= 1
    Self.decrease(&byProgram, program)
    Self.decrease(&byHost, source.host)
    Self.decrease(&byNetwork, source.network)
  }

  private static func decrease<Key: Hashable>(_ counts: inout [Key: Int], _ key: Key) {
    let count = counts[key, default: 0] - 1
    counts[key] = count > 0 ? count : nil
  }
}

/// A member whose seat at a relay is to end.
package struct ExpelledMember: Sendable {
  package let channel: Bytes32
  package let uid: UInt32
  /// Where it came from; `nil` where it was removed: that is counted where it is asked for.
  package let source: ChannelSource?
  /// A host that left, or became audience.
  package var isOrdinary = false
}

/// Members whose seats at relays are to end, and hosts that were lost while theirs may be good: of
/// each identity in a channel the last one. Their channels need not be there.
struct ExpelledMembers {
  /// A host that was lost, and when its grant ends.
  private struct Seat {
    let channel: Bytes32
    let uid: UInt32
    let source: ChannelSource
    let until: Instant
  }

  private var ended: [ExpelledMember] = []
  private var lost: [ChannelBan.Place: Seat] = [:]

  mutating func append(_ member: ExpelledMember) { ended.append(member) }

  mutating func popLast() -> ExpelledMember? { ended.popLast() }

  /// A member has left, or was lost. A host that has left has no use for its seat. One that was
  /// lost may just not reach us: it keeps its seat, and the one of its identity before does not.
  mutating func handleDeparture(
    of member: RoomMember, _ departure: Departure, from room: ChannelRoom,
    _ limits: ChannelLimits, now: Instant
  ) {
    let channel = room.identity.id
    guard member.isHeardAsHost, let until = member.grantedUntil, until > now else { return }
    guard departure == .lost else {
      let ended = ExpelledMember(
        channel: channel, uid: member.uid, source: member.source, isOrdinary: true)
      return append(ended)
    }
    let place = ChannelBan.Place(channel: channel, id: member.stated.id)
    if let former = lost[place], former.uid != member.uid { end(former) }
    lost[place] = Seat(
      channel: channel, uid: member.uid, source: member.source, until: until)
    guard lost.count > limits.lostHosts else { return }
    lost = lost.filter { $0.value.until > now }
    let first = lost.min { $0.value.until < $1.value.until }
    guard lost.count > limits.lostHosts, let first else { return }
    end(first.value)
    lost[first.key] = nil
  }

  /// Somebody joins whose identity was lost as a host. With the same uid it has its seat still, and
  /// its grant. With another one that seat ends.
  mutating func reclaimSeat(
    of member: inout RoomMember, in room: ChannelRoom?, _ limits: ChannelLimits, now: Instant
  ) {
    guard let channel = room?.identity.id else { return }
    let place = ChannelBan.Place(channel: channel, id: member.stated.id)
    guard let seat = lost.removeValue(forKey: place), seat.until > now else { return }
    guard seat.uid == member.uid else { return end(seat) }
    member.grantedUntil = seat.until
    if member.stated.role == .audience { member.hostingEnd = now + limits.hostingGrace }
  }

  /// An identity is kept out of a channel: what it was granted before it was lost is over, too.
  mutating func endLostSeat(of id: PeerID, in channel: Bytes32) {
    let seat = lost.removeValue(forKey: ChannelBan.Place(channel: channel, id: id))
    if let seat { end(seat, isRemoval: true) }
  }

  /// Somebody else may have the uid by now: whoever that is gets another grant.
  private mutating func end(_ seat: Seat, isRemoval: Bool = false) {
    append(
      ExpelledMember(
        channel: seat.channel, uid: seat.uid, source: isRemoval ? nil : seat.source,
        isOrdinary: true))
  }
}
