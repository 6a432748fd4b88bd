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
  /// By a part of the pair's name.
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

  package var pairCount: Int { pairs.count }
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
    guard admit(packet.count, of: end, now: now), outgoing.append(packet, to: path) else {
      counters.packetsOverPace &+= 1
      return true
    }
    counters.packetsForwarded &+= 1
    counters.bytesForwarded &+= UInt64(packet.count)
    return true
  }

  /// An address with one binding needs no name for its packets.
  private static func end(of id: ConnectionID, among ends: [BoundEnd]) -> BoundEnd? {
    if ends.count == 1 { return ends[0] }
    for bound in ends where bound.end.ids.contains(id) { return bound }
    return nil
  }

  private mutating func admit(_ byteCount: Int, of end: PairEnd, now: Instant) -> Bool {
    let burst = limits.totalBytesPerSecond / 4
    guard total.allows(perSecond: limits.totalBytesPerSecond, burst: burst, now: now),
      end.allows(limits, now: now), end.origin.allowsBytes(limits.bytesPerPrefix, now: now)
    else { return false }
    let count = UInt64(byteCount)
    _ = total.admit(count, perSecond: limits.totalBytesPerSecond, burst: burst, now: now)
    end.count(byteCount, limits, now: now)
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
    guard bind.until > unixMilliseconds else {
      counters.bindsLate &+= 1
      return answer(bind, .ended, key, to: path, now: now)
    }
    guard cookies.isRight(bind.cookie, of: path.remote, now: now) else {
      counters.bindsUnproven &+= 1
      let cookie = cookies.cookie(of: path.remote, now: now)
      return answer(bind, .cookie, key, cookie: cookie, to: path, now: now)
    }
    if let known = pairs[bind.pair], bind.number <= known[bind.side].number {
      return counters.bindsReplayed &+= 1
    }
    if bind.isEnd { return end(bind) }
    guard let pair = pairs[bind.pair] ?? makePair(bind.pair),
      place(bind.side, of: pair, at: path, prefixes)
    else {
      counters.bindsRefused &+= 1
      return answer(bind, .full, key, to: path, now: now)
    }
    pair[bind.side].ids = bind.ids
    pair[bind.side].number = bind.number
    pair[bind.side].expires = now + limits.life
    nextSweep = nextSweep ?? now + Self.sweepPause
    answer(bind, .bound, key, to: path, now: now)
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
    guard origin.allows(.ends, limits.endsPerPrefix) else {
      origins.remove(origin)
      return false
    }
    if end.path == nil { counters.bindings &+= 1 } else { counters.moves &+= 1 }
    release(end)
    origin.add(1, to: .ends)
    end.origin = origin
    end.path = path
    addresses[path.remote, default: []].append(BoundEnd(pair: pair, side: side))
    pairs[pair.name] = pair
    return true
  }

  private mutating func end(_ bind: PairBindPacket) {
    guard let pair = pairs[bind.pair] else { return }
    pair[bind.side].number = bind.number
    release(pair[bind.side])
    if pair.isUnbound { pairs[bind.pair] = nil }
  }

  /// Takes an end's address from it.
  private mutating func release(_ end: PairEnd) {
    guard let address = end.path?.remote else { return }
    addresses[address]?.removeAll { $0.end === end }
    if addresses[address]?.isEmpty == true { addresses[address] = nil }
    end.origin.add(-1, to: .ends)
    origins.remove(end.origin)
    end.origin = SeatOrigin()
    end.path = nil
  }

  // MARK: - Time

  /// Ends what was not renewed.
  package mutating func handleTimeout(now: Instant) {
    guard let due = nextSweep, due <= now else { return }
    for pair in Array(pairs.values) {
      for side in [PairSide.lesser, .greater] where pair[side].expires <= now {
        release(pair[side])
      }
      if pair.isUnbound { pairs[pair.name] = nil }
    }
    nextSweep = pairs.isEmpty ? nil : now + Self.sweepPause
  }

  // MARK: - Out

  private mutating func answer(
    _ bind: PairBindPacket, _ status: PairBoundPacket.Status, _ key: Bytes32,
    cookie: Bytes16 = .zero, to path: DatagramPath, now: Instant
  ) {
    let part = (Int(bind.pair.storage[0]) << 8 | Int(bind.pair.storage[1])) % Self.answerParts
    guard answers.count < limits.waitingAnswers,
      answerMeters[part].admit(
        perSecond: limits.answersPerSecond, burst: limits.answerBurst, now: now)
    else { return }
    let isOtherBound = pairs[bind.pair]?[bind.side.other].path != nil
    let packet = PairBoundPacket(
      status, isOtherBound: isOtherBound, pair: bind.pair, number: bind.number, cookie: cookie)
    answers.append((packet.sealed(by: key), path))
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

  private static let answerParts = 1024
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
  private var packets = PaceMeter()
  private var bytes = PaceMeter()

  func allows(_ limits: PairLimits, now: Instant) -> Bool {
    packets.allows(perSecond: limits.packetsPerSecond, burst: limits.packetBurst, now: now)
      && bytes.allows(perSecond: limits.bytesPerSecond, burst: limits.byteBurst, now: now)
  }

  func count(_ byteCount: Int, _ limits: PairLimits, now: Instant) {
    _ = packets.admit(perSecond: limits.packetsPerSecond, burst: limits.packetBurst, now: now)
    _ = bytes.admit(
      UInt64(byteCount), perSecond: limits.bytesPerSecond, burst: limits.byteBurst, now: now)
  }
}
