import Glibc
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

  /// Goal: who was renamed here is not pinned again when dialled by the name of the rendezvous.
  @Test func `a renamed peer is seen by its former name, and pinned once`() throws {
    var random = RandomSource(seed: 6)
    var identity = LocalIdentity(kind: .peer, unixSeconds: 1_800_000_000, random: &random)
    let card = try identity.makeCard(name: PeerName("alice"), unixSeconds: 1_800_000_000)
    var peers = KnownPeers()
    _ = peers.see(card.id, at: name, card: card.bytes, now: 1)
    peers.verify(card.id, at: name, now: 2)
    let isRenamed = peers.rename(name, to: PeerName("alison")!)
    #expect(isRenamed)
    let own = KnownPeers.Place.name(PeerName("alison")!)
    for (place, time) in [(name, 3), (own, 4), (.id(card.id), 5)] as [(KnownPeers.Place, UInt64)] {
      let trust = peers.see(card.id, at: place, now: time)
      #expect(trust == .verified && peers.all.map(\.place) == [own])
      #expect(peers[own]?.lastSeen == time)
    }
    // Another identity by that name is no renamed one, nor is another name of the same identity.
    let other = peers.see(mallory, at: name, now: 6)
    let second = peers.see(card.id, at: .name(PeerName("al")!), now: 7)
    #expect(other == .new && second == .new && peers.count == 3)
  }

  @Test func `pins who has no name by the ID, until a name is as much worth`() throws {
    var peers = KnownPeers()
    let id = KnownPeers.Place.id(alice)
    #expect(peers.see(alice, at: id, now: 1) == .new)
    #expect(peers.see(alice, at: id, now: 2) == .pinned)
    #expect(peers.trust(in: mallory, at: .id(mallory)) == .new)
    #expect(peers.see(alice, at: name, now: 3) == .new)  // The name was not known.
    #expect(peers.all.map(\.place) == [name])
    #expect(peers.see(alice, at: id, now: 4) == .pinned)  // By the name.
    #expect(peers.all.map(\.place) == [name] && peers[name]?.lastSeen == 4)
    peers.forget(name)

    // What was verified without a name says nothing of a name.
    peers.verify(alice, at: id, now: 5)
    #expect(peers.see(alice, at: name, now: 6) == .new)
    #expect(peers.trust(in: alice, at: name) == .pinned && peers[id]?.isVerified == true)
    #expect(peers.peerPlaces(of: alice) == [name, id])
    peers.verify(alice, at: name, now: 7)
    #expect(peers.all.map(\.place) == [name])
    peers.verify(mallory, at: .id(mallory), now: 8)
    let isTaken = !peers.rename(.id(mallory), to: PeerName("alice")!)
    let isRenamed = peers.rename(.id(mallory), to: PeerName("m")!)
    #expect(isTaken && isRenamed)
    #expect(peers.trust(in: mallory, at: .name(PeerName("m")!)) == .verified)
  }

  /// The title tells programs of before, which would take the lines for damage.
  @Test func `a file has the new title while it has pins of IDs, and old files are read`() throws {
    let file = PinFile(path: scratch.file("known-peers"))
    func title() -> String {
      String(decoding: scratch.read("known-peers").prefix { $0 != 10 }, as: UTF8.self)
    }
    _ = try file.update { $0.see(alice, at: name, now: 1) }
    #expect(title() == "earshot known-peers 1")
    _ = try file.update { $0.see(mallory, at: .id(mallory), now: 2) }
    #expect(title() == "earshot known-peers 2")
    let peers = try file.read()
    #expect(peers.all.map(\.place) == [name, .id(mallory)])
    #expect(peers.trust(in: mallory, at: .id(mallory)) == .pinned)
    _ = try file.update { $0.rename(.id(mallory), to: PeerName("m")!) }
    #expect(title() == "earshot known-peers 1")
    #expect(try file.read().count == 2)
  }

  /// Method: the pins of a service, in a directory of its user; root changes them, and makes them.
  @Test(.enabled(if: geteuid() == 0, "only root may write for others"))
  func `what root changes of somebody else's pins stays theirs`() throws {
    let nobody: uid_t = 65_534
    let folder = scratch.file("service")
    #expect(unsafe mkdir(folder, 0o700) == 0 && chown(folder, nobody, nobody) == 0)
    let file = PinFile(path: folder + "/known-peers")
    for (peer, place) in [(alice, name), (mallory, server)] {
      _ = try file.update { $0.see(peer, at: place, now: 1) }
      for path in [file.path, file.path + ".lock"] {
        var status = stat()
        #expect(unsafe stat(path, &status) == 0 && status.st_uid == nobody, "\(path)")
        #expect(status.st_mode & 0o777 == 0o600)
      }
    }
    #expect(try file.read().count == 2)
  }

  /// Method: the user of a service puts a link to root's file where the lock is.
  @Test(.enabled(if: geteuid() == 0, "only root may write for others"))
  func `a link in the place of the lock gives no file of root away`() throws {
    let nobody: uid_t = 65_534
    let (folder, secret) = (scratch.file("linked"), scratch.file("secret"))
    #expect(unsafe mkdir(folder, 0o700) == 0 && chown(folder, nobody, nobody) == 0)
    close(unsafe open(secret, O_WRONLY | O_CREAT, 0o600))
    let file = PinFile(path: folder + "/known-peers")
    let lock = file.path + ".lock"
    #expect(unsafe symlink(secret, lock) == 0 && lchown(lock, nobody, nobody) == 0)
    #expect(throws: StorageError.self) { _ = try file.update { $0.see(alice, at: name, now: 1) } }
    var status = stat()
    #expect(unsafe stat(secret, &status) == 0 && status.st_uid == 0)
  }

  @Test func `those without a name take nobody's place but each other's`() {
    func peer(_ number: Int) -> PeerID {
      PeerID(word0: 3, word1: UInt64(number), word2: 0, word3: 0)
    }
    var peers = KnownPeers()
    let limit = KnownPeers.namelessLimit
    peers.verify(alice, at: .id(alice), now: 0)
    _ = peers.see(mallory, at: name, now: 0)
    for number in 0...limit {
      _ = peers.see(peer(number), at: .id(peer(number)), now: UInt64(number + 1))
    }
    #expect(peers.namelessCount == limit && peers.count == limit + 2)
    #expect(peers[.id(peer(0))] == nil && peers[.id(peer(1))] != nil)
    #expect(peers[name] != nil && peers[.id(alice)]?.isVerified == true)
    #expect(peers.familiars.map(\.id).prefix(3) == [alice, mallory, peer(limit)])

    // Others push them out before all else, and they push out nobody else.
    for number in 0..<(KnownPeers.limit - limit - 2) {
      _ = peers.see(mallory, at: .rendezvous("h\(number):1"), now: 0)
    }
    for number in 0..<limit {
      _ = peers.see(mallory, at: .rendezvous("g\(number):1"), now: 0)
    }
    #expect(peers.count == KnownPeers.limit && peers.namelessCount == 0)
    _ = peers.see(peer(0), at: .id(peer(0)), now: .max)
    #expect(peers.count == KnownPeers.limit && peers[.id(peer(0))] == nil)
    #expect(peers[name] != nil && peers[.id(alice)] != nil)
  }

  @Test(arguments: [
    "1\nid - ", "2\nid x ", "2\nids - ", "2\nid ",
  ])
  func `a line that is none is damage`(beginning: String) {
    let text = "earshot known-peers \(beginning)\(alice) pinned 1 2 -\n"
    let sum = text.utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01B3
    }
    #expect(throws: StorageError.self) {
      try PinFile(path: "").parse(Array("\(text)end \(String(sum, radix: 16))\n".utf8), from: "")
    }
  }

  @Test(arguments: [false, true])
  func `refuses a file cut short or changed, and leaves it as it is`(hasIDs: Bool) throws {
    let file = PinFile(path: scratch.file("known-peers"))
    _ = try file.update { $0.see(alice, at: hasIDs ? .id(alice) : name, now: 1) }
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
