import Primitives
import Rendezvous
import Testing
import Wire

/// Names are few and for long: who may have how many, until when, and what RESP says of it
/// (docs/protocol/rendezvous.md §2).
struct NameTests {
  private static func client(_ number: Int, at last: UInt8 = 1) -> TestClient {
    TestClient(UInt64(number), SocketAddress(v4: 10, 4, 0, last, port: UInt16(2000 + number)))
  }

  /// Method: one identity asks for a ninth name.
  @Test func `says that there are no more names, and never that one is granted which is not`() {
    let server = Server()
    let alice = Self.client(1)
    for number in 1...10 {
      server.join(alice, name: "name\(number)")
      #expect(alice.response?.status == (number <= 8 ? .nameGranted : .noMoreNames))
      #expect(alice.isRegistered)
      server.run(.seconds(2))
    }
    // The names that it has are no new ones.
    server.join(alice, name: "name3")
    #expect(alice.response?.status == .nameGranted)
  }

  @Test func `says that there are no more names when the store is full`() {
    var limits = StoreLimits()
    limits.names = 2
    let server = Server(store: MemoryStore(limits: limits))
    let statuses = (1...3).map { number -> RegistrationStatus? in
      let client = Self.client(number)
      server.join(client, name: "name\(number)")
      server.run(.milliseconds(60))
      return client.response?.status
    }
    #expect(statuses == [.nameGranted, .nameGranted, .noMoreNames])
  }

  /// Goal: 256 new names a day and address; who has one comes back as often as it likes.
  /// Method: 40 identities of one address ask for eight names each, then all for their first again.
  @Test func `gives one address 256 new names a day, and the known ones always`() {
    let server = Server()
    server.keepsStrays = false
    var granted = 0
    let clients = (0..<40).map { Self.client($0) }
    for round in 0..<8 {
      for (number, client) in clients.enumerated() {
        server.join(client, name: "n\(number)-\(round)")
        if client.response?.status == .nameGranted { granted += 1 }
        server.run(.milliseconds(60))
      }
    }
    #expect(granted == 256)
    let late = Self.client(99)
    server.join(late, name: "late")
    #expect(late.response?.status == .noMoreNames && late.isRegistered)
    let other = Self.client(100, at: 2)
    server.join(other, name: "late")
    #expect(other.response?.status == .nameGranted)
    for (number, client) in clients.enumerated() {
      server.join(client, name: "n\(number)-0")
      #expect(client.response?.status == .nameGranted)
      server.run(.milliseconds(60))
    }
    server.run(.seconds(3600))
    server.join(late, name: "later")
    #expect(late.response?.status == .nameGranted, "an hour later a few more")
  }

  /// Method: 20 000 identities have their names, and come back at once: the store is asked as the
  /// machine asks it. (Their handshakes are counted elsewhere.)
  @Test func `a known name is none of the new ones, however many come back`() throws {
    let store = MemoryStore()
    for number in UInt64(0)..<20_000 {
      let (name, id) = (
        PeerName("u\(number)")!, PeerID(word0: number, word1: 1, word2: 1, word3: 1)
      )
      #expect(try store.bind(name, to: id, now: 10) == .granted)
      #expect(try store.verdict(on: name, for: id, now: 20) == .owned)
    }
  }

  /// Method: a promise in RESP is overtaken before it is confirmed.
  @Test func `closes a session whose promised name is gone, so that it learns the truth`() throws {
    let server = Server()
    let alice = Self.client(1)
    server.attach(alice)
    server.receive(alice.initiation(to: server.card, name: "alice"), from: alice.address)
    #expect(alice.response?.status == .nameGranted)
    let bob = PeerID(word0: 9, word1: 9, word2: 9, word3: 9)
    _ = try server.store.bind(PeerName("alice")!, to: bob, now: Server.unixSeconds)
    server.receive(alice.ping(), from: alice.address)
    server.run(.seconds(2))
    #expect(alice.closes.first == .limits && server.gauges.clients == 0)
    server.join(alice, name: "alice")
    #expect(alice.response?.status == .nameTaken)
  }

