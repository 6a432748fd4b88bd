import Primitives
import Testing
import Wire

@testable import Forwarding

/// A relay for pairs (docs/protocol/relay.md §6), its ends, and what left it.
struct PairWorld {
  static let time: UInt64 = 1_800_000_000_000
  static let alice = SocketAddress(v4: 192, 0, 2, 1, port: 4000)
  static let bob = SocketAddress(v4: 198, 51, 100, 2, port: 4001)

  var relay: PairForwarder
  var now = Instant(nanoseconds: 1_000_000_000)
  var received = 0
  var sent = 0

  init(_ limits: PairLimits = PairLimits()) {
    relay = PairForwarder(limits: limits, random: RandomSource(seed: 4))
  }

  private func prefixes(_ address: SocketAddress) -> SeatPrefixes {
    SeatPrefixes(host: address.high | 1, site: nil, network: address.high >> 40 | 1)
  }

  mutating func bind(_ bytes: [UInt8], from source: SocketAddress) -> [Sent] {
    received += bytes.count
    relay.handleBind(
      bytes.span, from: DatagramPath(source), prefixes: prefixes(source),
      unixMilliseconds: Self.time, now: now)
    return drain()
  }

  mutating func data(_ id: UInt32, from source: SocketAddress, _ byteCount: Int = 100) -> [Sent] {
    received += byteCount
    let packet = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0) }
    _ = relay.forward(
      packet.span, for: ConnectionID(rawValue: id), from: source, now: now)
    return drain()
  }

  mutating func drain() -> [Sent] {
    var all: [Sent] = []
    while true {
      var path: DatagramPath?
      var bytes: [UInt8] = []
      bytes.append(addingCapacity: Datagram.maximumByteCount) {
        path = relay.pollTransmit(into: &$0)
      }
      guard let path else { return all }
      sent += bytes.count
      all.append(Sent(to: path.remote, bytes: bytes))
    }
  }

  /// Binds an end with the cookie of its address.
  mutating func bind(_ end: inout End, at address: SocketAddress) throws {
    let first = bind(end.bind(), from: address).first?.answer
    #expect(first?.status == .cookie)
    end.cookie = try #require(first).cookie
    let second = bind(end.bind(), from: address).first?.answer
    #expect(second?.status == .bound)
  }

  /// Two bound ends.
  mutating func pair(_ name: UInt8 = 1) throws -> (End, End) {
    var one = End(self, name, .lesser)
    var other = End(self, name, .greater)
    try bind(&one, at: Self.alice)
    try bind(&other, at: Self.bob)
    return (one, other)
  }

  /// A packet that left.
  struct Sent: Equatable {
    let to: SocketAddress
    let bytes: [UInt8]

    var answer: PairBoundPacket? { try? PairBoundPacket(parsing: bytes.span) }
  }

  /// One end with its ticket.
  struct End {
    let pair: Bytes16
    let side: PairSide
    let until: UInt64
    let key: Bytes32
    var number: UInt64 = 0
    var cookie = Bytes16.zero
    var ids = PairIDs()

    init(
      _ world: PairWorld, _ name: UInt8, _ side: PairSide, until: UInt64 = PairWorld.time + 1000,
      last: UInt8? = nil
    ) {
      var bytes: InlineArray<16, UInt8> = InlineArray(repeating: name)
      bytes[15] = last ?? name
      pair = Bytes16(bytes)
      self.side = side
      self.until = until
      key = world.relay.secret.key(of: pair, side, until: until)
      ids.one = ConnectionID(rawValue: UInt32(name) << 8 | UInt32(side.rawValue) + 1)
    }

    mutating func bind(isEnd: Bool = false) -> [UInt8] {
      number += 1
      return PairBindPacket(
        pair: pair, until: until, side: side, isEnd: isEnd, number: number, cookie: cookie,
        ids: ids
      ).sealed(by: key)
    }
  }
}
