import Forwarding
import Primitives
import Wire

extension FuzzTarget {
  static let pairs: [FuzzTarget] = [pairPackets, pairForwarder]

  private static let pairPackets = FuzzTarget(
    "pair-packets", maximumByteCount: 100,
    seeds: {
      var ids = PairIDs()
      ids.one = ConnectionID(rawValue: 7)
      let bind = PairBindPacket(
        pair: .zero, until: 9, side: .greater, isEnd: false, number: 3, cookie: .zero, ids: ids)
      let bound = PairBoundPacket(.cookie, isOtherBound: true, pair: .zero, number: 3)
      return [bind.sealed(by: .zero), bound.sealed(by: .zero)]
    },
    run: { bytes in
      if let bind = try? PairBindPacket(parsing: bytes.span) {
        expect(PairBindPacket.isOne(bytes.span), "a packet is known by its beginning")
        var written: [UInt8] = []
        bind.write(to: &written)
        expect(written == bytes, "a packet has one encoding")
      }
      if let bound = try? PairBoundPacket(parsing: bytes.span) {
        expect(PairBoundPacket.isOne(bytes.span), "a packet is known by its beginning")
        var written: [UInt8] = []
        bound.write(to: &written)
        expect(written == bytes, "a packet has one encoding")
      }
    })

  /// Goal: whatever comes, no more bytes leave than came, and packets go to bound ends alone.
  private static let pairForwarder = FuzzTarget(
    "pair-forwarder", maximumByteCount: 2000,
    seeds: {
      // Two ends bind with their cookies, speak, move, and go.
      [
        [0, 0, 0, 4, 0, 0, 0, 1, 1, 4, 1, 1, 2, 0, 20, 2, 1, 30],
        [0, 0, 0, 4, 0, 0, 4, 1, 0, 2, 0, 40, 5, 0, 0, 6, 9, 0, 0, 2, 3, 3, 60],
        Array(0..<90),
      ]
    },
    run: { bytes in
      var run = PairRun()
      run.play(bytes)
    })
}

/// Four addresses, two pairs, and whoever has their tickets.
private struct PairRun {
  private struct End {
    var address: SocketAddress
    var since: Instant
  }

  private struct Name: Hashable {
    var pair: Bytes16
    var side: PairSide
  }

  private static let time: UInt64 = 1_000_000
  private static let life = PairLimits().life
  private var relay: PairForwarder
  private var now = Instant(nanoseconds: 1_000_000_000)
  private var numbers: [UInt64] = [0, 0, 0, 0]
  private var cookies: [Bytes16] = [.zero, .zero, .zero, .zero]
  /// Where the ends are, by what was asked for and not refused.
  private var ends: [Name: End] = [:]
  private var last: [UInt8] = []
  private var received = 0
  private var sent = 0

  init() {
    var limits = PairLimits()
    limits.waiting = 4
    limits.waitingAnswers = 4
    limits.endsPerPrefix.host = 2
    limits.named.packetsPerSecond = 50
    limits.named.packetBurst = 5
    limits.unnamed.packetBurst = 5
    relay = PairForwarder(limits: limits, random: RandomSource(seed: 1))
  }

  private static func address(_ index: UInt8) -> SocketAddress {
    SocketAddress(v4: 192, 0, 2, index & 3, port: 4000)
  }

  /// Three bytes a step: what, from where, with what.
  mutating func play(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while rest.count >= 3 {
      let step = Array(rest.prefix(3))
      rest = rest.dropFirst(3)
      let source = Self.address(step[1])
      switch step[0] % 8 {
      case 0, 1: handleBind(bind(step[2], isEnd: false), from: source)
      case 2, 3: forward(Int(step[2]) * 5 + 25, step[2], from: source)
      case 4: handleBind(last, from: source)
      case 5: handleBind(bind(step[2], isEnd: true), from: source)
      case 6:
        let raw = Array(rest.prefix(PairBindPacket.byteCount))
        rest = rest.dropFirst(raw.count)
        handleBind(raw, from: source)
      default:
        now = now + .milliseconds(Int64(step[2]) * 100)
        relay.handleTimeout(now: now)
      }
      drain()
    }
    expect(sent <= received, "no amplifier")
  }

  private mutating func bind(_ choice: UInt8, isEnd: Bool) -> [UInt8] {
    let end = Int(choice & 3)
    let pair = Bytes16(InlineArray(repeating: choice & 1))
    let side: PairSide = choice & 2 == 0 ? .lesser : .greater
    let until = choice & 64 == 0 ? Self.time + 1 : Self.time
    if choice & 32 == 0 { numbers[end] += 1 }
    var ids = PairIDs()
    ids.one = ConnectionID(rawValue: UInt32(choice) + 1)
    return PairBindPacket(
      pair: pair, until: until, side: side, isEnd: isEnd, number: numbers[end],
      cookie: cookies[Int(choice >> 2 & 3)], ids: ids
    ).sealed(by: relay.secret.key(of: pair, side, until: until))
  }

  private mutating func handleBind(_ bytes: [UInt8], from source: SocketAddress) {
    last = bytes
    received += bytes.count
    let prefixes = SeatPrefixes(host: source.high | 1, site: 3, network: 5)
    let before = refusals
    relay.handleBind(
      bytes.span, from: DatagramPath(source), prefixes: prefixes, unixMilliseconds: Self.time,
      now: now)
    // Whoever binds often has no answer each time, and is bound all the same.
    guard refusals == before, let bind = try? PairBindPacket(parsing: bytes.span) else { return }
    let name = Name(pair: bind.pair, side: bind.side)
    ends[name] = bind.isEnd ? nil : End(address: source, since: now)
  }

  private var refusals: UInt64 {
    let counters = relay.counters
    return counters.bindsForged &+ counters.bindsUnproven &+ counters.bindsReplayed
      &+ counters.bindsLate &+ counters.bindsRefused
  }

  /// Whether an end is there; what was not renewed is looked for each 5 s.
  private func isEnd(_ address: SocketAddress) -> Bool {
    ends.values.contains {
      $0.address == address && now < $0.since + Self.life + .seconds(5) + .milliseconds(1)
    }
  }

  private mutating func forward(_ byteCount: Int, _ id: UInt8, from source: SocketAddress) {
    received += byteCount
    let packet = [UInt8](repeating: id, count: byteCount)
    let isTaken = relay.forward(
      packet.span, for: ConnectionID(rawValue: UInt32(id)), from: source, now: now)
    expect(!isTaken || isEnd(source), "only ends are forwarded for")
  }

  private mutating func drain() {
    while true {
      var path: DatagramPath?
      let packet = FuzzTarget.bytes { path = relay.pollTransmit(into: &$0) }
      guard let path else { return }
      sent += packet.count
      guard let answer = try? PairBoundPacket(parsing: packet.span) else {
        expect(isEnd(path.remote), "packets go to ends")
        continue
      }
      if answer.status == .cookie { cookies[Int(path.remote.byte(3))] = answer.cookie }
      if answer.status == .bound {
        expect(isEnd(path.remote), "who is told so is bound")
      }
    }
  }
}