  /// Goal: a name that was granted is in the store when the server dies 10 ms later (L6).
  @Test func `commits a new name at once`() {
    let server = Server()
    let alice = Self.client(1)
    server.join(alice, name: "alice")
    server.run(.milliseconds(1))
    #expect(server.store.commitCount == 1)
    server.run(.seconds(2))
    server.join(alice, name: "alice")
    server.run(.milliseconds(1))
    #expect(server.store.commitCount == 1)
    server.run(.milliseconds(100))
    #expect(server.store.commitCount == 2)
  }

  /// A server that is killed after its first word to an owner still has the name.
  @Test func `says nothing to an owner before the name is written down`() {
    let server = Server()
    let alice = Self.client(1)
    var commits: [Int] = []
    server.isLost = {
      if server.isToward(alice.address) { commits.append(server.store.commitCount) }
      return false
    }
    server.join(alice, name: "alice")
    // RESP comes before the owner has confirmed: nothing is granted for good yet.
    #expect(commits.count > 1 && commits.first == 0 && commits.dropFirst().allSatisfy { $0 == 1 })
  }

  /// Method: the disk is full when alice confirms; carol asks for the same name meanwhile, and both
  /// ask again when there is room. Dave has his name from before, and needs no new one.
  @Test func `a name whose commit failed is nobody's, and goes to whoever was promised it`() {
    let server = Server()
    let (alice, carol, dave) = (Self.client(1), Self.client(2), Self.client(3))
    server.join(dave, name: "dave")
    server.run(.seconds(2))
    server.store.commitFailure = StoreFailure("the disk is full")
    server.join(alice, name: "bob")
    server.join(carol, name: "bob")
    server.join(dave, name: "dave")
    #expect(alice.response?.status == .nameGranted && dave.response?.status == .nameGranted)
    #expect(carol.response?.status == .noNameAskedFor && carol.isRegistered)
    let body = { (sender: TestClient) -> Forwarded? in
      carol.messages = []
      let forward = Forward(
        id: ForwardID(random: &sender.random), to: carol.id, lifeSeconds: 8, body: [1])
      sender.request(.forward(forward), now: server.now)
      server.run(.seconds(1))
      return carol.bodies.first
    }
    carol.abilities.insert(.senderNames)
    server.run(.seconds(2))
    server.join(carol)
    #expect(body(alice)?.name == nil && body(dave)?.name == PeerName("dave"))
    server.run(.seconds(4), pinging: [alice, carol, dave])
    #expect(alice.closes.isEmpty && server.counters.storeFailures < 16)
    // Also where the session of that time is another one by then.
    server.join(alice, name: "bob")
    server.run(.seconds(2), pinging: [alice, carol, dave])
    server.store.commitFailure = nil
    server.run(.seconds(2))
    #expect(alice.closes.contains(.limits) && dave.closes.first == .limits)
    server.join(carol, name: "bob")
    server.join(alice, name: "bob")
    #expect(alice.response?.status == .nameGranted && carol.response?.status == .nameTaken)
    server.run(.seconds(90))
    #expect(server.nextDeadline == nil)
  }
}

/// Who is not let in, and is told so.
struct RefusalTests {
  /// Method: the same identity with its card of an hour ago, whose device key may be stolen.
  @Test func `refuses a card that is older than the one it knows, and says which it knows`() {
    let server = Server()
    let (thief, owner) = (TestClient(1), TestClient(1))
    owner.renewCard(unixSeconds: Server.unixSeconds + 3600)
    server.join(owner)
    server.run(.seconds(2))
    server.attach(thief)
    server.join(thief)
    #expect(thief.response?.status == .superseded && !thief.isRegistered)
    #expect(thief.response?.knownSerial == Server.unixSeconds + 3600)
    server.receive(owner.ping(token: 6), from: owner.address)
    #expect(owner.pongs.last?.token == 6 && server.gauges.clients == 1)
    #expect(server.events.last == .refused(owner.id, .superseded, from: thief.address))
    // A newer one is taken, from wherever it comes.
    thief.renewCard(unixSeconds: Server.unixSeconds + 3601)
    server.run(.seconds(2))
    server.join(thief)
    #expect(thief.isRegistered)
  }

  @Test(arguments: [-86_400, -7200, 7200, 86_400 * 3650])
  func `tells its time to a client whose card is from another one`(ahead: Int) {
    let server = Server()
    let alice = TestClient(1)
    let seconds = UInt64(Int(Server.unixSeconds) + ahead)
    // A key of 14 days' life, made by the client's own clock.
    alice.renewIdentity(unixSeconds: ahead < 0 ? seconds - 14 * 86_400 : seconds)
    server.join(alice)
    #expect(alice.response?.status == .wrongClock && !alice.isRegistered)
    #expect(alice.response?.serverTime == Server.unixSeconds * 1000 + 1000)
    #expect(server.gauges.unconfirmedSessions == 0)
  }

