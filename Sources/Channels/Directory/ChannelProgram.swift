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

/// How many memberships there are, and whose.
struct MembershipCounts {
  private(set) var total = 0
  private var byProgram: [ChannelProgram: Int] = [:]
  private var byHost: [UInt64: Int] = [:]
  private var byNetwork: [UInt64: Int] = [:]

  /// Whether one more fits.
  func hasRoom(
    for program: ChannelProgram, at source: ChannelSource, _ limits: ChannelLimits
  ) -> Bool {
    total < limits.memberships
      && byProgram[program, default: 0] < limits.perProgram
      && byHost[source.host, default: 0] < limits.perHost
      && byNetwork[source.network, default: 0] < limits.perNetwork
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
