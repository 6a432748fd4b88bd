import Earshot
import Foundation
import Primitives
import Storage
import Testing
import Wire

/// The pins as a person looks after them.
struct ContactBookTests {
  private static let bob = PeerID(word0: 1, word1: 2, word2: 3, word3: 4)
  private static let other = PeerID(word0: 5, word1: 6, word2: 7, word3: 8)

  /// An identity path in a folder of its own, with pins of bob, of a verified one and of a
  /// rendezvous beside it.
  private static func pinned() throws -> String {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "earshot-\(UUID().uuidString)/identity").path
    _ = try PinFile(besideIdentity: path).update { peers in
      _ = peers.see(bob, at: .name(PeerName("bob")!), now: 86_400)
      _ = peers.see(bob, at: .rendezvous("h:7400"), card: [1], now: 86_401)
      peers.verify(other, at: .name(PeerName("carol")!), now: 86_402)
    }
    return path
  }

  @Test func `lists, forgets and verifies`() throws {
    let book = try ContactBook(identityFile: try Self.pinned())
    let all = try book.entries()
    #expect(all.map(\.place) == [.name("bob"), .rendezvous("h:7400"), .name("carol")])
    #expect(all.map(\.trust) == [.pinned, .pinned, .verified])
    #expect(all[0].id == Self.bob && all[0].firstSeen == 86_400)
    #expect(try book.verify("bob")?.trust == .verified)
    #expect(try book.verify("nobody") == nil)
    #expect(try book.forget("nobody").isEmpty)
    #expect(try book.forget("h:7400").map(\.place) == [.rendezvous("h:7400")])
    #expect(try book.forget("\(Self.other)").map(\.place) == [.name("carol")])
    #expect(try book.forget("bob").count == 1)
    #expect(try book.entries().isEmpty)
  }

  @Test func `verifies an ID only if it is the pinned one`() throws {
    let book = try ContactBook(identityFile: try Self.pinned())
    let error = #expect(throws: EarshotError.self) { try book.verify("bob", as: Self.other) }
    #expect(error?.code == .identityChanged)
    #expect(error?.advice.contains("earshot contacts forget bob --identity '") == true)
    #expect(try book.entries().first?.trust == .pinned)
    #expect(try book.verify("bob", as: Self.bob)?.trust == .verified)
    #expect(try book.entries().first?.trust == .verified)
  }

  /// Cards of one new identity: with what is given on it.
  private static func card(
    _ name: String? = nil, home: Bool = true
  ) throws -> (text: String, id: PeerID) {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "earshot-\(UUID().uuidString)/identity").path
    let made = try LocalIdentityFile.open(
      at: path, name: name, rendezvous: home ? "[2001:db8::7]:7401#\(other)" : nil)
    return (made.card, made.id)
  }

  @Test func `a card says who, by which name and where`() throws {
    let (text, id) = try Self.card("dave")
    let card = try PeerCard("  \(text)\n")
    #expect(card.id == id && card.name == "dave" && card.text == text)
    #expect(card.rendezvous == "[2001:db8::7]:7401#\(Self.other)")
    #expect(try PeerCard(try Self.card(home: false).text).rendezvous == nil)
  }

  @Test func `a card that was changed or cut short is refused`() throws {
    let text = try Self.card("dave").text
    let letters = Array(text)
    for index in stride(from: 8, to: letters.count, by: 7) {
      var changed = letters
      changed[index] = changed[index] == "A" ? "B" : "A"
      let error = #expect(throws: EarshotError.self) { try PeerCard(String(changed)) }
      #expect(error?.code == .invalidCard)
      #expect(throws: EarshotError.self) { try PeerCard(String(letters[..<index])) }
    }
  }

  @Test func `keeps who signed a card, and renames them`() throws {
    let book = try ContactBook(identityFile: try Self.pinned())
    let (text, id) = try Self.card("dave")
    let card = try PeerCard(text)
    #expect(try book.keep(card).place == .name("dave"))
    #expect(try book.keep(card, as: "david").trust == .verified)
    #expect(try book.rendezvous(of: "david") == card.rendezvous)
    #expect(try book.rendezvous(of: "\(id)") == card.rendezvous)
    #expect(try book.rendezvous(of: "carol") == nil)
    let other = #expect(throws: EarshotError.self) { try book.keep(card, as: "bob") }
    #expect(other?.code == .identityChanged && other?.advice.contains("--as") == true)
    #expect(try book.rename("david", to: "d")?.id == id)
    #expect(try book.rename("nobody", to: "x") == nil)
    // Nothing is kept of bob's card, and dave is there already.
    for (name, new) in [("bob", "robert"), ("d", "dave"), ("d", "d")] {
      #expect(throws: EarshotError.self) { try book.rename(name, to: new) }
    }
    let nameless = try PeerCard(try Self.card().text)
    let error = #expect(throws: EarshotError.self) { try book.keep(nameless) }
    #expect(error?.code == .invalidArgument)
    #expect(try book.keep(nameless, as: "eve").trust == .verified)
    let places = try book.entries().map(\.place)
    #expect(
      places == [.name("bob"), .rendezvous("h:7400"), .name("carol")]
        + ["dave", "d", "eve"].map { .name($0) })
  }

  @Test(arguments: ["earshot known-peers 1\nname bob\nend 0\n", "#!/bin/sh\n", "earshot"])
  func `leaves a damaged or foreign file as it is, and says which`(text: String) throws {
    let path = try Self.pinned()
    let book = try ContactBook(identityFile: path)
    try Data(text.utf8).write(to: URL(fileURLWithPath: book.path))
    for action in 0..<3 {
      let error = #expect(throws: EarshotError.self) {
        switch action {
        case 0: _ = try book.entries()
        case 1: _ = try book.forget("bob")
        default: _ = try book.verify("bob")
        }
      }
      #expect(error?.code == .fileUnusable && error?.message.contains(book.path) == true)
      #expect(error?.advice.isEmpty == false)
      #expect(FileManager.default.contents(atPath: book.path) == Data(text.utf8))
    }
  }

  @Test func `advises command lines that can be copied`() {
    let usual = ContactCommands(identityFile: "/x/it's")
    #expect(usual.forget("bob") == #"earshot contacts forget bob --identity '/x/it'\''s'"#)
    let peer = usual.peerChanged(name: "bob", expected: Self.bob, found: Self.other)
    #expect(peer.code == .identityChanged && peer.advice.hasSuffix(usual.forget("bob")))
    let caller = usual.callerRefused(name: "bob", found: Self.other)
    #expect(caller.advice.hasSuffix(usual.forget("bob")))
    for isGiven in [false, true] {
      let error = usual.rendezvousChanged(
        "h:7400", isGiven: isGiven, expected: Self.bob, found: Self.other)
      let way = isGiven ? "--rendezvous h:7400#\(Self.other)" : usual.forget("h:7400")
      #expect(error.advice.hasSuffix(way))
    }
    #expect(
      usual.refusedByPin("bob", ownName: "alice").advice.hasSuffix("earshot contacts forget alice"))
    #expect(ContactCommands.commitmentBroken("bob").advice.contains("short code"))
  }
}

