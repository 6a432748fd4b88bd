import Primitives
import Simulation
import Testing
import Wire

@testable import Rendezvous

/// What nodes learn of each other, and of a Redis that has lost something: the same from the real
/// one and from the model.
@Suite(.serialized) struct ClusterConformanceTests {
  private static let kinds: [StoreUnderTest.Kind] = [.redis, .model]
    .filter(StoreUnderTest.Kind.here.contains)

  private let alice = PeerID(word0: 1, word1: 0, word2: 0, word3: 0)
  private let bob = PeerID(word0: 2, word1: 0, word2: 0, word3: 0)

  private func record(node: UInt64, serial: UInt64) -> PresenceRecord {
    StoreUnderTest.record(of: alice, node: node, serial: serial)
  }

  @Test(arguments: kinds)
  func `a lost memory is noticed, and no name that nobody has is given meanwhile`(
    kind: StoreUnderTest.Kind
  ) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    let name = try #require(PeerName("alice"))
    #expect(try first.bind(name, to: alice, now: 100) == .granted)
    try first.beat()
    #expect(first.shared.counters.dataLost == 0)
    try first.loseAll()
    #expect(throws: StoreFailure.self) { try second.verdict(on: name, for: bob, now: 100) }
    #expect(try second.owner(of: name, now: 100) == nil && !second.shared.isFoundWhole)
    try first.beat()
    #expect(first.shared.counters.dataLost == 1)
    #expect(first.shared.restore(alice, name: name, now: 100))
    try first.serve()
    // The card is gone: its owner must register anew.
    try first.beat()
    #expect(first.shared.takeOwed(most: 9, now: .zero).isEmpty)
    #expect(try second.verdict(on: name, for: bob, now: 100) == .taken)
    #expect(try second.owner(of: name, now: 100) == alice)
  }

  @Test(arguments: kinds)
  func `a server that started anew gives only names that have an owner`(
    kind: StoreUnderTest.Kind
  ) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    let (name, other) = (try #require(PeerName("alice")), try #require(PeerName("other")))
    #expect(try first.bind(name, to: alice, now: 100) == .granted)
    try first.restart()
    #expect(try second.verdict(on: name, for: alice, now: 100) == .owned)
    #expect(try second.verdict(on: name, for: bob, now: 100) == .taken)
    #expect(throws: StoreFailure.self) { try second.verdict(on: other, for: bob, now: 100) }
  }

  @Test(arguments: kinds)
  func `a program is there, perhaps there, or gone`(kind: StoreUnderTest.Kind) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    func status() throws -> LookUpResult.Status {
      try second.wish(.find(.id(alice)), 100)
      return try second.shared.status(of: alice, for: bob)
    }
    #expect(try status() == .offline)
    #expect(first.shared.announce(record(node: 1, serial: 5), audience: nil, life: .seconds(60)))
    try first.serve()
    #expect(try status() == .online)
    first.shared.handleListening(false)
    try first.beat()
    #expect(try status() == .unavailable)
    first.shared.handleListening(true)
    try first.beat(isComplete: false)
    #expect(try status() == .unavailable)
    // Announced by a connection that is not this one any more: it may be on its way.
    try first.beat()
    #expect(try status() == .unavailable)
    if first.model != nil {
      try first.pass(15, with: second)
      #expect(try status() == .offline)
    }
    #expect(first.shared.announce(record(node: 1, serial: 5), audience: nil, life: .zero))
    try first.serve()
    #expect(try status() == .offline)
  }

  /// Why a node beats before it announces anything by a new connection: who asks between the two
  /// deletes the record of a connection that is not known.
  @Test(arguments: kinds)
  func `a program of a connection stays only where Redis knows the connection`(
    kind: StoreUnderTest.Kind
  ) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    func status() throws -> LookUpResult.Status {
      try second.wish(.find(.id(alice)), 100)
      return try second.shared.status(of: alice, for: bob)
    }
    first.shared.handleConnection()
    #expect(first.shared.announce(record(node: 1, serial: 5), audience: nil, life: .seconds(60)))
    try first.serve()
    #expect(try status() == .offline)
    try first.beat()
    #expect(try status() == .offline, "gone for good")
    first.shared.handleConnection()
    try first.beat(isComplete: false)
    #expect(first.shared.announce(record(node: 1, serial: 5), audience: nil, life: .seconds(60)))
    try first.serve()
    #expect(try status() == .unavailable)
    try first.beat()
    #expect(try status() == .online)
  }

  /// Method: alice has a guest, which is never called, and a program that bob may not see; a third
  /// node, which may have more, has not announced its programs.
  @Test(arguments: kinds)
  func `who has other programs is not offline while a node is silent`(
    kind: StoreUnderTest.Kind
  ) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    first.model?.milliseconds += 10_000
    let third = try StoreUnderTest(beside: first, node: 3)
    for node in [first, second] { try node.beat() }
    try third.beat(isComplete: false)
    try first.keep([1], serial: 1, of: alice, seen: 100)
    var records = [record(node: 1, serial: 5), record(node: 1, serial: 6)]
    records[0].presence = Presence(PresenceID(rawValue: 8), .guest)
    #expect(first.shared.announce(records[0], audience: nil, life: .seconds(60)))
    #expect(first.shared.announce(records[1], audience: Audience(), life: .seconds(60)))
    try first.serve()
    func status() throws -> LookUpResult.Status {
      try second.wish(.find(.id(alice)), 100)
      return try second.shared.status(of: alice, for: bob)
    }
    #expect(try status() == .unavailable && !second.shared.isFoundWhole)
    try third.beat()
    #expect(try status() == .offline && second.shared.isFoundWhole)
  }

  @Test(arguments: kinds)
  func `clients of a node that leaves, or was started again, may be on their way`(
    kind: StoreUnderTest.Kind
  ) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    func status() throws -> LookUpResult.Status {
      try second.wish(.find(.id(alice)), 100)
      return try second.shared.status(of: alice, for: bob)
    }
    #expect(first.shared.announce(record(node: 1, serial: 5), audience: nil, life: .seconds(60)))
    try first.serve()
    first.shared.beginLeaving(now: .zero)
    try first.serve()
    // As long as it has clients, also where it does not reach Redis meanwhile.
    try second.pass(20)
    #expect(try status() == .unavailable)
    first.shared.leave()
    try first.serve()
    #expect(try status() == .unavailable)
    let again = try StoreUnderTest(beside: second, node: 1)
    // Its dice are those of the first: another connection than that one's.
    again.shared.handleConnection()
    try again.beat()
    // It begins to hear the others: one more.
    again.shared.handleConnection()
    try again.beat()
    #expect(try status() == .unavailable)
    #expect(again.shared.announce(record(node: 1, serial: 6), audience: nil, life: .seconds(60)))
    try again.serve()
    #expect(try status() == .online)
    // Nobody waits for those who were at others.
    try second.wish(.find(.id(bob)), 100)
    #expect(try second.shared.status(of: bob, for: alice) == .offline)
    guard second.model != nil else { return }
    again.shared.leave()
    try again.serve()
    try second.pass(15)
    #expect(try status() == .offline)
  }

  @Test(arguments: kinds.filter { $0 == .redis })
  func `a full Redis refuses new names, and goes on with all that it has`(
    kind: StoreUnderTest.Kind
  ) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    let (name, other) = (try #require(PeerName("alice")), try #require(PeerName("other")))
    #expect(try first.bind(name, to: alice, now: 100) == .granted)
    try first.keep([1], serial: 1, of: alice, seen: 100)
    _ = try first.run(["CONFIG", "SET", "maxmemory", "1"])
    first.shared.handleConnection()
    try first.beat(isComplete: false)
    #expect(first.shared.announce(record(node: 1, serial: 5), audience: nil, life: .seconds(60)))
    #expect(first.shared.restore(alice, name: name, now: 200))
    #expect(try first.bind(name, to: alice, now: 300) == .owned)
    try first.keep([2], serial: 2, of: alice, seen: 300)
    try first.beat()
    try second.wish(.find(.name(name)), 90_000)
    #expect(try second.shared.status(of: alice, for: bob) == .online)
    #expect(try second.store.card(of: alice) == [2])
    try second.wish(.registration(bob, asked: other, claimed: nil), 100)
    #expect(try second.store.verdict(on: other, for: bob, now: 100) == .tooMany)
    #expect(first.shared.withdraw(record(node: 1, serial: 5), isExpected: false))
    try first.serve()
    #expect(try second.owner(of: other, now: 100) == nil)
    #expect(try second.owner(of: name, now: 100) == alice)
    #expect(try second.shared.status(of: alice, for: bob) == .offline)
    for node in [first, second] { #expect(node.shared.counters.commandsFailed == 0) }
    #expect(first.shared.takeOwed(most: 9, now: .zero).isEmpty)
    // A node that starts then gets in as well.
    _ = try first.run(["SCRIPT", "FLUSH"])
    try first.reconnect()
    try first.beat()
    #expect(first.shared.counters.commandsFailed == 0)
  }

  /// Each client was closed, and registered anew, for as long as Redis was so.
  @Test(arguments: kinds.filter { $0 == .redis })
  func `while Redis takes no writes nobody is made to register anew`(
    kind: StoreUnderTest.Kind
  ) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    try first.keep([1], serial: 1, of: alice, seen: 100)
    func announce() throws {
      #expect(first.shared.announce(record(node: 1, serial: 5), audience: nil, life: .seconds(60)))
      #expect(first.shared.restore(alice, name: nil, now: 200))
      try first.beat()
    }
    try announce()
    _ = try second.run(["CONFIG", "SET", "min-replicas-to-write", "1"])
    try announce()
    #expect(!first.shared.isConnected)
    #expect(first.shared.takeOwed(most: 9, now: .zero).isEmpty)
    #expect(throws: (any Error).self) { try first.reconnect() }
    // Of a server that refuses the beat of a new connection nothing is known.
    first.shared.handleConnection()
    try first.store.keep([1], serial: 1, of: alice, seen: 100)
    while let command = first.shared.pollCommand() {
      first.shared.handle(.failed("ERR of no known kind"), to: command.number)
    }
    #expect(first.shared.takeOwed(most: 9, now: .zero).isEmpty)
    _ = try second.run(["CONFIG", "SET", "min-replicas-to-write", "0"])
    try first.reconnect()
    try announce()
    try second.wish(.find(.id(alice)), 100)
    #expect(try second.shared.status(of: alice, for: bob) == .online)
    // Whose card was not written registers anew, once.
    #expect(first.shared.takeOwed(most: 9, now: .zero) == [alice])
    #expect(first.shared.takeOwed(most: 9, now: .zero).isEmpty)
  }

  /// Who does not hear the others is not asked for what it has.
  @Test(arguments: kinds)
  func `nodes learn who is there and hears, and a channel has the same node for all`(
    kind: StoreUnderTest.Kind
  ) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    func homes() throws -> [[[UInt8]]] {
      for node in [first, second, first] { try node.beat() }
      return [first, second].map { $0.shared.standing.homes.nodes.sorted { $0[0] < $1[0] } }
    }
    let both = [first.shared.node.hash, second.shared.node.hash].sorted { $0[0] < $1[0] }
    #expect(try homes() == [both, both])
    for number in UInt64(0)..<8 {
      let channel = Bytes32(PeerID(word0: number, word1: 0, word2: 0, word3: 0))
      let found = [first, second].map { ChannelHome(of: channel, $0.shared, now: .zero) }
      #expect(Set([found[0] == .here, found[1] == .here]) == [true, false], "\(found)")
    }
    second.shared.handleListening(false)
    try second.beat()
    #expect(ChannelHome(of: .zero, second.shared, now: .zero) == .unknown)
    second.shared.leave()
    try second.serve()
    // What has gone stays for the 3 s in which others may not have spoken.
    first.shared.beat(isComplete: true, now: .zero + .seconds(4))
    try first.serve()
    first.shared.beat(isComplete: true, now: .zero + .seconds(8))
    try first.serve()
    first.shared.beat(isComplete: true, now: .zero + .seconds(10))
    try first.serve()
    first.shared.beat(isComplete: true, now: .zero + .seconds(12))
    try first.serve()
    #expect(first.shared.standing.homes.nodes == [first.shared.node.hash])
  }

  @Test(arguments: kinds)
  func `a ban is told to all nodes, and can be fetched`(kind: StoreUnderTest.Kind) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    try second.listen()
    let ban = StoredBan(channel: Bytes32(bob), id: alice, until: 9000)
    try first.keep(ban, now: 100)
    let word = MemberBanned(channel: ban.channel, id: ban.id, until: ban.until)
    #expect(try second.hear() == [.banned(word)])
    #expect(second.shared.pollBans() == nil)
    second.shared.fetchBans()
    try second.serve()
    #expect(second.shared.pollBans() == [ban])
    #expect(second.shared.pollBans() == nil)
  }

  @Test(arguments: kinds)
  func `the newer of two sessions of a program stays`(kind: StoreUnderTest.Kind) throws {
    let (first, second) = try StoreUnderTest.pair(kind)
    #expect(first.shared.announce(record(node: 1, serial: 5), audience: nil, life: .seconds(60)))
    try first.serve()
    let sent = second.shared.counters.messagesSent
    #expect(second.shared.announce(record(node: 2, serial: 6), audience: nil, life: .seconds(60)))
    try second.serve()
    #expect(second.shared.counters.messagesSent == sent + 1)
    #expect(first.shared.announce(record(node: 1, serial: 5), audience: nil, life: .seconds(60)))
    try first.serve()
    let word = try #require(first.shared.pollMoved())
    #expect(word.id == alice && word.serial == 6)
  }
}

extension StoreUnderTest {
  var shared: SharedStore {
    guard let shared = store.shared else { preconditionFailure("a store in this process") }
    return shared
  }

  func beat(isComplete: Bool = true) throws {
    shared.beat(isComplete: isComplete, now: .zero)
    try serve()
  }

  /// So many seconds pass for the model, in which this node beats, and another one.
  func pass(_ seconds: Int, with other: StoreUnderTest? = nil) throws {
    for _ in 0..<seconds where model != nil {
      model?.milliseconds += 1000
      try beat()
      try other?.beat()
    }
  }
}
