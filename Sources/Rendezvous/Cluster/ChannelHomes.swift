import Primitives

/// The nodes that channels are shared out among (docs/protocol/cluster.md §8).
struct ChannelHomes {
  /// Their hashes, ascending.
  private(set) var nodes: [[UInt8]] = []
  /// Counts how often they have changed.
  private(set) var version = 0
  /// Until then a node that is not there may only not have said so yet.
  private var settlingEnd: Instant?
  /// When the last beat was sent that was answered.
  private var beat: Instant?

  /// - Parameters:
  ///   - alive: The nodes of which Redis has had a beat in the last 3 s.
  ///   - isNew: The connection is new: what Redis knows may be as well.
  mutating func handle(_ alive: [[UInt8]], isNew: Bool, sent: Instant) {
    if isNew || !isFresh(now: sent) { settlingEnd = sent + Self.patience }
    beat = sent
    let kept = isSettling(now: sent) ? nodes.filter { !alive.contains($0) } : []
    let all = (alive + kept).sorted { $0.lexicographicallyPrecedes($1) }
    guard all != nodes else { return }
    nodes = all
    version += 1
  }

  /// Whether others may be there that have not spoken yet.
  func isSettling(now: Instant) -> Bool { settlingEnd.map { now < $0 } ?? true }

  /// Whether others count on this node, and it on what it knows of them.
  func isFresh(now: Instant) -> Bool { beat.map { now - $0 < Self.patience } ?? false }

  /// The node with the highest weight for a channel: if one goes, the others keep theirs.
  func home(of mark: UInt64) -> [UInt8]? {
    nodes.max { Self.weight(of: $0, mark) < Self.weight(of: $1, mark) }
  }

  /// The finalizer of SplitMix64 over the node's first 8 bytes and the channel's.
  private static func weight(of node: [UInt8], _ mark: UInt64) -> UInt64 {
    var word = mark ^ node.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
    return word ^ word >> 31
  }

  /// As long as Redis counts a node as there after its last beat.
  private static let patience = Duration.seconds(3)
}

/// Where a channel is.
enum ChannelHome: Equatable {
  case here
  /// At another node, by its hash.
  case node([UInt8])
  /// Redis is not reached, or the others are not heard.
  case unknown
}

extension ChannelHome {
  init(of channel: Bytes32, _ shared: SharedStore, now: Instant) {
    let mark = shared.keys.hash(.channel, channel.bytes).prefix(8)
      .reduce(0) { $0 << 8 | UInt64($1) }
    guard shared.isInTouch(now: now), let home = shared.standing.homes.home(of: mark) else {
      self = .unknown
      return
    }
    self = home == shared.node.hash ? .here : .node(home)
  }
}

extension SharedStore {
  /// Whether this node reaches the others and hears them.
  func isInTouch(now: Instant) -> Bool {
    isConnected && isListening && standing.homes.isFresh(now: now)
  }

  /// What a node is called in Redis.
  func hash(of node: UInt64) -> [UInt8] { keys.hash(.node, Self.bytes(of: node)) }
}
