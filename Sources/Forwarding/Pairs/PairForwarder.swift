package import Primitives
package import Wire

/// A relay's part for pairs (docs/protocol/relay.md §6): which two addresses are the ends of one
/// call, and their packets, which go on unchanged from one to the other.
///
/// Nothing is kept for who has no ticket or has not shown that it receives at its address. A packet
/// leaves once for each that came, as long as it came.
package struct PairForwarder {
  package let secret: PairSecret
  package private(set) var counters = PairCounters()
  private let limits: PairLimits
  private var cookies: PairCookies
  private var pairs: [Bytes16: Pair] = [:]
  private var addresses: [SocketAddress: [BoundEnd]] = [:]
  private var origins = OriginTable()
  private var outgoing: PacketRing
  private var answers: [(bytes: [UInt8], path: DatagramPath)] = []
  /// For who is not bound: by a part of the pair's name and the host that asks.
  private var answerMeters = [PaceMeter](repeating: PaceMeter(), count: Self.answerParts)
  private var total = PaceMeter()
  private var nextSweep: Instant?

  package init(limits: PairLimits, random: RandomSource) {
    var random = random
    secret = PairSecret(Bytes32(random: &random))
    cookies = PairCookies(random: random.split())
    outgoing = PacketRing(limit: limits.waiting)
    self.limits = limits
  }

  /// Pairs of which an end is bound.
  package var pairCount: Int { pairs.values.count { !$0.isUnbound } }
  package var nextDeadline: Instant? { nextSweep }

  // MARK: - Forwarding

  /// Takes a DATA packet if it comes from an end.
  ///
  /// - Returns: Whether it was one of a pair, forwarded or not.
  package mutating func forward(
    _ packet: Span<UInt8>, for id: ConnectionID, from source: SocketAddress, now: Instant
  ) -> Bool {
    guard let ends = addresses[source] else { return false }
    guard let bound = Self.end(of: id, among: ends) else {
      counters.packetsUnnamed &+= 1
      return true
    }
    let end = bound.end
    guard let path = bound.pair[bound.side.other].path else {
      counters.packetsUnbound &+= 1
      return true
    }
    guard admit(packet.count, isNamed: end.ids.contains(id), of: end, now: now),
      outgoing.append(packet, to: path)
    else {
      counters.packetsOverPace &+= 1
      return true
    }
    counters.packetsForwarded &+= 1
    counters.bytesForwarded &+= UInt64(packet.count)
    return true
  }

  /// An address with one binding needs no name for its packets: those of new keys come before their
  /// PAIR_BIND where that gets lost.
  private static func end(of id: ConnectionID, among ends: [BoundEnd]) -> BoundEnd? {
    if ends.count == 1 { return ends[0] }
    for bound in ends where bound.end.ids.contains(id) { return bound }
    return nil
  }

  /// Packets without a name have a small pace of their own: anybody can send such with the end's
  /// address as their source, and they are to displace none of its own.
  private mutating func admit(
    _ byteCount: Int, isNamed: Bool, of end: PairEnd, now: Instant
  ) -> Bool {
    let pace = isNamed ? limits.named : limits.unnamed
    let burst = limits.totalBytesPerSecond / 4
    guard total.allows(perSecond: limits.totalBytesPerSecond, burst: burst, now: now),
      end.allows(isNamed: isNamed, pace, now: now),
      end.origin.allowsBytes(limits.bytesPerPrefix, now: now)
    else { return false }
    let count = UInt64(byteCount)
    _ = total.admit(count, perSecond: limits.totalBytesPerSecond, burst: burst, now: now)
    end.count(byteCount, isNamed: isNamed, pace, now: now)
    end.origin.countBytes(byteCount, limits.bytesPerPrefix, now: now)
    return true
  }

  // MARK: - Binding

  /// Takes a PAIR_BIND.
  ///
  /// - Parameters:
  ///   - path: Where it came from, and which own address it came to.
  ///   - prefixes: Of where it came from.
  ///   - unixMilliseconds: The relay's wall clock.
  package mutating func handleBind(
    _ bytes: Span<UInt8>, from path: DatagramPath, prefixes: SeatPrefixes,
    unixMilliseconds: UInt64, now: Instant
  ) {
    guard let bind = parse(bytes) else { return counters.bindsForged &+= 1 }
    let key = secret.key(of: bind.pair, bind.side, until: bind.until)
    guard limits.pairs > 0, bind.isAuthentic(bytes, key) else { return counters.bindsForged &+= 1 }
    guard cookies.isRight(bind.cookie, of: path.remote, now: now) else {
      counters.bindsUnproven &+= 1
      let cookie = cookies.cookie(of: path.remote, now: now)
      return answer(bind, .cookie, key, cookie: cookie, to: path, prefixes, now: now)
    }
    if let known = pairs[bind.pair], bind.number <= known[bind.side].number {
      return counters.bindsReplayed &+= 1
    }
    guard bind.until > unixMilliseconds else {
      counters.bindsLate &+= 1
      return answer(bind, .ended, key, to: path, prefixes, now: now)
    }
    if bind.isEnd { return end(bind) }
    guard let pair = pairs[bind.pair] ?? makePair(bind.pair),
      place(bind.side, of: pair, at: path, prefixes)
    else {
      counters.bindsRefused &+= 1
      return answer(bind, .full, key, to: path, prefixes, now: now)
    }
    pair[bind.side].ids = bind.ids
    pair[bind.side].number = bind.number
    pair[bind.side].expires = now + limits.life
    nextSweep = nextSweep ?? now + Self.sweepPause
    answer(bind, .bound, key, to: path, prefixes, now: now)
  }

  private func parse(_ bytes: Span<UInt8>) -> PairBindPacket? {
    do throws(WireError) {
      return try PairBindPacket(parsing: bytes)
    } catch {
      return nil
    }
  }

  private mutating func makePair(_ name: Bytes16) -> Pair? {
    pairs.count < limits.pairs ? Pair(name) : nil
  }

  /// Gives an end its address; `false` = that part of the address space has as many as it may.
  private mutating func place(
    _ side: PairSide, of pair: Pair, at path: DatagramPath, _ prefixes: SeatPrefixes
  ) -> Bool {
    let end = pair[side]
    if end.path?.remote == path.remote {
      end.path = path
      return true
    }
    let origin = origins.add(prefixes)
    guard origin.allows(.ends, limits.endsPerPrefix),
      origin.allows(.keptEnds, limits.keptEndsPerPrefix)
    else {
      origins.remove(origin)
      return false
    }
    if end.path == nil { counters.bindings &+= 1 } else { counters.moves &+= 1 }
    forget(end)
    origin.add(1, to: .ends)
    origin.add(1, to: .keptEnds)
    end.origin = origin
    end.path = path
    addresses[path.remote, default: []].append(BoundEnd(pair: pair, side: side))
    pairs[pair.name] = pair
    return true
  }

  /// The end's number and paces stay until it expires: whoever ends and binds again has no fresh
  /// ones.
  private mutating func end(_ bind: PairBindPacket) {
    guard let pair = pairs[bind.pair] else { return }
    pair[bind.side].number = bind.number
    release(pair[bind.side])
  }

  /// Takes an end's address from it.
  private mutating func release(_ end: PairEnd) {
    guard let address = end.path?.remote else { return }
    addresses[address]?.removeAll { $0.end === end }
    if addresses[address]?.isEmpty == true { addresses[address] = nil }
    end.origin.add(-1, to: .ends)
    end.path = nil
  }

  /// Takes from an end also what it has together with others there.
  private mutating func forget(_ end: PairEnd) {
    release(end)
    end.origin.add(-1, to: .keptEnds)
    origins.remove(end.origin)
    end.origin = SeatOrigin()
  }

  // MARK: - Time

  /// Ends what was not renewed.
  package mutating func handleTimeout(now: Instant) {
    guard let due = nextSweep, due <= now else { return }
    for pair in Array(pairs.values) {
      let expired = [PairSide.lesser, .greater].filter { pair[$0].expires <= now }
      for side in expired { forget(pair[side]) }
      if expired.count == 2 { pairs[pair.name] = nil }
    }
    nextSweep = pairs.isEmpty ? nil : now + Self.sweepPause
  }

  // MARK: - Out

  private mutating func answer(
    _ bind: PairBindPacket, _ status: PairBoundPacket.Status, _ key: Bytes32,
    cookie: Bytes16 = .zero, to path: DatagramPath, _ prefixes: SeatPrefixes, now: Instant
  ) {
    guard answers.count < limits.waitingAnswers, admitAnswer(bind, status, prefixes, now: now)
    else { return }
    let isOtherBound = pairs[bind.pair]?[bind.side.other].path != nil
    let packet = PairBoundPacket(
      status, isOtherBound: isOtherBound, pair: bind.pair, number: bind.number, cookie: cookie)
    answers.append((packet.sealed(by: key), path))
  }

  /// Whether an answer more is within the pace. An end that is bound has one of its own, which
  /// nobody without its address' cookie uses up.
  private mutating func admitAnswer(
    _ bind: PairBindPacket, _ status: PairBoundPacket.Status, _ prefixes: SeatPrefixes,
    now: Instant
  ) -> Bool {
    if status == .bound, let end = pairs[bind.pair]?[bind.side] {
      return end.allowsAnswer(limits, now: now)
    }
    return answerMeters[Self.answerPart(of: bind.pair, prefixes)].admit(
      perSecond: limits.answersPerSecond, burst: limits.answerBurst, now: now)
  }

  /// FNV-1a: names are hashes under our secret, and hosts under the relay's.
  private static func answerPart(of pair: Bytes16, _ prefixes: SeatPrefixes) -> Int {
    var hash = prefixes.host
    for index in 0..<Bytes16.byteCount {
      hash = (hash ^ UInt64(pair.storage[index])) &* 0x100_0000_01B3
    }
    return Int(hash >> 32) % answerParts
  }

  /// Writes the next packet; where it goes, or `nil` = there is none.
  @_lifetime(packet: copy packet)
  package mutating func pollTransmit(into packet: inout OutputSpan<UInt8>) -> DatagramPath? {
    if let path = outgoing.popFirst(into: &packet) { return path }
    guard !answers.isEmpty else { return nil }
    let (bytes, path) = answers.removeFirst()
    packet.append(bytes: bytes)
    return path
  }

  private static let answerParts = 4096
  private static let sweepPause = Duration.seconds(5)
}

