import Calling
import LastMile
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Several programs of one identity (docs/protocol/rendezvous.md §2, calling.md §3).
@Suite struct SeveralProgramsTests {
  /// Alice and Bob, and another program of Bob.
  private final class Home {
    let peers: TwoPeers
    let other: SimulatedPeer
    var world: CallWorld { peers.world }
    var alice: SimulatedPeer { peers.alice }
    var bob: SimulatedPeer { peers.bob }

    init(
      seed: UInt64 = 1, _ kind: PresenceKind = .answering, roundTrip: Duration = .milliseconds(100)
    ) {
      peers = TwoPeers(seed: seed, roundTrip: roundTrip)
      other = peers.world.addProgram(
        of: peers.bob, .clean(oneWay: roundTrip / 4), kind)
      let isReady = peers.world.run(atMost: .seconds(10)) { [other] in other.isRegistered }
      #expect(isReady)
      peers.world.run(.seconds(1))
    }

    func rings(_ call: CallID, at peer: SimulatedPeer) -> Bool {
      peers.time(.incoming, of: call, at: peer) != nil
    }

    func cause(of call: CallID, at peer: SimulatedPeer) -> CallCause? {
      peers.summary(of: call, at: peer)?.cause
    }
  }

  private func failures(of peer: SimulatedPeer) -> [RegistrationFailure] {
    peer.events.compactMap {
      if case .registration(.failed(let failure)) = $0.event { failure } else { nil }
    }
  }

  @Test(arguments: [PresenceKind.guest, .calling, .answering])
  func `no program displaces one that waits for calls`(kind: PresenceKind) throws {
    let home = Home(kind)
    #expect(home.bob.isRegistered && failures(of: home.bob).isEmpty)
    home.bob.habits.answer = .accept(after: .seconds(1))
    home.other.habits.answer = .never
    let call = try #require(home.alice.call(.id(home.bob.id)))
    #expect(home.world.run(atMost: .seconds(5)) { home.peers.isConnected(call) })
    #expect(home.rings(call, at: home.other) == (kind == .answering))
    home.alice.end(call)
    home.world.run(.seconds(3))
    home.peers.expectNoViolations()
  }