  /// `count` clients that say INIT at one address, which may have four sessions.
  private static func crowd(_ count: Int) -> (server: Server, clients: [TestClient]) {
    var limits = ServerLimits()
    limits.sessionsPerSource = 4
    let server = Server(limits: limits)
    let clients = (0..<count).map { number in
      TestClient(
        UInt64(number + 1), SocketAddress(v4: 10, 4, 0, 1, port: UInt16(2000 + number)))
    }
    for client in clients {
      server.join(client)
      server.run(.milliseconds(60))
    }
    return (server, clients)
  }

  /// Method: five sessions of an address that may have four, and then one of the four again.
  @Test func `says that it is full, and lets come back who has a session`() {
    let (server, clients) = Self.crowd(5)
    #expect(clients.map(\.isRegistered) == [true, true, true, true, false])
    #expect(clients[4].response?.status == .full)
    #expect(server.events.last == .refused(clients[4].id, .sourceFull, from: clients[4].address))
    server.run(.seconds(2))
    server.join(clients[0])
    #expect(clients[0].isRegistered && server.gauges.clients == 4)
  }

  /// Goal: an identity has no more sessions at a full address than it had, and its programs do not
  /// put out each other.
  @Test func `where there is no room a program takes the place of a silent one alone`() {
    let (server, clients) = Self.crowd(4)
    let other = TestClient(1, SocketAddress(v4: 10, 4, 0, 1, port: 3000))
    other.presence = Presence(PresenceID(rawValue: 5), .answering)
    server.run(.seconds(2))
    server.join(other)
    #expect(other.response?.status == .full && !other.isRegistered)
    server.run(ServerLimits().period * 3 + .seconds(4), pinging: Array(clients.dropFirst()))
    server.join(other)
    #expect(other.isRegistered && server.gauges.clients == 4)
    // Where there is room for it, it has one more.
    let far = TestClient(1, SocketAddress(v4: 10, 5, 0, 1, port: 2000))
    far.presence = Presence(PresenceID(rawValue: 99), .answering)
    server.run(.seconds(2))
    server.join(far)
    #expect(far.isRegistered && server.gauges.clients == 5)
  }

  /// Method: 40 /64s of one /56, each within the limits of an address.
  @Test func `counts the sessions of a site together`() {
    var limits = ServerLimits()
    limits.sessionsPerSite = 20
    let server = Server(limits: limits)
    let clients = (0..<40).map { number in
      TestClient(
        UInt64(number + 1),
        SocketAddress(family: .v6, high: 0x2001_0DB8_0001_0000 | UInt64(number), low: 1, port: 7))
    }
    for client in clients {
      server.join(client)
      server.run(.milliseconds(60))
    }
    #expect(clients.count(where: \.isRegistered) == 20)
    let other = TestClient(
      99, SocketAddress(family: .v6, high: 0x2001_0DB8_0001_0100, low: 1, port: 7))
    server.join(other)
    #expect(other.isRegistered)
  }

  /// Found by an attack on a rendezvous that had no client: it then said so for ever (L1).
  @Test func `a server without clients says when INITs need cookies no more`() {
    let server = Server()
    server.keepsStrays = false
    for number in UInt64(0)..<200 {
      let junk = TestClient.junkInitiation(to: server.card, salt: number)
      server.receive(junk, from: SocketAddress(v4: 51, 1, 1, UInt8(number), port: 3))
    }
    #expect(server.gauges.isUnderLoad)
    server.run(.seconds(3))
    #expect(!server.gauges.isUnderLoad)
    server.run(.seconds(30))
    #expect(server.nextDeadline == nil)
  }