/// Two ends of a call, each with its address or without.
private final class Pair {
  let name: Bytes16
  private let lesser = PairEnd()
  private let greater = PairEnd()

  init(_ name: Bytes16) { self.name = name }

  subscript(side: PairSide) -> PairEnd { side == .lesser ? lesser : greater }

  var isUnbound: Bool { lesser.path == nil && greater.path == nil }
}

/// One of the ends that have an address.
private struct BoundEnd {
  let pair: Pair
  let side: PairSide

  var end: PairEnd { pair[side] }
}

/// Where an end is, what it may still send, and which packets are its.
private final class PairEnd {
  var path: DatagramPath?
  var ids = PairIDs()
  /// Of the last PAIR_BIND.
  var number: UInt64 = 0
  var expires = Instant.zero
  var origin = SeatOrigin()
  private var named = PairMeter()
  private var unnamed = PairMeter()
  private var answers = PaceMeter()

  func allows(isNamed: Bool, _ pace: PairPace, now: Instant) -> Bool {
    (isNamed ? named : unnamed).allows(pace, now: now)
  }

  func count(_ byteCount: Int, isNamed: Bool, _ pace: PairPace, now: Instant) {
    if isNamed {
      named.count(byteCount, pace, now: now)
    } else {
      unnamed.count(byteCount, pace, now: now)
    }
  }

  func allowsAnswer(_ limits: PairLimits, now: Instant) -> Bool {
    answers.admit(perSecond: limits.answersPerSecond, burst: limits.answerBurst, now: now)
  }
}

/// Counts packets and bytes of an end against a pace.
private struct PairMeter: BitwiseCopyable {
  private var packets = PaceMeter()
  private var bytes = PaceMeter()

  func allows(_ pace: PairPace, now: Instant) -> Bool {
    packets.allows(perSecond: pace.packetsPerSecond, burst: pace.packetBurst, now: now)
      && bytes.allows(perSecond: pace.bytesPerSecond, burst: pace.byteBurst, now: now)
  }

  mutating func count(_ byteCount: Int, _ pace: PairPace, now: Instant) {
    _ = packets.admit(perSecond: pace.packetsPerSecond, burst: pace.packetBurst, now: now)
    _ = bytes.admit(
      UInt64(byteCount), perSecond: pace.bytesPerSecond, burst: pace.byteBurst, now: now)
  }
}
