import Primitives
import SecureSession
import Storage
import Testing
import Wire

struct PinFileTests {
  let scratch = Scratch()
  let alice = PeerID(word0: 1, word1: 0, word2: 0, word3: 0)
  let mallory = PeerID(word0: 2, word1: 0, word2: 0, word3: 0)
  let name = KnownPeers.Place.name(PeerName("alice")!)
  let server = KnownPeers.Place.rendezvous("[2001:db8::1]:7400")

  @Test func `pins the first sight, notices another, believes a person`() {
    var peers = KnownPeers()
    #expect(peers.see(alice, at: name, now: 1) == .new)
    #expect(peers.see(alice, at: name, now: 2) == .pinned)
    #expect(peers.see(mallory, at: name, now: 3) == .changed)
    #expect(peers[name]?.id == alice)
    peers.verify(mallory, at: name, now: 4)
    #expect(peers.see(mallory, at: name, now: 5) == .verified)
    #expect(peers.see(alice, at: name, now: 6) == .changed)
    peers.forget(name)
    #expect(peers.trust(in: alice, at: name) == .new)
  }

  @Test func `keeps what it knows from one process to the next`() throws {
    let file = PinFile(path: scratch.file("earshot/known-peers"))
    #expect(try file.update { $0.see(alice, at: name, now: 1) } == .new)
    #expect(try file.update { $0.see(alice, at: server, card: [1, 2, 3], now: 2) } == .new)
    try file.update { $0.verify(alice, at: name, now: 3) }
    let peers = try file.read()
    #expect(peers.trust(in: alice, at: name) == .verified)
    #expect(peers.trust(in: mallory, at: server) == .changed)
    #expect(peers[server]?.card == [1, 2, 3])
    #expect(peers.all.map(\.place) == [name, server])
  }

  /// Method: a card, a later one of the same device key, one of a key that replaced it, the first
  /// again.
  @Test func `keeps the card of a pinned peer with its newest device key`() throws {
    var random = RandomSource(seed: 5)
    var identity = LocalIdentity(kind: .peer, unixSeconds: 1_800_000_000, random: &random)
    let first = try identity.makeCard(unixSeconds: 1_800_000_000)
    let later = try identity.makeCard(unixSeconds: 1_800_000_100)
    identity.replaceStaticKey(unixSeconds: 1_800_000_200, random: &random)
    let second = try identity.makeCard(unixSeconds: 1_800_000_200)
    let file = PinFile(path: scratch.file("known-peers"))
    #expect(try file.update { $0.renew(first) } == false)  // Nobody is pinned.
    _ = try file.update { $0.see(first.id, at: name, now: 1) }
    _ = try file.update { $0.see(first.id, at: server, now: 1) }
    for (card, isNew) in [(first, true), (later, false), (second, true), (later, false)] {
      #expect(try file.update { $0.renew(card) } == isNew)
    }
    let peers = try file.read()
    #expect(peers[name]?.card == second.bytes && peers[server]?.card == [])
  }

  @Test func `gives each identity of a folder its own pins, and keeps those of before`() throws {
    let former = PinFile(path: scratch.file("known-peers"))
    _ = try former.update { $0.see(alice, at: name, now: 1) }
    let home = PinFile(besideIdentity: scratch.file("identity"))
    let work = PinFile(besideIdentity: scratch.file("work"))
    for file in [home, work] { #expect(try file.read().trust(in: alice, at: name) == .pinned) }
    try home.update { $0.verify(mallory, at: name, now: 2) }
    _ = try work.update { $0.see(alice, at: server, now: 3) }
    #expect(try home.read().trust(in: mallory, at: name) == .verified)
    #expect(try home.read().trust(in: alice, at: server) == .new)
    #expect(try work.read().trust(in: mallory, at: name) == .changed)
    #expect(try work.read().trust(in: alice, at: server) == .pinned)
    #expect(try former.read().all.map(\.place) == [name])
  }

  @Test func `holds ten thousand, and forgets the oldest that nobody vouched for`() {
    var peers = KnownPeers()
    peers.verify(alice, at: name, now: 0)
    for index in 0...KnownPeers.limit {
      _ = peers.see(alice, at: .rendezvous("h\(index):1"), now: UInt64(index + 1))
    }
    #expect(peers.count == KnownPeers.limit)
    #expect(peers.trust(in: alice, at: name) == .verified)
    #expect(peers[.rendezvous("h0:1")] == nil && peers[.rendezvous("h1:1")] == nil)
    #expect(peers[.rendezvous("h2:1")] != nil)
  }

  @Test func `refuses a file cut short or changed, and leaves it as it is`() throws {
    let file = PinFile(path: scratch.file("known-peers"))
    _ = try file.update { $0.see(alice, at: name, now: 1) }
    let whole = scratch.read("known-peers")
    for count in 0..<whole.count {
      scratch.write("known-peers", Array(whole[..<count]))
      #expect(throws: StorageError.self, "cut at \(count)") {
        _ = try file.update { $0.see(mallory, at: server, now: 2) }
      }
      #expect(scratch.read("known-peers") == Array(whole[..<count]))
    }
  }

  @Test func `loses nothing when many processes write at once`() async throws {
    let path = scratch.file("known-peers")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<20 {
        group.addTask { [alice] in
          _ = try PinFile(path: path).update {
            $0.see(alice, at: .rendezvous("h:\(index)"), now: 1)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try PinFile(path: path).read().count == 20)
  }
}
