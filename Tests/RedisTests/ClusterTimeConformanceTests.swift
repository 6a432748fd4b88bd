import Primitives
import Simulation
import Testing
import Wire

@testable import Redis
@testable import Rendezvous

/// How long nodes wait for what may come back: the same from the real Redis and from the model.
@Suite(.serialized) struct ClusterTimeConformanceTests {
  private static let kinds: [StoreUnderTest.Kind] = [.redis, .model]
    .filter(StoreUnderTest.Kind.here.contains)

  private let alice = PeerID(word0: 1, word1: 0, word2: 0, word3: 0)
  private let bob = PeerID(word0: 2, word1: 0, word2: 0, word3: 0)

  private func record(node: UInt64, serial: UInt64) -> PresenceRecord {
    StoreUnderTest.record(of: alice, node: node, serial: serial)
  }

  private func status(at node: StoreUnderTest) throws -> LookUpResult.Status {
    try node.wish(.find(.id(alice)), 100)
    return try node.shared.status(of: alice, for: bob)
  }

  @Test(arguments: kinds)
  func `whose client is to register anew is perhaps there until it has`(
    kind: StoreUnderTest.Kind
  ) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    func announce(_ serial: UInt64) throws {
      #expect(
        first.shared.announce(record(node: 1, serial: serial), audience: nil, life: .seconds(60)))
      try first.serve()
    }
    try announce(5)
    #expect(first.shared.withdraw(record(node: 1, serial: 4), isExpected: true))
    try first.serve()
    #expect(try status(at: second) == .online, "of a session before")
    #expect(first.shared.withdraw(record(node: 1, serial: 5), isExpected: true))
    try first.serve()
    for node in [first, second] { #expect(try status(at: node) == .unavailable) }
    try announce(6)
    #expect(try status(at: second) == .online)
    #expect(first.shared.withdraw(record(node: 1, serial: 6), isExpected: true))
    try first.serve()
    guard first.model != nil else { return }
    try first.pass(15, with: second)
    for node in [first, second] { #expect(try status(at: node) == .offline) }
  }

  /// Method: a node is at announcing what it has when names would be given again.
  @Test(arguments: kinds)
  func `names are frozen while a node announces its programs, for 30 s at the most`(
    kind: StoreUnderTest.Kind
  ) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    try first.restart()
    func pass(_ milliseconds: UInt64) throws {
      first.model?.milliseconds += milliseconds
      for key in ["frozen", "settling"] {
        let left = try second.run(["PTTL", "earshot:2:\(key)"]).number ?? 0
        let next = left - Int64(milliseconds)
        // A key whose end is over is deleted.
        if left > 0 { _ = try second.run(["PEXPIRE", "earshot:2:\(key)", "\(next)"]) }
      }
    }
    let name = try #require(PeerName("other"))
    for _ in 0..<5 {
      try pass(2900)
      #expect(throws: StoreFailure.self) { try second.verdict(on: name, for: bob, now: 100) }
      try first.beat(isComplete: false)
    }
    for _ in 0..<6 {
      try pass(2900)
      try first.beat(isComplete: false)
    }
    try pass(3000)
    #expect(try second.verdict(on: name, for: bob, now: 100) == .granted)
  }

  /// Sets the clock of Redis: of the real one all times that it has are moved the other way, also
  /// those at which keys end.
  private func setClock(of node: StoreUnderTest, by milliseconds: Int64) throws {
    if let model = node.model {
      model.milliseconds = UInt64(Int64(model.milliseconds) + milliseconds)
      return
    }
    let script =
      RedisLayout.all + """
        local by, nodes = tonumber(ARGV[1]), P..':nodes'
        local all = call('ZRANGE', nodes, 0, -1, 'WITHSCORES')
        for index = 1, #all, 2 do call('ZADD', nodes, all[index + 1] - by, all[index]) end
        call('HINCRBY', X, 'beat', -by)
        for _, key in ipairs(call('KEYS', P..'*')) do
          local kind, left = string.sub(key, #P + 1, #P + 1), call('PTTL', key)
          if kind == 'o' then call('HINCRBY', key, 't', -by) end
          if kind == 'i' then
            local idh = string.sub(key, #P + 2)
            local r = read(idh)
            for _, p in ipairs(r.programs) do p.stop = p.stop - by end
            write(idh, r)
          end
          if left > 0 then call('PEXPIRE', key, left - by) end
        end
        return 1
        """
    #expect(try node.run(["EVAL", script, "0", "\(milliseconds)"]) == .number(1))
  }

  /// Method: a program whose record is over by the new clock.
  @Test(arguments: kinds)
  func `nobody is offline right after the clock of Redis was set forward`(
    kind: StoreUnderTest.Kind
  ) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    #expect(first.shared.announce(record(node: 1, serial: 5), audience: nil, life: .seconds(60)))
    try first.serve()
    try setClock(of: first, by: 7_200_000)
    #expect(try status(at: second) == .unavailable)
    // One of them has told Redis by then that it is there.
    try first.beat()
    #expect(try status(at: second) == .unavailable)
    try second.beat()
    try setClock(of: first, by: 2000)
    #expect(try status(at: second) == .unavailable)
    for _ in 0..<4 {
      try setClock(of: first, by: 2500)
      for node in [first, second] { try node.beat() }
    }
    #expect(try status(at: second) == .offline)
  }

  @Test(arguments: kinds)
  func `a node that is dead is not taken for there where the clock of Redis was set back`(
    kind: StoreUnderTest.Kind
  ) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    #expect(first.shared.announce(record(node: 1, serial: 5), audience: nil, life: .seconds(60)))
    try first.serve()
    #expect(try status(at: second) == .online)
    try setClock(of: first, by: -3_600_000)
    #expect(try status(at: second) == .unavailable)
    try second.beat()
    #expect(try status(at: second) == .unavailable && !second.shared.isFoundWhole)
    try first.beat()
    #expect(try status(at: second) == .online)
  }

  /// Goal: what lasts for seconds does not last for an hour.
  @Test(arguments: kinds)
  func `names are given again soon where the clock of Redis was set back in a freeze`(
    kind: StoreUnderTest.Kind
  ) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    let name = try #require(PeerName("other"))
    try first.restart()
    try first.beat()
    #expect(throws: StoreFailure.self) { try second.verdict(on: name, for: bob, now: 100) }
    try setClock(of: first, by: -3_600_000)
    try first.beat()
    try setClock(of: first, by: 5000)
    #expect(try second.verdict(on: name, for: bob, now: 100) == .granted)
    try setClock(of: first, by: 25_000)
    for node in [first, second] { try node.beat() }
    for _ in 0..<2 {
      try setClock(of: first, by: 5000)
      for node in [first, second] { try node.beat() }
    }
    #expect(try status(at: second) == .offline)
  }
}
