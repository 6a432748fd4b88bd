import Calling
import Peer
import Primitives
import Rendezvous
import Simulation
import Testing
import Wire

/// Every way a call can end, and what each side says of it.
@Suite struct EndingTests {
  @Test func `a rejected call is rejected at both ends, and the next one works`() throws {
    let pair = TwoPeers()
    pair.bob.habits.answer = .reject(after: .seconds(1))
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(3))
    #expect(pair.outcome(of: call, at: pair.alice) == .rejected)
    #expect(pair.outcome(of: call, at: pair.bob) == .rejected)
    _ = try pair.connect()
    pair.expectHungUp()
  }

  @Test func `a cancelled call is cancelled at both ends, and can no longer be accepted`() throws {
    let pair = TwoPeers()
    pair.bob.habits.answer = .never
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(1))
    #expect(pair.alice.end(call))
    pair.world.run(.seconds(1))
    #expect(!pair.bob.accept(call))
    #expect(pair.outcome(of: call, at: pair.alice) == .cancelled)
    #expect(pair.outcome(of: call, at: pair.bob) == .cancelled)
    pair.expectNoViolations()
  }

  @Test(arguments: [true, false])
  func `hanging up ends the call at both sides within half a round trip`(byCaller: Bool) throws {
    let pair = TwoPeers()
    let call = try pair.connect()
    pair.world.run(.seconds(10))
    let (one, other) = byCaller ? (pair.alice, pair.bob) : (pair.bob, pair.alice)
    let start = pair.world.now
    #expect(one.end(call))
    pair.world.run(.seconds(2))
    let told = TwoPeers.milliseconds(start, pair.time(.ended, of: call, at: other))
    #expect(told <= 51, "\(told) ms")
    for peer in [one, other] { #expect(pair.outcome(of: call, at: peer) == .completed) }
    #expect(pair.summary(of: call, at: one)?.cause == .localHangUp)
    #expect(pair.summary(of: call, at: other)?.cause == .remoteHangUp)
    pair.expectNoViolations()
  }

  @Test func `nobody answers for 15 s, and both say timeout once`() throws {
    let pair = TwoPeers()
    pair.bob.habits.answer = .never
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    let start = pair.world.now
    pair.world.run(.seconds(17))
    for peer in [pair.alice, pair.bob] {
      #expect(pair.outcome(of: call, at: peer) == .timeout)
      let ended = TwoPeers.milliseconds(start, pair.time(.ended, of: call, at: peer))
      #expect((14_500...15_500).contains(ended), "\(ended) ms")
    }
    pair.expectNoViolations()
  }

  @Test func `answering at 14.5 s still connects, because connecting has a timer of its own`()
    throws
  {
    let pair = TwoPeers()
    pair.bob.habits.answer = .accept(after: .milliseconds(14_500))
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(17))
    #expect(pair.isConnected(call), "\(pair.story)")
    pair.expectHungUp()
  }

  @Test func `one in a call answers a third with busy, and talks on undisturbed`() throws {
    let pair = TwoPeers()
    let carol = pair.world.addPeer(CallWorld.names[2], .clean(oneWay: .milliseconds(25)))
    let call = try pair.connect()
    pair.world.run(.seconds(3))
    let start = pair.world.now
    let refused = try #require(carol.call(.id(pair.bob.id)))
    pair.world.run(.seconds(2))
    #expect(pair.outcome(of: refused, at: carol) == .busy)
    #expect(TwoPeers.milliseconds(start, pair.time(.ended, of: refused, at: carol)) <= 1_000)
    #expect(pair.longestGap(at: pair.alice, from: start) <= 21)
    #expect(pair.longestGap(at: pair.bob, from: start) <= 21)
    #expect(pair.isConnected(call))
    pair.expectHungUp()
  }

  /// The two have a path already while it rings: what ends the call does not need the rendezvous.
  @Test(arguments: [true, false])
  func `a cancel or a rejection arrives although the rendezvous is away`(isCancel: Bool) throws {
    for seed in UInt64(1)...10 {
      let pair = TwoPeers(seed: seed, nat: (.portRestricted, .portRestricted))
      pair.bob.habits.answer = .never
      let call = try #require(pair.alice.call(.id(pair.bob.id)))
      pair.world.run(.seconds(2))
      pair.world.rendezvous.crash()
      pair.world.run(.seconds(1))
      let start = pair.world.now
      if isCancel { pair.alice.end(call) } else { pair.bob.reject(call) }
      pair.world.run(.seconds(2))
      for peer in [pair.alice, pair.bob] {
        let ended = TwoPeers.milliseconds(start, pair.time(.ended, of: call, at: peer))
        #expect(ended <= 300, "seed \(seed): \(peer.name) after \(ended) ms\n\(pair.story)")
        #expect(pair.outcome(of: call, at: peer) == (isCancel ? .cancelled : .rejected))
      }
      pair.expectNoViolations()
    }
  }

  @Test func `a program that leaves while it rings waits for the receipt of its cancel`() throws {
    let pair = TwoPeers(nat: (.portRestricted, .portRestricted))
    pair.bob.habits.answer = .never
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(2))
    pair.world.rendezvous.crash()
    pair.world.network.setDown(up: true, down: true, of: pair.bob.site, now: pair.world.now)
    let start = pair.world.now
    pair.alice.host.command(now: start) { machine, now in machine.shutDown(now: now) }
    pair.world.run(.seconds(2))
    #expect(
      pair.alice.host.command(now: pair.world.now) { machine, _ in machine.isShutDown } == false)
    pair.world.network.setDown(up: false, down: false, of: pair.bob.site, now: pair.world.now)
    pair.world.run(.seconds(3))
    #expect(pair.outcome(of: call, at: pair.bob) == .cancelled, "\(pair.story)")
    #expect(
      pair.alice.host.command(now: pair.world.now) { machine, _ in machine.isShutDown } == true)
  }

  /// The rendezvous says goodbye, and is not back yet: what it cannot carry now it may carry soon.
  @Test func `a program that leaves while the rendezvous is restarted waits for it`() throws {
    let pair = TwoPeers(nat: (.portRestricted, .portRestricted))
    pair.bob.habits.answer = .never
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(2))
    pair.world.rendezvous.host.command(now: pair.world.now) { $0.goAway(now: $1) }
    pair.world.run(.milliseconds(300))
    pair.world.rendezvous.crash()
    pair.world.network.setDown(up: true, down: true, of: pair.bob.site, now: pair.world.now)
    let start = pair.world.now
    pair.alice.host.command(now: start) { machine, now in machine.shutDown(now: now) }
    pair.world.run(.seconds(1))
    let isGone = pair.alice.host.command(now: pair.world.now) { machine, _ in machine.isShutDown }
    #expect(isGone == false)
    pair.world.network.setDown(up: false, down: false, of: pair.bob.site, now: pair.world.now)
    pair.world.rendezvous.start()
    pair.world.run(.seconds(8))
    #expect(pair.outcome(of: call, at: pair.bob) == .cancelled, "\(pair.story)")
    let hasLeft = pair.alice.host.command(now: pair.world.now) { machine, _ in machine.isShutDown }
    #expect(hasLeft == true)
  }

  /// Each asks for itself whether the path carries: an answer to the other's question tells
  /// nothing.
  @Test func `of two that are both muted neither is ever interrupted`() throws {
    let pair = TwoPeers()
    let call = try pair.connect()
    #expect(pair.alice.mute(call) && pair.bob.mute(call))
    pair.world.run(.seconds(90))
    for peer in [pair.alice, pair.bob] {
      let isInterrupted = pair.events(of: peer).contains { event in
        if case .calling(.interrupted) = event { true } else { false }
      }
      #expect(!isInterrupted, "\(peer.name)\n\(pair.story)")
    }
    pair.expectHungUp()
  }

  @Test func `who dials its own name is told so`() throws {
    let pair = TwoPeers()
    pair.world.run(.seconds(1))
    let call = try #require(pair.alice.call(.name(pair.alice.name)))
    pair.world.run(.seconds(1))
    let isTold = pair.events(of: pair.alice).contains { event in
      if case .unresolved(call, .ownID) = event { true } else { false }
    }
    #expect(isTold, "\(pair.events(of: pair.alice))")
  }

  @Test func `who is not online is unreachable at once`() throws {
    let pair = TwoPeers()
    pair.bob.crash()
    pair.world.run(.seconds(70))
    let start = pair.world.now
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(10))
    #expect(pair.outcome(of: call, at: pair.alice) == .unreachable)
    #expect(TwoPeers.milliseconds(start, pair.time(.ended, of: call, at: pair.alice)) <= 300)
  }

  @Test func `a callee that does not acknowledge is reported after 8 s, not after 15`() throws {
    let pair = TwoPeers()
    pair.world.network.setDown(up: true, down: true, of: pair.bob.site, now: pair.world.now)
    let start = pair.world.now
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(16))
    #expect(pair.outcome(of: call, at: pair.alice) == .unreachable)
    let ended = TwoPeers.milliseconds(start, pair.time(.ended, of: call, at: pair.alice))
    #expect((7_800...8_400).contains(ended), "\(ended) ms")
  }

  @Test(arguments: [Int64(0), 200, 1_000])
  func `who dies in mid-call and calls again is connected within two seconds`(pause: Int64) throws {
    let pair = TwoPeers()
    _ = try pair.connect()
    pair.world.run(.seconds(5))
    pair.alice.crash()
    pair.world.run(.milliseconds(pause))
    pair.alice.start()
    #expect(pair.world.run(atMost: .seconds(1)) { pair.alice.isRegistered })
    pair.bob.habits.answer = .accept(after: .zero)
    let again = try #require(pair.alice.call(.id(pair.bob.id)))
    #expect(pair.world.run(atMost: .seconds(2)) { pair.isConnected(again) }, "\(pair.story)")
    pair.expectHungUp()
  }

  @Test func `a peer that dies in mid-call is lost after 20 s`() throws {
    let pair = TwoPeers()
    let call = try pair.connect()
    pair.world.run(.seconds(5))
    pair.bob.crash()
    let start = pair.world.now
    pair.world.run(.seconds(25))
    #expect(pair.outcome(of: call, at: pair.alice) == .lost)
    let ended = TwoPeers.milliseconds(start, pair.time(.ended, of: call, at: pair.alice))
    #expect((19_500...21_000).contains(ended), "\(ended) ms")
  }
}

extension TwoPeers {
  /// Ends whatever runs, and finds nothing wrong with the whole.
  func expectHungUp() {
    for side in world.testimony.sides where side.isOpen && side.isCaller {
      _ = (side.host == alice.hostID ? alice : bob).end(side.call)
    }
    world.run(.seconds(3))
    expectNoViolations()
  }
}
