import Cryptography
import Primitives
import Testing
import Wire

@testable import Rendezvous

struct TableTests {
  private func second(_ seconds: Double) -> Instant {
    Instant(nanoseconds: UInt64(seconds * 1e9))
  }

  private func record(_ number: UInt32, id: UInt64) -> ClientRecord {
    let keys = PacketKeys(aead: SecretKey(), header: SecretKey())
    return ClientRecord(
      keys: (keys, keys), local: ConnectionID(rawValue: number),
      remote: ConnectionID(rawValue: 1), id: PeerID(word0: id, word1: 0, word2: 0, word3: 0),
      address: SocketAddress(v4: 10, 0, 0, UInt8(number % 200), port: 1), initiated: 0,
      now: .zero)
  }

  /// Method: random insertions and removals, compared with dictionaries after each; connection IDs
  /// are drawn from few, so that places in the table collide.
  @Test(arguments: UInt64(1)...5)
  func `a ClientRegistry agrees with dictionaries`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    var registry = ClientRegistry(hash: KeyedHash(key0: 5, key1: 9))
    var slots: [UInt32: UInt32] = [:]
    for _ in 0..<4000 {
      let number = UInt32(truncatingIfNeeded: random.next() % 600) * 64 + 1
      if let slot = slots[number] {
        registry.remove(slot)
        slots[number] = nil
      } else {
        let slot = registry.insert(record(number, id: UInt64(number)))
        registry.confirm(slot)
        slots[number] = slot
      }
      let probe = UInt32(truncatingIfNeeded: random.next() % 600) * 64 + 1
      let id = PeerID(word0: UInt64(probe), word1: 0, word2: 0, word3: 0)
      #expect(registry.find(ConnectionID(rawValue: probe)) == slots[probe], "seed \(seed)")
      #expect(registry.find(id) == slots[probe], "EARSHOT_SEED=\(seed)")
    }
    #expect(registry.count == slots.count && registry.confirmedCount == slots.count)
    #expect(registry.slotLimit <= 600)
  }

  @Test func `a SourceTable remembers rates, and makes room for new sources`() {
    var table = SourceTable(limit: 16, hash: KeyedHash(key0: 1, key1: 2))
    let rate = Rate(perSecond: 1, burst: 2)
    let source = SocketAddress(v4: 10, 0, 0, 1, port: 1)
    let results = (0..<3).map { _ in
      table.withRecord(of: source, now: second(1)) { $0.resets.admit(rate, now: second(1)) }
    }
    #expect(results == [true, true, false])
    for number in 0..<1000 {
      let other = SocketAddress(v4: 11, 0, UInt8(number / 256), UInt8(number % 256), port: 1)
      _ = table.withRecord(of: other, now: second(2)) { $0.resets.admit(rate, now: second(2)) }
    }
    #expect(table.withRecord(of: source, now: second(2)) { $0.resets.allows(rate, now: second(1)) })
  }

  @Test func `SourceCounts never counts too few`() {
    var counts = SourceCounts(hash: KeyedHash(key0: 3, key1: 4))
    for prefix in UInt64(0)..<5000 { counts.add(prefix * 2 + 1) }
    for _ in 0..<9 { counts.add(1) }
    #expect((10...20).contains(counts.count(of: 1)))
    for _ in 0..<10 { counts.remove(1) }
    #expect(counts.count(of: 1) < 10)
  }

  @Test func `IdentityRates let one INIT a second pass after a burst`() {
    var rates = IdentityRates(limit: 64, hash: KeyedHash(key0: 3, key1: 4))
    let id = PeerID(word0: 1, word1: 2, word2: 3, word3: 4)
    let rate = Rate(perSecond: 1, burst: 5)
    let passed = (0..<100).count { rates.admit(id, rate, now: second(1 + Double($0) / 10)) }
    #expect(passed == 5 + 9)
  }

  /// Method: alarms at random moments up to 20 s ahead, so that some lie several turns away.
  @Test func `an AlarmWheel rings each alarm once, not early and at most 4 ms late`() {
    var random = RandomSource(seed: 8)
    var wheel = AlarmWheel()
    var due: [UInt32: UInt64] = [:]
    for index in UInt32(0)..<500 {
      let moment = random.next() % 20_000_000_000
      wheel.add(index, at: AlarmWheel.tick(atOrAfter: Instant(nanoseconds: moment)))
      due[index] = moment
    }
    var now = Instant.zero
    while let next = wheel.nextDeadline {
      now = max(now, next)
      while let (index, _) = wheel.popDue(now: now) {
        let moment = due.removeValue(forKey: index) ?? .max
        #expect(moment <= now.nanoseconds)
        #expect(now.nanoseconds &- moment <= AlarmWheel.nanosecondsPerTick)
      }
    }
    #expect(due.isEmpty)
  }

  @Test func `a BoundedQueue keeps order and its limit`() {
    var queue = BoundedQueue<Int>(limit: 3)
    #expect((1...4).map { queue.append($0) } == [true, true, true, false])
    #expect(queue.popFirst() == 1 && queue.append(5))
    #expect([queue.popFirst(), queue.popFirst(), queue.popFirst()] == [2, 3, 5])
    #expect(queue.popFirst() == nil)
  }

  @Test func `RecentAnswers keep a few, for ten seconds`() {
    var answers = RecentAnswers(limit: 2)
    let keys = (0..<3).map { Bytes16(Array(repeating: UInt8($0), count: 16)) ?? .zero }
    for (index, key) in keys.enumerated() {
      answers.insert([UInt8(index)], for: key, now: second(Double(index)))
    }
    #expect(answers.find(keys[0], now: second(3)) == nil)
    #expect(answers.find(keys[1], now: second(3)) == [1])
    #expect(answers.find(keys[1], now: second(11)) == nil)
    #expect(answers.find(keys[2], now: second(11)) == [2])
    #expect(answers.count == 1)
  }
}