extension CallTests {
  /// Goal: what an attacker did with pins (finding C1) ends with one command.
  /// Method: carol, a stranger, is rejected. Then alice has another identity pinned as bob.
  @Test(.timeLimit(.minutes(1)))
  func `a stranger leaves no pin, and a wrong pin goes by one command`() async throws {
    let wrong = PeerID(word0: 9, word1: 9, word2: 9, word3: 9)
    let town = try await LoopbackTown(["alice", "bob", "carol"]) { file in
      for name in ["alice", "bob"] {
        _ = try PinFile(besideIdentity: file(name)).update {
          $0.see(wrong, at: .name(PeerName(name == "alice" ? "bob" : "alice")!), now: 1)
        }
      }
    }
    var bob = await Story(town.bob)
    // What the rendezvous is pinned to is written before the call.
    let book = try ContactBook(identityFile: town.identityFile(of: "bob"))
    while try book.entries().count < 2 { await Task.yield() }
    let before = town.pins(of: "bob")
    #expect(
      try await Self.call("bob", by: town.endpoints[2], rejectedBy: &bob).outcome == .rejected)
    #expect(before != nil && town.pins(of: "bob") == before)

    let blocked = try await Self.blockedCall("bob", by: town.alice)
    #expect(blocked.trust == .changed && blocked.error?.code == .identityChanged)
    let command = "earshot contacts forget bob --identity '\(town.identityFile(of: "alice"))'"
    #expect(blocked.error?.advice.hasSuffix(command) == true)
    #expect(
      try ContactBook(identityFile: town.identityFile(of: "alice")).forget("bob").map(\.id)
        == [wrong])

    // Bob's own pin of alice is wrong too: she hears what he must do.
    let refused = try await Self.blockedCall("bob", by: town.alice)
    #expect(refused.error?.advice.hasSuffix("earshot contacts forget alice") == true)
    let told = try #require(await bob.report())
    #expect(told.error?.advice.contains("earshot contacts forget alice --identity") == true)
    #expect(try book.forget("alice").map(\.id) == [wrong])
    #expect(try await Self.call("bob", by: town.alice, rejectedBy: &bob).outcome == .rejected)
    let pins = try ContactBook(identityFile: town.identityFile(of: "alice"))
    while try pins.entries().first(where: { $0.place == .name("bob") }) == nil {
      await Task.yield()
    }
    #expect(try pins.entries().contains { $0.place == .name("bob") && $0.id == town.bob.id })
    await town.close()
  }

  /// Goal: a name of the host's own means the pinned identity, whatever the rendezvous says of it,
  /// and whoever is pinned by it is shown by it.
  @Test(.timeLimit(.minutes(1)))
  func `an own name and a card reach the identity`() async throws {
    let town = try await LoopbackTown(["alice", "bob", "carol"])
    var bob = await Story(town.bob)
    let file = town.identityFile(of: "bob")
    let card = try LocalIdentityFile.open(at: file, name: "bob").card
    let alices = try ContactBook(identityFile: town.identityFile(of: "alice"))
    // At the rendezvous "carol" is somebody else.
    _ = try alices.keep(try PeerCard(card), as: "carol")
    let own = try await Self.call("carol", by: town.alice, rejectedBy: &bob)
    #expect(own.outcome == .rejected && own.peer == town.bob.id)
    #expect(own.peerName == "carol" && own.trust == .verified)
    let byCard = try await Self.call(card, by: town.alice, rejectedBy: &bob)
    #expect(byCard.outcome == .rejected && byCard.peer == town.bob.id)
    #expect(byCard.peerName == nil && byCard.trust == .verified)

    let bobs = try ContactBook(identityFile: file)
    let alice = try LocalIdentityFile.open(at: town.identityFile(of: "alice"), name: "alice").card
    _ = try bobs.keep(try PeerCard(alice), as: "al")
    _ = try await town.alice.call("bob", options: CallOptions(source: Tone(), sink: Ear()))
    let incoming = try #require(await bob.incoming())
    #expect(incoming.name == "al" && incoming.trust == .verified && incoming.nameTrust == .known)
    await town.close()
  }

  /// Goal: what a person says of a contact counts from the next call on, in a program that runs.
  @Test(.timeLimit(.minutes(1)))
  func `a running endpoint takes over what another program wrote`() async throws {
    let town = try await LoopbackTown()
    var bob = await Story(town.bob)
    let path = town.identityFile(of: "bob")
    let alice = KnownPeers.Place.name(PeerName("alice")!)
    var trusts: [Earshot.Trust] = []
    for step in 0..<4 {
      switch step {
      case 1:
        _ = try PinFile(besideIdentity: path).update { $0.see(town.alice.id, at: alice, now: 1) }
      case 2: _ = try ContactBook(identityFile: path).verify("alice", as: town.alice.id)
      case 3: _ = try ContactBook(identityFile: path).forget("alice")
      default: break
      }
      let call = try await town.alice.call("bob", options: CallOptions(source: Tone(), sink: Ear()))
      let incoming = try #require(await bob.incoming())
      trusts.append(incoming.trust)
      await call.hangUp()
      _ = await bob.report()
    }
    #expect(trusts == [.new, .pinned, .verified, .new])
    await town.close()
  }

  /// A call that the callee rejects; what the caller is told at the end.
  private static func call(
    _ name: String, by caller: Endpoint, rejectedBy callee: inout Story
  ) async throws -> CallReport {
    var story = await Story(caller)
    _ = try await caller.call(name, options: CallOptions(source: Tone(), sink: Ear()))
    let incoming = try #require(await callee.incoming())
    try await callee.endpoint.call(incoming.id).reject(reason: "no")
    _ = await callee.report()
    return try #require(await story.report())
  }

  /// A call that no person at the other side hears of.
  private static func blockedCall(
    _ name: String, by caller: Endpoint
  ) async throws -> CallReport {
    var story = await Story(caller)
    _ = try await caller.call(name, options: CallOptions(source: Tone(), sink: Ear()))
    return try #require(await story.report())
  }
}
