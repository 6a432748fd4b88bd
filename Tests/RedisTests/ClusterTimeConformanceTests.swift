import Primitives
import Simulation
import Testing
import Wire

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
    guard let model = first.model else { return }
    model.milliseconds += 15_000
    for node in [first, second] { try node.beat() }
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
}
