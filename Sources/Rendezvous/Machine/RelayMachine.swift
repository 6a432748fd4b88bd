package import Forwarding
package import Primitives
import Wire

/// A relay: a server for members of channels (docs/protocol/relay.md §1 to §5), and beside it, on
/// the same socket, what forwards for pairs (§6).
package struct RelayMachine: ~Copyable, DatagramMachine {
  package typealias Event = ServerEvent

  package var server: RendezvousMachine
  package private(set) var pairs: PairForwarder
  private let hash: KeyedHash

  package init(_ server: consuming RendezvousMachine, limits: PairLimits, random: RandomSource) {
    var random = random
    hash = KeyedHash(key0: random.next(), key1: random.next())
    pairs = PairForwarder(limits: limits, random: random.split())
    self.server = server
  }

  @_lifetime(bytes: copy bytes)
  package mutating func handle(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant
  ) {
    if case .sealed(let id) = Demultiplexer.classify(bytes.span) {
      if pairs.forward(bytes.span, for: id, from: source, now: now) { return }
    } else if PairBindPacket.isOne(bytes.span) {
      guard !source.isUnsendable else { return }
      return pairs.handleBind(
        bytes.span, from: DatagramPath(source, local: marks.local),
        prefixes: SeatPrefixes(of: source, hash),
        unixMilliseconds: server.settings.unixMilliseconds(now), now: now)
    }
    server.handle(&bytes, from: source, marks: marks, now: now)
  }

  package mutating func handleTimeout(now: Instant) {
    pairs.handleTimeout(now: now)
    server.handleTimeout(now: now)
  }

  @_lifetime(packet: copy packet)
  package mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    if let path = pairs.pollTransmit(into: &packet) { return path }
    return server.pollTransmit(into: &packet, now: now)
  }

  package mutating func pollEvent() -> ServerEvent? { server.pollEvent() }

  package var nextDeadline: Instant? { earliest(pairs.nextDeadline, server.nextDeadline) }
}

extension SeatPrefixes {
  /// The parts of an address that are counted together.
  init(of address: SocketAddress, _ hash: KeyedHash) {
    self.init(
      host: address.key(.host, hash) ?? 1, site: address.key(.site, hash),
      network: address.key(.network, hash) ?? 1)
  }
}
