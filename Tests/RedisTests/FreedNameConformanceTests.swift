import Primitives
import Testing
import Wire

@testable import Rendezvous

/// What an operator's freeing of a name means: the same to the real Redis and to the model of it.
@Suite(.serialized) struct FreedNameConformanceTests {
  private static let kinds: [StoreUnderTest.Kind] = [.redis, .model]
    .filter(StoreUnderTest.Kind.here.contains)

  private let alice = PeerID(word0: 1, word1: 0, word2: 0, word3: 0)
  private let bob = PeerID(word0: 2, word1: 0, word2: 0, word3: 0)
  private let start: UInt64 = 10_000_000

  /// Goal: whoever is registered with the name registers anew at once, and is not to get it back.
  @Test(arguments: kinds)
  func `whose name was freed does not get it back while others may ask`(
    kind: StoreUnderTest.Kind
  ) throws {
    let store = try StoreUnderTest(kind, path: "")
    let name = try #require(PeerName("alice"))
    #expect(try store.bind(name, to: alice, now: start) == .granted)
    #expect(NameFreeing.begin(name, in: store.shared, now: start + 60))
    try store.serve()
    #expect(try NameFreeing.outcome(in: store.shared) == alice)
    #expect(try store.bind(name, to: alice, now: start + 61) == .taken)
    #expect(try store.bind(name, to: bob, now: start + 62) == .granted)
    #expect(try store.owner(of: name, now: start + 62) == bob)
  }

  /// Goal: a node gives the name back to whoever has got it since then, where Redis has lost that.
  @Test(arguments: kinds)
  func `who has got a freed name keeps it where Redis forgets so`(
    kind: StoreUnderTest.Kind
  ) throws {
    let store = try StoreUnderTest(kind, path: "")
    let name = try #require(PeerName("alice"))
    let freed = start + 60
    #expect(NameFreeing.begin(name, in: store.shared, now: freed))
    try store.serve()
    let former = NameRank(grantedAt: start)
    #expect(store.shared.restore(alice, name: name, rank: former, now: freed + 5))
    try store.serve()
    #expect(try store.owner(of: name, now: freed + 5) == nil)
    let earlier = NameRank(freedAt: start - 100)
    #expect(store.shared.restore(alice, name: name, rank: earlier, now: freed + 5))
    try store.serve()
    #expect(try store.owner(of: name, now: freed + 5) == nil)
    let since = NameRank(freedAt: freed)
    #expect(store.shared.restore(bob, name: name, rank: since, now: freed + 5))
    try store.serve()
    #expect(try store.owner(of: name, now: freed + 5) == bob)
  }
}