  @Test func `both ring, one accepts, and the other hears that it was answered elsewhere`() throws {
    for second in [false, true] {
      let home = Home()
      let (winner, loser) = second ? (home.other, home.bob) : (home.bob, home.other)
      winner.habits.answer = .accept(after: .seconds(1))
      loser.habits.answer = .never
      let call = try #require(home.alice.call(.name(home.bob.name)))
      home.world.run(atMost: .seconds(5)) { home.cause(of: call, at: loser) != nil }
      #expect(home.rings(call, at: home.bob) && home.rings(call, at: home.other))
      #expect(home.cause(of: call, at: loser) == .answeredElsewhere)
      #expect(
        home.world.run(atMost: .seconds(2)) {
          home.peers.time(.connected, of: call, at: winner) != nil
            && home.peers.time(.connected, of: call, at: home.alice) != nil
        })
      home.alice.end(call)
      home.world.run(.seconds(3))
      home.peers.expectNoViolations()
    }
  }

  /// The path to each is sought while it rings: whoever accepts is connected as soon.
  @Test func `the one that rang second is connected as quickly as the first`() throws {
    var times: [Int64] = []
    for second in [false, true] {
      let home = Home()
      let (winner, loser) = second ? (home.other, home.bob) : (home.bob, home.other)
      winner.habits.answer = .accept(after: .seconds(1))
      loser.habits.answer = .never
      let call = try #require(home.alice.call(.id(home.bob.id)))
      home.world.run(.seconds(4))
      times.append(
        TwoPeers.milliseconds(
          home.peers.time(.accepted, of: call, at: winner),
          home.peers.time(.connected, of: call, at: home.alice)))
    }
    #expect(times[0] <= 160 && times[1] <= times[0] + 20, "\(times)")
  }

  @Test func `both accept at the same moment, and one of them has the call`() throws {
    for seed in UInt64(1)...8 {
      let home = Home(seed: seed)
      home.bob.habits.answer = .accept(after: .milliseconds(1000))
      home.other.habits.answer = .accept(after: .milliseconds(990 + Int64(seed) * 2))
      let call = try #require(home.alice.call(.id(home.bob.id)))
      home.world.run(.seconds(5))
      let connected = [home.bob, home.other].filter {
        home.peers.time(.connected, of: call, at: $0) != nil
      }
      let elsewhere = [home.bob, home.other].filter {
        home.cause(of: call, at: $0) == .answeredElsewhere
      }
      #expect(connected.count == 1 && elsewhere.count == 1, "seed \(seed)")
      home.alice.end(call)
      home.world.run(.seconds(3))
      home.peers.expectNoViolations()
    }
  }

  @Test func `a caller hears busy only if every program is busy`() throws {
    let home = Home()
    for peer in [home.bob, home.other] { peer.habits.answer = .accept(after: .milliseconds(500)) }
    home.other.habits.answer = .never
    let carol = home.world.addPeer(CallWorld.names[2], .clean(oneWay: .milliseconds(25)))
    let dave = home.world.addPeer(CallWorld.names[3], .clean(oneWay: .milliseconds(25)))
    home.world.run(.seconds(3))
    let first = try #require(home.alice.call(.id(home.bob.id)))
    home.world.run(.seconds(3))
    #expect(home.peers.time(.connected, of: first, at: home.bob) != nil)
    home.other.habits.answer = .accept(after: .milliseconds(500))
    let second = try #require(carol.call(.id(home.bob.id)))
    home.world.run(.seconds(3))
    #expect(home.peers.time(.connected, of: second, at: home.other) != nil)
    #expect(!home.rings(second, at: home.bob))
    let third = try #require(dave.call(.id(home.bob.id)))
    home.world.run(.seconds(1))
    #expect(home.peers.outcome(of: third, at: dave) == .busy)
    #expect(home.peers.outcome(of: first, at: home.alice) == nil)
    for (call, peer) in [(first, home.alice), (second, carol)] { peer.end(call) }
    home.world.run(.seconds(3))
    home.peers.expectNoViolations()
  }

  @Test func `declined at one program, it is declined at all`() throws {
    let home = Home()
    home.bob.habits.answer = .reject(after: .seconds(1))
    home.other.habits.answer = .never
    let call = try #require(home.alice.call(.id(home.bob.id)))
    home.world.run(.seconds(3))
    #expect(home.peers.outcome(of: call, at: home.alice) == .rejected)
    #expect(home.cause(of: call, at: home.other) == .declinedElsewhere)
    home.peers.expectNoViolations()
  }

  @Test func `a program that calls is busy for others, and a guest is not there`() throws {
    let peers = TwoPeers()
    let carol = peers.world.addPeer(CallWorld.names[2], .clean(oneWay: .milliseconds(25))) {
      $0.presence = .calling
    }
    peers.world.run(.seconds(3))
    peers.bob.habits.answer = .accept(after: .seconds(1))
    let call = try #require(carol.call(.id(peers.bob.id)))
    peers.world.run(.milliseconds(300))
    let other = try #require(peers.alice.call(.id(carol.id)))
    peers.world.run(.seconds(3))
    #expect(peers.outcome(of: other, at: peers.alice) == .busy)
    #expect(peers.time(.connected, of: call, at: carol) != nil)
    let guest = peers.world.addPeer(CallWorld.names[3], .lan) { $0.presence = .guest }
    peers.world.run(.seconds(3))
    _ = peers.alice.call(.id(guest.id))
    peers.world.run(.seconds(8))
    let unresolved = peers.alice.events.contains {
      if case .unresolved(_, .notOnline) = $0.event { true } else { false }
    }
    #expect(unresolved)
  }

  /// The first answer comes a round trip after the question, and it ends with the last one.
  @Test(arguments: [(1, 1000), (25, 1000), (300, 1500)] as [(Int64, Int64)])
  func `who calls somebody unknown is told at the first answer, and asks for 0.7 s`(
    oneWay: Int64, end: Int64
  ) throws {
    let peers = TwoPeers()
    let carol = peers.world.addPeer(CallWorld.names[2], .clean(oneWay: .milliseconds(oneWay))) {
      $0.presence = .calling
    }
    peers.world.run(.seconds(5))
    let began = peers.world.now
    _ = try #require(carol.call(.name(CallWorld.names[5])))
    peers.world.run(.seconds(5))
    let told = carol.events.compactMap { entry -> Instant? in
      if case .link(_, .lookingAgain(.unknown)) = entry.event { entry.at } else { nil }
    }
    let ended = carol.events.compactMap { entry -> Instant? in
      if case .unresolved(_, .unknown) = entry.event { entry.at } else { nil }
    }
    #expect(told.count == 1 && ended.count == 1)
    #expect(try #require(told.first) - began < .milliseconds(2 * oneWay + 100))
    let after = try #require(ended.first) - began
    // The hosts' clocks differ a little.
    #expect(after >= .milliseconds(699) && after < .milliseconds(end))
  }

  /// Method: carol calls a name that nobody has. Its owner starts for the first time 0.4 s later,
  /// and calls her once registered.
  @Test(arguments: [1] as [Int64])
  func `who starts for the first time while being called is met`(oneWay: Int64) throws {
    let peers = TwoPeers()
    let line = AccessConditions.clean(oneWay: .milliseconds(oneWay))
    let carol = peers.world.addPeer(CallWorld.names[2], line) { $0.presence = .calling }
    peers.world.run(.seconds(5))
    _ = try #require(carol.call(.name(CallWorld.names[3])))
    peers.world.run(.milliseconds(400))
    let dave = peers.world.addPeer(CallWorld.names[3], line) { $0.presence = .calling }
    let isThere = peers.world.run(atMost: .milliseconds(200)) { dave.isRegistered }
    #expect(isThere)
    _ = try #require(dave.call(.name(carol.name)))
    peers.world.run(.seconds(3))
    let connected = [carol, dave].map { peer in
      peers.world.testimony.sides.filter {
        $0.host == peer.hostID && $0.time(of: .connected) != nil
      }.map(\.call)
    }
    #expect(connected[0].count == 1 && connected[0] == connected[1])
  }

  /// Each is registered for its own call alone.
  @Test func `a second program of somebody who talks is busy, and the talk goes on`() throws {
    let home = Home()
    home.other.habits.answer = .never
    let call = try home.peers.connect()
    home.world.run(.seconds(5))
    let second = try #require(home.other.call(.id(home.alice.id)))
    home.world.run(.seconds(1))
    #expect(home.peers.outcome(of: second, at: home.other) == .busy)
    #expect(home.peers.outcome(of: call, at: home.alice) == nil)
    home.peers.expectHungUp()
  }

  @Test func `two programs that call each other at once have one call`() throws {
    for seed in UInt64(1)...8 {
      let peers = TwoPeers(seed: seed, configure: { $0.presence = .calling })
      for peer in [peers.alice, peers.bob] { peer.habits.answer = .never }
      _ = peers.alice.call(.id(peers.bob.id))
      peers.world.run(.milliseconds(5) * Int(seed))
      _ = peers.bob.call(.id(peers.alice.id))
      peers.world.run(.seconds(3))
      let connected = [peers.alice, peers.bob].map { peer in
        peers.world.testimony.sides.filter {
          $0.host == peer.hostID && $0.time(of: .connected) != nil
        }.map(\.call)
      }
      #expect(connected[0].count == 1 && connected[0] == connected[1], "seed \(seed)")
    }
  }

  /// The other's invitation may be there before this one has called at all.
  @Test(arguments: [Int64(1), 30, 60, 100, 400, 900], [true, false])
  func `a program that is about to call takes the call of whom it calls`(
    later: Int64, isByName: Bool
  ) throws {
    let peers = TwoPeers(seed: UInt64(later), configure: { $0.presence = .calling })
    for peer in [peers.alice, peers.bob] { peer.habits.answer = .never }
    registerAnew(peers.bob, in: peers)
    let theirs = try #require(peers.alice.call(.id(peers.bob.id)))
    peers.world.run(.milliseconds(later))
    let ours = try #require(
      peers.bob.call(isByName ? .name(peers.alice.name) : .id(peers.alice.id)))
    peers.world.run(.seconds(3))
    let connected = [peers.alice, peers.bob].map { peer in
      peers.world.testimony.sides.filter {
        $0.host == peer.hostID && $0.time(of: .connected) != nil
      }.map(\.call)
    }
    #expect(connected[0] == connected[1])
    #expect(connected[0] == [theirs] || connected[0] == [ours])
  }

  /// It rings where somebody is about to call; when it has become clear that it is nobody that is
  /// called, it is told "busy". So is whoever calls a program that never calls.
  @Test func `a program that is about to call is busy for others`() throws {
    let peers = TwoPeers(configure: { $0.presence = .calling })
    let carol = peers.world.addPeer(CallWorld.names[2], .clean(oneWay: .milliseconds(10)))
    peers.alice.habits.answer = .never
    peers.bob.habits.answer = .never
    peers.world.run(.seconds(3))
    let idle = try #require(carol.call(.id(peers.bob.id)))
    peers.world.run(.seconds(1))
    #expect(peers.outcome(of: idle, at: carol) == .busy)
    #expect(peers.time(.incoming, of: idle, at: peers.bob) == nil)
    registerAnew(peers.bob, in: peers)
    let early = try #require(carol.call(.id(peers.bob.id)))
    peers.world.run(.milliseconds(200))
    #expect(peers.time(.incoming, of: early, at: peers.bob) != nil)
    _ = peers.bob.call(.id(peers.alice.id))
    peers.world.run(.seconds(1))
    #expect(peers.outcome(of: early, at: carol) == .busy)
  }

  private func registerAnew(_ peer: SimulatedPeer, in peers: TwoPeers) {
    peer.host.command(now: peers.world.now) { machine, now in machine.shutDown(now: now) }
    peers.world.run(.seconds(1))
    peer.crash()
    peer.start()
    #expect(peers.world.run(atMost: .seconds(5)) { peer.isRegistered })
  }

  /// Both start a program that calls the other, at one moment; one of them is nearer to the server
  /// and asks for the other before it is there.
  @Test(arguments: [Int64(0), 10, 30])
  func `two programs started to call each other have one call, whoever is nearer`(
    further: Int64
  ) throws {
    for seed in UInt64(1)...5 {
      let world = CallWorld(seed: seed, rendezvousAccess: .clean(oneWay: .milliseconds(5)))
      let peers = [Duration.milliseconds(5), .milliseconds(5 + further)].enumerated().map {
        world.addPeer(CallWorld.names[$0.offset], .clean(oneWay: $0.element)) {
          $0.presence = .calling
        }
      }
      world.run(.seconds(2))
      for peer in peers {
        peer.host.command(now: world.now) { machine, now in machine.shutDown(now: now) }
      }
      world.run(.seconds(2))
      for (index, peer) in peers.enumerated() {
        peer.crash()
        peer.start()
        peer.habits.answer = .never
        _ = peer.call(.name(CallWorld.names[1 - index]))
      }
      world.run(.seconds(4))
      let connected = peers.map { peer in
        world.testimony.sides.filter {
          $0.host == peer.hostID && $0.time(of: .connected) != nil
        }.map(\.call)
      }
      #expect(connected[0].count == 1 && connected[0] == connected[1], "seed \(seed)")
    }
  }

  @Test(arguments: 1...24)
  func `a program that comes back in the middle of a ring takes part as before`(
    seed: UInt64
  ) throws {
    let home = Home(seed: seed)
    home.bob.habits.answer = .never
    home.other.habits.answer = .accept(after: .seconds(7))
    let call = try #require(home.alice.call(.id(home.bob.id)))
    home.world.run(.seconds(1))
    // The server forgets everybody; each comes back under the ID that it had.
    home.world.rendezvous.crash()
    home.world.run(.seconds(1))
    home.world.rendezvous.start()
    home.world.run(.seconds(8))
    #expect(home.peers.time(.connected, of: call, at: home.other) != nil)
    home.world.run(.seconds(2))
    #expect(home.cause(of: call, at: home.bob) == .answeredElsewhere)
    #expect(failures(of: home.bob).isEmpty && failures(of: home.other).isEmpty)
  }

  @Test func `one program that died without a word does not keep the other from ringing`() throws {
    let home = Home()
    home.other.crash()
    home.bob.habits.answer = .accept(after: .seconds(1))
    let call = try #require(home.alice.call(.id(home.bob.id)))
    #expect(home.world.run(atMost: .seconds(4)) { home.peers.isConnected(call) })
  }

  @Test func `a probe of a peer goes to one of its programs, and disturbs none`() throws {
    let home = Home()
    let now = home.world.now
    home.alice.host.command(now: now) { machine, now in
      do throws(PeerRefusal) {
        try machine.probe(.id(home.bob.id), ProbePlan(), now: now)
      } catch {
        Issue.record("\(error)")
      }
    }
    home.world.run(.seconds(12))
    let ends = home.alice.events.compactMap { entry -> LineReport.Ending? in
      if case .probe(.finished(let report)) = entry.event { report.ending } else { nil }
    }
    #expect(ends == [.finished])
    #expect(failures(of: home.bob).isEmpty && failures(of: home.other).isEmpty)
  }
}