  /// Whoever has a whole network cannot fill the store with cards, and push out those of others.
  @Test func `keeps so many new cards of a source a day; those of before and named ones always`() {
    var limits = ServerLimits()
    limits.newCards = PrefixRates(
      host: Rate(perDay: 3), site: Rate(perDay: 6), network: Rate(perDay: 5))
    let server = Server(limits: limits)
    var clients: [TestClient] = []
    for number in UInt64(1)...5 {
      let client = TestClient(number)
      client.address = SocketAddress(v4: 60, 1, 1, 1, port: UInt16(number))
      server.join(client)
      #expect(client.isRegistered)
      clients.append(client)
    }
    func hasCard(_ client: TestClient) -> Bool { (try? server.store.card(of: client.id)) != nil }
    #expect(clients.map(hasCard) == [true, true, true, false, false])
    #expect(server.counters.cardsNotKept == 2)
    // A name has a limit of its own, and the next host of the network has two left.
    server.run(.seconds(2))
    server.join(clients[4], name: "eve")
    #expect(hasCard(clients[4]))
    for number in UInt64(6)...8 {
      let client = TestClient(number)
      client.address = SocketAddress(v4: 60, 1, 1, 2, port: UInt16(number))
      server.join(client)
      clients.append(client)
    }
    #expect(clients.suffix(3).map(hasCard) == [true, true, false])
    // Who is known costs nothing.
    clients[0].renewCard(unixSeconds: Server.unixSeconds + 3600)
    let before = (try? server.store.serial(of: clients[0].id)) ?? 0
    server.join(clients[0])
    #expect((try? server.store.serial(of: clients[0].id)) ?? 0 > before)
  }

  /// Method: 50 000 CARD_REQUESTs from as many addresses within a second, INITs under load beside
  /// them: each that lacks a cookie is to get one (M5).
  @Test func `answers with cookies whatever number of cards is asked for`() {
    let server = Server()
    server.keepsStrays = false
    var request: [UInt8] = []
    CardRequestPacket(nonce: 5).write(to: &request)
    for number in UInt64(100)..<180 {
      let flooder = TestClient(number)
      server.receive(flooder.initiation(to: server.card), from: flooder.address)
    }
    #expect(server.gauges.isUnderLoad)
    let before = server.counters.cookiesSent
    for number in 0..<50_000 {
      server.receive(
        request,
        from: SocketAddress(
          v4: 50, UInt8(number >> 16), UInt8(number >> 8 & 255), UInt8(number & 255), port: 3))
      guard number % 1000 == 0 else { continue }
      let junk = TestClient.junkInitiation(to: server.card, salt: UInt64(number))
      server.receive(junk, from: SocketAddress(v4: 51, 1, 1, UInt8(number / 1000), port: 3))
      server.run(.milliseconds(15))
    }
    #expect(server.counters.cookiesSent == before + 50)
    server.run(.seconds(2))
    #expect(!server.gauges.isUnderLoad)
    #expect(server.events.last == .loadChanged(isUnderLoad: false))
  }

  /// Method: spoofed INITs at an even pace that stays below the load of key agreements (L8).
  @Test func `asks for cookies when unconfirmed sessions pile up, at whatever pace`() {
    var limits = ServerLimits()
    limits.unconfirmedSessions = 64
    let server = Server(limits: limits)
    server.keepsStrays = false
    for number in UInt64(1)...200 {
      let flooder = TestClient(1000 + number)
      server.receive(flooder.initiation(to: server.card), from: flooder.address)
      server.run(.milliseconds(5))
    }
    #expect(server.counters.cookiesSent > 100)
    #expect(server.gauges.unconfirmedSessions < 64)
    let alice = TestClient(1)
    server.attach(alice)
    let initiation = alice.initiation(to: server.card)
    alice.lastMAC1 = Array(initiation[InitPacket.mac1Range])
    server.receive(initiation, from: alice.address)
    server.receive(alice.proven(initiation, to: server.card), from: alice.address)
    #expect(alice.isRegistered)
  }

  /// Method: a client forwards to nobody, far beyond its rate, for ten seconds (L10).
  @Test func `writes no more than ten refusals a second into its events`() {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice)
    for _ in 0..<100 {
      for _ in 0..<20 {
        let forward = Forward(
          id: ForwardID(random: &alice.random), to: TestClient(2).id, lifeSeconds: 8, body: [])
        alice.request(.forward(forward), now: server.now)
      }
      server.run(.milliseconds(100))
    }
    let refusals = server.events.count { event in
      if case .forwardRefused = event { true } else { false }
    }
    #expect(server.counters.forwardsRefused >= 1500)
    #expect((50...125).contains(refusals), "\(refusals)")
  }
}
