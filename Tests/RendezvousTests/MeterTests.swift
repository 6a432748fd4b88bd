import Messaging
import Primitives
import Testing
import Wire

@testable import Rendezvous

/// The parts that count, and that choose who has to go.
struct MeterTests {
  private let hash = KeyedHash(key0: 0x9E37_79B9_7F4A_7C15, key1: 0xD1B5_4A32_D192_ED03)

  private func moment(_ milliseconds: UInt64) -> Instant {
    Instant(nanoseconds: 10_000_000_000 + milliseconds * 1_000_000)
  }

  private func v6(_ high: UInt64) -> SocketAddress {
    SocketAddress(family: .v6, high: high, low: 1, port: 9)
  }

  /// Method: random appends, removals and touches, compared with arrays.
  @Test(arguments: UInt64(1)...5) func `RecencyLists agree with arrays`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    var lists = RecencyLists(listCount: 4)
    var model = [[UInt32]](repeating: [], count: 4)
    for _ in 0..<3000 {
      let place = UInt32(random.next() % 40)
      let holder = model.firstIndex { $0.contains(place) }
      switch (random.next() % 3, holder) {
      case (0, .some(let list)):
        lists.remove(place)
        model[list].removeAll { $0 == place }
      case (_, .some(let list)):
        lists.touch(place)
        model[list].removeAll { $0 == place }
        model[list].append(place)
      case (_, .none):
        let list = Int(random.next() % 4)
        lists.append(place, to: list)
        model[list].append(place)
      }
      for list in 0..<4 {
        #expect(
          lists.count(in: list) == model[list].count && lists.first(in: list) == model[list].first)
        #expect(
          model[list].first.flatMap { lists.next(after: $0) } == model[list].dropFirst().first)
      }
      #expect(model[lists.fullest].count == model.map(\.count).max(), "EARSHOT_SEED=\(seed)")
    }
  }

  @Test func `PrefixMeters count a /64, its /56 and its /48 together`() {
    var meters = PrefixMeters(limit: 1024, hash: hash)
    let rates = PrefixRates(
      host: Rate(perSecond: 1, burst: 2), site: Rate(perSecond: 1, burst: 6),
      network: Rate(perSecond: 1, burst: 20))
    func count(_ prefixes: [UInt64]) -> Int {
      prefixes.count { meters.admit(v6($0), rates, now: moment(0)) }
    }
    let network: UInt64 = 0x2001_0DB8_0001_0000
    #expect(count([UInt64](repeating: network, count: 5)) == 2)
    #expect(count((0..<50).map { network | $0 }) == 4)
    #expect(count((0..<200).map { network | 0x100 | $0 << 8 }) == 14)
    #expect(count([0x2001_0DB8_0002_0000]) == 1)
    let free = rates.network
    #expect(!meters.allows(v6(network | 0x7700), rates, now: moment(0)))
    #expect(free == rates[.network] && rates[.endpoint] == nil)
  }

  @Test func `a MeterTable forgets first whoever owes least`() {
    var table = MeterTable(limit: 8)
    let rate = Rate(perSecond: 1, burst: 8)
    for _ in 0..<8 { _ = table.admit(1, rate, now: moment(0)) }
    let others = (UInt64(2)..<100).count { table.admit($0, rate, now: moment(0)) }
    let isTaken = table.admit(1, rate, now: moment(0))
    #expect(others == 98 && !isTaken)
  }

  /// Method: 500 addresses ask as often as they are let, 100 a second can be served; a new address
  /// asks each 100 ms.
  @Test func `HandshakeTurns let a new address pass, and the others in their turn`() {
    var turns = HandshakeTurns(limit: 4096, hash: hash)
    let capacity: UInt64 = 100
    var waiting = 0.0
    var served = [Int](repeating: 0, count: 500)
    var newcomers = 0
    for millisecond in UInt64(0)..<20_000 {
      waiting = max(0, waiting - Double(capacity) / 1000)
      let now = moment(millisecond)
      func ask(_ source: SocketAddress) -> Bool {
        guard turns.admit(source, fill: UInt64(waiting / 16 * 1000), now: now) else { return false }
        waiting += 1
        return true
      }
      let index = Int(millisecond % 500)
      if ask(SocketAddress(v4: 60, UInt8(index / 200), UInt8(index % 200), 1, port: 1)) {
        served[index] += 1
      }
      guard millisecond >= 5000, millisecond % 100 == 0 else { continue }
      let number = millisecond / 100
      if ask(SocketAddress(v4: 70, UInt8(number), 1, 1, port: 1)) { newcomers += 1 }
    }
    #expect(newcomers >= 143, "of 150")
    #expect(served.reduce(0, +) >= 1000, "the work that can be done is done")
    #expect((served.max() ?? 0) <= 15)
  }

  @Test func `SourceMeters have budgets of their own for cookies, cards and proven INITs`() {
    var limits = ServerLimits()
    limits.cards = Rate(perSecond: 1, burst: 1)
    var meters = SourceMeters(limits, hash: hash)
    let source = SocketAddress(v4: 10, 0, 0, 1, port: 1)
    let now = moment(0)
    let cards = (0..<2).map { _ in meters.takeCard(to: source, now: now) }
    #expect(cards == [true, false])
    let cookie = meters.takeCookie(to: source, now: now)
    let plain = (0..<6).count { _ in
      meters.takeInitiation(of: source, isProven: false, now: now)
    }
    let proven = meters.takeInitiation(of: source, isProven: true, now: now)
    #expect(cookie && plain == 5 && proven)
    let resets = (0..<10).count { _ in meters.takeReset(to: source, now: now) }
    #expect(resets == 8)
  }

  @Test func `UnconfirmedSessions give up the oldest of the fullest host`() {
    var limits = ServerLimits()
    limits.unconfirmedSessions = 6
    limits.unconfirmedPerHost = 4
    var sessions = UnconfirmedSessions(hash: hash)
    let (one, two, three) = (v6(1 << 48), v6(2 << 48), v6(3 << 48))
    sessions.insert(0, from: one)
    for slot in UInt32(1)...3 { sessions.insert(slot, from: two) }
    #expect(sessions.excess(for: two, limits) == nil)
    sessions.insert(4, from: two)
    #expect(sessions.excess(for: two, limits) == 1)
    #expect(sessions.excess(for: three, limits) == nil)
    sessions.insert(5, from: three)
    #expect(sessions.excess(for: three, limits) == 1 && sessions.oldest == 0)
    sessions.remove(1)
    #expect(sessions.count == 5 && sessions.excess(for: three, limits) == nil)
  }

  @Test func `an ExchangeTable gives up the stalest, but not the one that is served`() {
    var limits = ServerLimits()
    limits.exchanges = 3
    var table = ExchangeTable(limits, hash: hash)
    let indices = (0..<3).map { table.insert(Exchange(slot: $0), from: v6(UInt64($0) << 48)) }
    #expect(table.excess(for: v6(9 << 48), except: nil, now: moment(0)) == indices[0])
    #expect(table.excess(for: v6(9 << 48), except: 0, now: moment(0)) == indices[1])
    table.touch(indices[0])
    #expect(table.excess(for: v6(9 << 48), except: nil, now: moment(0)) == indices[1])
    table.remove(indices[1])
    #expect(table.excess(for: v6(9 << 48), except: nil, now: moment(0)) == nil && table.count == 2)
    #expect(table.hoarder(beside: indices[0]) == nil)
  }

  @Test func `a PromptReply holds PONG and the FEEDBACK of its packet`() throws {
    var reply = PromptReply(slot: 1, connection: ConnectionID(rawValue: 2))
    #expect(reply.isEmpty)
    let pong = PongFrame(token: 5, observed: v6(1))
    reply.pong = pong
    reply.arrival = (number: 77, at: moment(0), isCongestionExperienced: false)
    let bytes = [UInt8](capacity: 200) { reply.writeFrames(into: &$0, now: moment(1)) }
    var reader = FrameReader(bytes.span)
    let first = try reader.next()
    #expect(first == .pong(pong))
    guard case .feedback(let feedback)? = try reader.next() else {
      Issue.record("no FEEDBACK")
      return
    }
    #expect(feedback.header.largest == 77 && feedback.header.count == 1)
    let end = try reader.next()
    #expect(end == nil)
  }

  /// Method: messages under way, partly acknowledged; what is kept lets the channel go on.
  @Test func `a channel that is given up goes on with the credit that is left`() throws {
    var channel = MessageChannel(limits: .rendezvous)
    func send(_ byteCount: Int) throws {
      try channel.send(
        [UInt8](repeating: 1, count: byteCount), on: .rendezvous, life: .seconds(8), now: moment(0))
      _ = [UInt8](capacity: 1200) { _ = channel.writeFrames(into: &$0, room: 1150) }
      channel.didSend(UInt64(byteCount), now: moment(0))
    }
    try send(4000)
    #expect(channel.resting == nil && !channel.isSenderIdle)
    var resumed = MessageChannel(resting: try #require(channel.givenUp))
    #expect(resumed.isSenderIdle && resumed.resting != nil)
    try resumed.send([1], on: .rendezvous, life: .seconds(8), now: moment(0))
    #expect(resumed.hasFramesToSend)
    var next: UInt64 = 9000
    for _ in 0..<3 {
      try send(7000)
      for _ in 0..<8 {
        next += 1
        _ = [UInt8](capacity: 1200) { _ = channel.writeFrames(into: &$0, room: 1150) }
        channel.didSend(next, now: moment(0))
      }
    }
    #expect(channel.givenUp == nil, "less than half of the credit is left")
  }
}
