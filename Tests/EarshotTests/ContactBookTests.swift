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

  @Test func `who has no name is listed, verified, named and forgotten by the ID`() throws {
    let path = try Self.pinned()
    let book = try ContactBook(identityFile: path)
    let (text, id) = try Self.card()
    #expect(try book.verify("\(id)") == nil && book.rename("\(id)", to: "eve") == nil)
    #expect(try book.entries().count == 3)  // That pinned nobody.
    #expect(try book.confirm(id).map(\.place) == [.id(id)])
    #expect(try book.entries().last?.trust == .verified)
    let error = #expect(throws: EarshotError.self) { try book.rename("\(id)", to: "eve") }
    #expect(error?.code == .invalidArgument)  // No card is kept.
    let card = try PeerCard(text)
    let elsewhere = try Self.pinned()
    _ = try ContactBook(identityFile: elsewhere).keep(card, as: "eve")
    let kept = try PinFile(besideIdentity: elsewhere).read()[.name(PeerName("eve")!)]?.card
    let content = try ContactCard(parsing: try #require(kept))
    _ = try PinFile(besideIdentity: path).update { $0.renew(content) }
    #expect(try book.rendezvous(of: "\(id)") == card.rendezvous)
    #expect(try book.rename("\(id)", to: "eve")?.place == .name("eve"))
    #expect(try book.entries().map(\.trust) == [.pinned, .pinned, .verified, .verified])
    #expect(try book.rename("\(id)", to: "eva")?.place == .name("eva"))
    #expect(try book.verify("\(Self.bob)")?.place == .name("bob"))
    #expect(try book.entries().map(\.trust) == [.verified, .pinned, .verified, .verified])
    #expect(try book.forget("\(id)").map(\.place) == [.name("eva")])
    _ = try book.confirm(id)
    #expect(try book.forget("\(id)").map(\.place) == [.id(id)])
    // Dialled by a name meanwhile: once that is verified as well, it stands for both.
    _ = try book.confirm(id)
    let eva = KnownPeers.Place.name(PeerName("eva")!)
    _ = try PinFile(besideIdentity: path).update { $0.see(id, at: eva, now: 2) }
    #expect(try book.confirm(id).map(\.place) == [.name("eva")])
    #expect(try book.forget("\(id)").map(\.place) == [.name("eva")])
    #expect(try book.entries().count == 3)
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

  /// Goal: whoever has no name is met once, and known from then on.
  /// Method: dan, without a name, calls bob: he is rejected twice, accepted, and verified. Then bob
  /// gives him a name.
  @Test(.timeLimit(.minutes(1)))
  func `a caller without a name is known by its ID once it was accepted`() async throws {
    let town = try await LoopbackTown(["dan", "bob"], nameless: ["dan"])
    var (dan, bob) = (await Story(town.endpoints[0]), await Story(town.bob))
    let book = try ContactBook(identityFile: town.identityFile(of: "bob"))
    while try book.entries().isEmpty { await Task.yield() }
    let before = town.pins(of: "bob")
    var calls: [IncomingCall] = []
    for step in 0..<6 {
      if step == 4 { _ = try book.confirm(dan.endpoint.id) }
      if step == 5 { _ = try book.rename("\(dan.endpoint.id)", to: "dan") }
      let accepts = step == 2
      calls.append(try await Self.call("bob", by: &dan, to: &bob, accepts: accepts))
      if step < 2 { #expect(before != nil && town.pins(of: "bob") == before) }
      guard accepts else { continue }
      while try book.entries().count < 2 { await Task.yield() }
      #expect(try book.entries()[1].place == .id(dan.endpoint.id))
    }
    #expect(calls.map(\.trust) == [.new, .new, .new, .pinned, .verified, .verified])
    #expect(calls.map(\.name) == [nil, nil, nil, nil, nil, "dan"])
    #expect(calls.map(\.nameTrust) == [nil, nil, nil, nil, nil, .known])
    await town.close()
  }

  /// Goal: what an identity is worth does not pass to a name that it chose. The name that the
  /// rendezvous confirms is told apart, and pinned by the next accept.
  @Test(.timeLimit(.minutes(1)), arguments: [false, true])
  func `who is known by the ID has a name when it is accepted with it`(
    isVerified: Bool
  ) async throws {
    let town = try await LoopbackTown(["dan", "bob"])
    var (dan, bob) = (await Story(town.endpoints[0]), await Story(town.bob))
    let id = dan.endpoint.id
    let file = town.identityFile(of: "bob")
    _ = try PinFile(besideIdentity: file).update { peers in
      if isVerified { peers.verify(id, at: .id(id), now: 1) }
      return peers.see(id, at: .id(id), now: 1)
    }
    let first = try await Self.call("bob", by: &dan, to: &bob, accepts: true)
    #expect(first.name == nil && first.nameTrust == nil && first.newName == "dan")
    #expect(first.trust == (isVerified ? .verified : .pinned))
    let second = try await Self.call("bob", by: &dan, to: &bob, accepts: false)
    #expect(second.trust == first.trust && second.name == (isVerified ? nil : "dan"))
    #expect(second.newName == (isVerified ? "dan" : nil))
    let pins = try PinFile(besideIdentity: file).read()
    let name = KnownPeers.Place.name(PeerName("dan")!)
    #expect(pins.peerPlaces(of: id) == [isVerified ? .id(id) : name])
    if isVerified {
      // Whoever dials that name pins it beside: the ID is worth what it was.
      _ = try PinFile(besideIdentity: file).update { $0.see(id, at: name, now: 2) }
      let third = try await Self.call("bob", by: &dan, to: &bob, accepts: false)
      #expect(third.trust == .verified && third.name == nil && third.newName == "dan")
    }
    await town.close()
  }

  /// Goal: an ID that was dialled is a contact; no more than that, and not where no person decides.
  @Test(.timeLimit(.minutes(1)), arguments: [false, true])
  func `an ID that was dialled is known`(remembers: Bool) async throws {
    let town = try await LoopbackTown(["alice", "dan"], nameless: ["dan"])
    var (alice, dan) = (await Story(town.alice), await Story(town.endpoints[1]))
    var options = CallOptions(source: Tone(), sink: Ear())
    options.remembersPeer = remembers
    _ = try await town.alice.call("\(dan.endpoint.id)", options: options)
    try await dan.endpoint.call(try #require(await dan.incoming()).id).reject(reason: "no")
    #expect(await alice.report()?.trust == .verified)  // The key is the one that was dialled.
    _ = await dan.report()
    let back = try await Self.call("alice", by: &dan, to: &alice, accepts: false)
    #expect(back.trust == (remembers ? .pinned : .new) && back.name == nil)
    let pins = try PinFile(besideIdentity: town.identityFile(of: "alice")).read()
    #expect(pins[.id(dan.endpoint.id)]?.isVerified == (remembers ? false : nil))
    await town.close()
  }

  /// One call to its end, as the callee is told of it.
  private static func call(
    _ name: String, by caller: inout Story, to callee: inout Story, accepts: Bool
  ) async throws -> IncomingCall {
    let call = try await caller.endpoint.call(
      name, options: CallOptions(source: Tone(), sink: Ear()))
    let incoming = try #require(await callee.incoming())
    let there = await callee.endpoint.call(incoming.id)
    if accepts {
      try await there.accept(CallOptions(source: Tone(), sink: Ear()))
      await caller.connected()
      await call.hangUp()
    } else {
      try await there.reject(reason: "no")
    }
    _ = await callee.report()
    _ = await caller.report()
    return incoming
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
