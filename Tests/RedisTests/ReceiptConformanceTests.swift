import Primitives
import Simulation
import Testing
import Wire

@testable import Rendezvous

/// What receipts of names are worth: the same to the real Redis and to the model of it.
@Suite(.serialized) struct ReceiptConformanceTests {
  private static let kinds: [StoreUnderTest.Kind] = [.redis, .model]
    .filter(StoreUnderTest.Kind.here.contains)

  private let alice = PeerID(word0: 1, word1: 0, word2: 0, word3: 0)
  private let bob = PeerID(word0: 2, word1: 0, word2: 0, word3: 0)
  private let carol = PeerID(word0: 3, word1: 0, word2: 0, word3: 0)
  private let day: UInt64 = 86_400
  private let start: UInt64 = 10_000_000

  private func name(_ text: String) throws -> PeerName { try #require(PeerName(text)) }

  @Test(arguments: kinds)
  func `a name is given back in a freeze, and from a later owner`(kind: StoreUnderTest.Kind) throws
  {
    let store = try StoreUnderTest(kind, path: "")
    let name = try name("alice")
    #expect(try store.bind(name, to: alice, now: start) == .granted)
    let receipt = try #require(try store.receipt(now: start))
    try store.loseAll()
    #expect(throws: StoreFailure.self) { try store.verdict(on: name, for: bob, now: start + 1) }
    #expect(try store.bind(name, to: alice, now: start + 1, showing: receipt) == .regained)
    #expect(try store.owner(of: name, now: start + 1) == alice)
    try store.loseAll()
    #expect(store.shared.restore(bob, name: name, rank: NameRank(grantedAt: start + 9), now: start))
    try store.serve()
    #expect(try store.bind(name, to: alice, now: start + 20) == .taken)
    try store.listen()
    #expect(try store.bind(name, to: alice, now: start + 20, showing: receipt) == .regained)
    #expect(try store.hear() == [.nameMoved(NameMoved(name: name, owner: alice))])
    #expect(try store.bind(name, to: bob, now: start + 20) == .taken)
    // It is alice's since the first time.
    let again = try #require(try store.receipt(now: start + 20))
    #expect(try NameReceipt(parsing: again.bytes.span).rank == NameRank(grantedAt: start))
    #expect(store.shared.counters.namesRegained == 2)
  }

  @Test(arguments: kinds)
  func `nothing is taken that was not lost`(kind: StoreUnderTest.Kind) throws {
    let store = try StoreUnderTest(kind, path: "")
    let name = try name("alice")
    #expect(try store.bind(name, to: bob, now: start) == .granted)
    for rank in [NameRank(grantedAt: start), NameRank(grantedAt: start + 1)] {
      let receipt = store.shared.keys.receipt(for: name, of: alice, rank, issued: start)
      let shown = OpaqueReceipt(receipt.bytes)
      #expect(try store.bind(name, to: alice, now: start, showing: shown) == .taken)
    }
    #expect(try store.owner(of: name, now: start) == bob)
    // Without a rank, as nodes of a version before write it.
    let second = try self.name("second")
    #expect(store.shared.restore(bob, name: second, now: start))
    try store.serve()
    let receipt = store.shared.keys.receipt(
      for: second, of: alice, NameRank(grantedAt: 1), issued: start)
    let shown = OpaqueReceipt(receipt.bytes)
    #expect(try store.bind(second, to: alice, now: start, showing: shown) == .taken)
    #expect(try store.bind(second, to: bob, now: start + 5) == .owned)
    #expect(try store.bind(second, to: alice, now: start + 5, showing: shown) == .regained)
  }

  @Test(arguments: kinds)
  func `who has as many names as one may have gets none back`(kind: StoreUnderTest.Kind) throws {
    var limits = StoreLimits()
    limits.namesPerIdentity = 1
    let store = try StoreUnderTest(kind, limits: limits, path: "")
    let (one, other) = (try name("one"), try name("other"))
    #expect(try store.bind(one, to: alice, now: start) == .granted)
    let receipt = store.shared.keys.receipt(
      for: other, of: alice, NameRank(grantedAt: start), issued: start)
    let shown = OpaqueReceipt(receipt.bytes)
    #expect(try store.bind(other, to: alice, now: start, showing: shown) == .tooMany)
  }

  @Test(arguments: kinds)
  func `what was freed is nobody's, and older receipts are void`(kind: StoreUnderTest.Kind) throws {
    let store = try StoreUnderTest(kind, path: "")
    let name = try name("alice")
    #expect(try store.bind(name, to: alice, now: start) == .granted)
    let receipt = try #require(try store.receipt(now: start))
    try store.listen()
    #expect(NameFreeing.begin(name, in: store.shared, now: start + day))
    try store.serve()
    #expect(try NameFreeing.outcome(in: store.shared) == .freed(alice))
    #expect(try store.hear() == [.nameMoved(NameMoved(name: name, owner: nil))])
    #expect(try store.owner(of: name, now: start + day) == nil)
    #expect(store.shared.restore(alice, name: name, now: start + day))
    try store.serve()
    #expect(try store.owner(of: name, now: start + day) == nil)
    let later = start + day + 60
    #expect(try store.bind(name, to: bob, now: later) == .granted)
    #expect(try store.bind(name, to: alice, now: later, showing: receipt) == .taken)
    // Of whoever has it now, also where nobody knows any more that it was freed.
    let newer = try #require(try store.receipt(now: later))
    try store.loseAll()
    #expect(try store.bind(name, to: alice, now: later, showing: receipt) == .regained)
    #expect(try store.bind(name, to: bob, now: later, showing: newer) == .regained)
    #expect(try store.bind(name, to: alice, now: later, showing: receipt) == .taken)
    #expect(try NameFreeing.begin(self.name("nobody"), in: store.shared, now: later))
    try store.serve()
    #expect(try NameFreeing.outcome(in: store.shared) == .nobodys)
  }

  /// Goal: whoever is registered with the name registers anew at once, and is not to get it back.
  @Test(arguments: kinds)
  func `whose name was freed does not get it back while others may ask`(
    kind: StoreUnderTest.Kind
  ) throws {
    let store = try StoreUnderTest(kind, path: "")
    let name = try name("alice")
    #expect(try store.bind(name, to: alice, now: start) == .granted)
    #expect(NameFreeing.begin(name, in: store.shared, now: start + 60))
    try store.serve()
    #expect(try NameFreeing.outcome(in: store.shared) == .freed(alice))
    #expect(try store.bind(name, to: alice, now: start + 61) == .taken)
    #expect(try store.bind(name, to: bob, now: start + 62) == .granted)
    #expect(try store.owner(of: name, now: start + 62) == bob)
  }

  /// Method: the operator had no reply, and gives the command again; bob has got the name since.
  @Test(arguments: kinds)
  func `a freeing that is repeated takes the name from nobody else`(
    kind: StoreUnderTest.Kind
  ) throws {
    let store = try StoreUnderTest(kind, path: "")
    let name = try name("alice")
    func free(_ second: UInt64, isAgain: Bool = false) throws -> NameFreeing.Outcome {
      try store.free(name, isAgain: isAgain, now: start + second)
    }
    #expect(try store.bind(name, to: alice, now: start) == .granted)
    #expect(try free(60) == .freed(alice))
    #expect(try free(70) == .freedBefore)
    #expect(try store.bind(name, to: bob, now: start + 71) == .granted)
    #expect(try free(80) == .kept(bob))
    #expect(try store.owner(of: name, now: start + 81) == bob)
    #expect(try store.bind(name, to: alice, now: start + 81) == .taken)
    // Where the operator says so; neither of them has it back then.
    #expect(try free(90, isAgain: true) == .freed(bob))
    for id in [alice, bob] { #expect(try store.bind(name, to: id, now: start + 91) == .taken) }
    #expect(try store.verdict(on: name, for: PeerID.zero, now: start + 92) == .granted)
  }

  /// Method: after a loss of all the operator frees it once more, so that no receipt counts.
  @Test(arguments: kinds)
  func `who has got a name that was freed when it was nobody's keeps it as well`(
    kind: StoreUnderTest.Kind
  ) throws {
    let store = try StoreUnderTest(kind, path: "")
    let name = try name("alice")
    #expect(try store.free(name, now: start) == .nobodys)
    #expect(try store.free(name, now: start + 10) == .freedBefore)
    #expect(try store.bind(name, to: bob, now: start + 20) == .granted)
    #expect(try store.free(name, now: start + 30) == .kept(bob))
    #expect(try store.free(name, isAgain: true, now: start + 40) == .freed(bob))
  }

  /// Method: Redis loses that bob has got the name, and not that it was freed; then it loses all.
  @Test(arguments: kinds, [true, false])
  func `of two who have got a freed name the later one has it, whoever comes first`(
    kind: StoreUnderTest.Kind, isBobFirst: Bool
  ) throws {
    let store = try StoreUnderTest(kind, path: "")
    let name = try name("alice")
    #expect(try store.free(name, now: start) == .nobodys)
    #expect(try store.bind(name, to: bob, now: start + 5) == .granted)
    let former = try #require(try store.receipt(now: start + 5))
    try store.loseNames()
    #expect(try store.bind(name, to: carol, now: start + 60) == .granted)
    let newer = try #require(try store.receipt(now: start + 60))
    #expect(try store.bind(name, to: bob, now: start + 61, showing: former) == .taken)
    try store.loseAll()
    let both = [(bob, former), (carol, newer)]
    for (id, receipt) in isBobFirst ? both : both.reversed() {
      _ = try store.bind(name, to: id, now: start + 90, showing: receipt)
    }
    #expect(try store.owner(of: name, now: start + 90) == carol)
    #expect(try store.bind(name, to: bob, now: start + 91, showing: former) == .taken)
  }

  /// Method: it is freed twice within a second, or the clock was set back in between.
  @Test(arguments: kinds, [0, 100])
  func `who has got a name between two freeings does not get it back`(
    kind: StoreUnderTest.Kind, back: UInt64
  ) throws {
    let store = try StoreUnderTest(kind, path: "")
    let name = try name("alice")
    let now = start + 500
    #expect(try store.bind(name, to: alice, now: start) == .granted)
    #expect(try store.free(name, now: now) == .freed(alice))
    #expect(try store.bind(name, to: bob, now: now) == .granted)
    let former = try #require(try store.receipt(now: now))
    #expect(try store.free(name, isAgain: true, now: now - back) == .freed(bob))
    #expect(try store.bind(name, to: carol, now: now - back) == .granted)
    let newer = try #require(try store.receipt(now: now - back))
    #expect(try store.bind(name, to: bob, now: now, showing: former) == .taken)
    try store.loseAll()
    #expect(try store.bind(name, to: bob, now: now, showing: former) == .regained)
    #expect(try store.bind(name, to: carol, now: now, showing: newer) == .regained)
    #expect(try store.bind(name, to: bob, now: now, showing: former) == .taken)
  }

  /// Goal: her rank is before those of all who had the name until then. Method: the operator frees
  /// it between RESP and her first DATA packet.
  @Test(arguments: kinds)
  func `who was promised a name before it was freed asks for it anew`(
    kind: StoreUnderTest.Kind
  ) throws {
    let store = try StoreUnderTest(kind, path: "")
    let name = try name("alice")
    try store.wish(.registration(carol, asked: name, claimed: nil), start)
    #expect(try store.free(name, now: start + 1) == .nobodys)
    #expect(try store.store.bind(name, to: carol, now: start + 2) == .granted)
    try store.serve()
    #expect(store.shared.counters.writesLost == 1)
    #expect(try store.owner(of: name, now: start + 2) == nil)
    #expect(try store.bind(name, to: carol, now: start + 3) == .granted)
    let receipt = try #require(try store.receipt(now: start + 3))
    let read = try NameReceipt(parsing: receipt.bytes.span)
    #expect(read.rank == NameRank(regrantedAt: start + 3))
  }

  /// Goal: a node gives the name back to whoever has got it since then, where Redis has lost that.
  @Test(arguments: kinds)
  func `who has got a freed name keeps it where Redis forgets so`(
    kind: StoreUnderTest.Kind
  ) throws {
    let store = try StoreUnderTest(kind, path: "")
    let name = try name("alice")
    let freed = start + 60
    #expect(NameFreeing.begin(name, in: store.shared, now: freed))
    try store.serve()
    let former = NameRank(grantedAt: start)
    #expect(store.shared.restore(alice, name: name, rank: former, now: freed + 5))
    try store.serve()
    #expect(try store.owner(of: name, now: freed + 5) == nil)
    let earlier = NameRank(regrantedAt: start - 100)
    #expect(store.shared.restore(alice, name: name, rank: earlier, now: freed + 5))
    try store.serve()
    #expect(try store.owner(of: name, now: freed + 5) == nil)
    let since = NameRank(regrantedAt: freed)
    #expect(store.shared.restore(bob, name: name, rank: since, now: freed + 5))
    try store.serve()
    #expect(try store.owner(of: name, now: freed + 5) == bob)
  }

  /// Goal: who has got a freed name at once has a receipt that counts, also where the operator's
  /// clock is ahead.
  @Test(arguments: kinds)
  func `a receipt counts from the first, right after a freeing`(kind: StoreUnderTest.Kind) throws {
    let store = try StoreUnderTest(kind, path: "")
    let name = try name("alice")
    #expect(NameFreeing.begin(name, in: store.shared, now: start + 30))
    try store.serve()
    #expect(try store.bind(name, to: bob, now: start) == .granted)
    let receipt = try #require(try store.receipt(now: start))
    let read = try NameReceipt(parsing: receipt.bytes.span)
    #expect(read.rank == NameRank(regrantedAt: start + 30) && read.issued > start + 30)
    #expect(read.rank.regrantedAt == start + 30 && NameRank(grantedAt: start).regrantedAt == 0)
  }
}

extension StoreUnderTest {
  fileprivate func bind(
    _ name: PeerName, to id: PeerID, now: UInt64, showing receipt: OpaqueReceipt?
  ) throws -> NameVerdict {
    try wish(.registration(id, asked: name, claimed: nil, receipt: receipt), now)
    let verdict = try store.bind(name, to: id, now: now)
    try serve()
    return verdict
  }

  fileprivate func free(
    _ name: PeerName, isAgain: Bool = false, now: UInt64
  ) throws -> NameFreeing.Outcome {
    let isOnItsWay = NameFreeing.begin(name, isAgain: isAgain, in: shared, now: now)
    #expect(isOnItsWay)
    try serve()
    return try NameFreeing.outcome(in: shared)
  }

  /// Who has which name is forgotten, as by a server that lacks its last writes.
  fileprivate func loseNames() throws {
    model?.loseNames()
    let script = """
      for _, key in ipairs(redis.call('KEYS', 'earshot:2n*')) do redis.call('DEL', key) end
      """
    _ = try run(["EVAL", script, "0"])
  }

  /// For the name that was given last.
  fileprivate func receipt(now: UInt64) throws -> OpaqueReceipt? {
    var last: NameBinding?
    while let binding = shared.tidings.bindings.popFirst() { last = binding }
    return last.flatMap { $0.receipt(in: shared, now: now) }
  }
}
