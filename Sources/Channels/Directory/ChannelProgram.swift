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
