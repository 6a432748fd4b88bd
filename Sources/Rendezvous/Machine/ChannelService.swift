import Channels
import Primitives

/// The channels of a server (docs/protocol/channels.md), and how addresses are counted.
struct ChannelService {
  var directory: ChannelDirectory
  private let hash: KeyedHash

  init(limits: ChannelLimits, hash: KeyedHash, random: RandomSource) {
    directory = ChannelDirectory(limits: limits, random: random)
    self.hash = hash
  }

  func source(of address: SocketAddress) -> ChannelSource {
    ChannelSource(
      host: address.key(.host, hash) ?? 1, network: address.key(.network, hash) ?? 1)
  }
}
