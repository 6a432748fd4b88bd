import Calling
import Cryptography
import Primitives
import Rendezvous
import SecureSession
import Simulation
import Testing
import Tokens
import Wire

@testable import Peer

/// Access tokens of whole programs: the warning, the renewal, the end, by intervals and not by wall
/// clocks (docs/protocol/rendezvous.md §5).
@Suite struct TokenScenarioTests {
  /// A world whose rendezvous wants tokens.
  private final class Office {
    let world: CallWorld
    private let key: String

    /// - Parameter ahead: Seconds that the rendezvous' wall clock is ahead of the true time.
    init(seed: UInt64 = 5, ahead: Int64 = 0, access: AccessConditions = .lan) {
      var random = RandomSource(seed: seed)
      let key = TokenSigningKey(random: &random)
      self.key = key.secretText()
      let publicKey = key.publicKey
      world = CallWorld(seed: seed, rendezvousAccess: access) { rendezvous in
        rendezvous.tokenKey = publicKey
        rendezvous.wallClockError = ahead * 1000
      }
      world.mediaInterval = .milliseconds(20)
    }

    /// A token that lasts so long from now on, by the clock of the rendezvous.
    ///
    /// - Parameter wait: How long its time has not begun.
    func token(for id: PeerID, _ life: Duration, after wait: Duration? = nil) -> [UInt8] {
      let now = UInt64(world.wallClock + world.rendezvous.wallClockError)
      let claims = TokenClaims(
        audience: "\(world.rendezvous.id)", subject: id, issuedAt: now,
        notBefore: wait.map { now + UInt64($0.milliseconds) },
        expires: now + UInt64(life.milliseconds))
      switch TokenSigningKey(key) {
      case .some(let key): return Array(PublicToken(signing: claims.json, by: key).text.utf8)
      case .none: preconditionFailure("the key was made here")
      }
    }

    /// When a token that is signed now for so long is over: claims have whole seconds.
    func expiry(_ life: Duration) -> Instant {
      let wall = world.wallClock + world.rendezvous.wallClockError
      return world.now + life - .milliseconds((wall % 1000 + 1000) % 1000)
    }

    func renew(_ peer: SimulatedPeer, _ life: Duration) {
      show(peer, token(for: peer.id, life))
    }

    func show(_ peer: SimulatedPeer, _ token: [UInt8]) {
      _ = peer.host.command(now: world.now) { machine, now in machine.renewToken(token, now: now) }
    }

    /// A person who has a token of so long; when it was signed.
    func addPeer(
      _ index: Int, _ life: Duration, configure: ((inout PeerConfiguration) -> Void)? = nil
    ) -> SimulatedPeer {
      let card = world.rendezvous.card
      let peer = world.addPeer(CallWorld.names[index]) { configuration in
        configuration.rendezvousCard = card
        configure?(&configuration)
      }
      // Without one it is refused, and waits for one.
      let isRefused = world.run(atMost: .seconds(5)) {
        Self.failures(of: peer).last?.failure == .token(nil)
      }
      #expect(isRefused)
      renew(peer, life)
      return peer
    }

    static func failures(
      of peer: SimulatedPeer
    ) -> [(at: Instant, failure: RegistrationFailure)] {
      peer.events.compactMap { entry in
        guard case .registration(.failed(let failure)) = entry.event else { return nil }
        return (entry.at, failure)
      }
    }

    static func steps(of peer: SimulatedPeer) -> [(at: Instant, step: TokenStep)] {
      peer.events.compactMap { entry in
        guard case .token(let step) = entry.event else { return nil }
        return (entry.at, step)
      }
    }
  }

  private static func milliseconds(_ from: Instant, _ to: Instant) -> Int64 {
    (to - from).milliseconds
  }

  private static let clocks: [(client: Int64, server: Int64)] = [
    (0, 0), (3600, 0), (-3600, 0), (3650 * 86_400, 0), (-3650 * 86_400, 0), (0, 3600), (0, -3600),
    (0, 3650 * 86_400), (0, -3650 * 86_400),
  ]

  /// Method: a token of 60 s, and nobody renews it.
  @Test(arguments: clocks)
  func `the warning and the end come in time, whatever the wall clocks show`(
    client: Int64, server: Int64
  ) throws {
    let office = Office(ahead: server)
    let peer = office.addPeer(0, .seconds(60)) { $0.wallClockAtZero += client * 1000 }
    let expiry = office.expiry(.seconds(60))
    #expect(office.world.run(atMost: .seconds(5)) { peer.isRegistered })
    office.world.run(.seconds(90))
    let steps = Office.steps(of: peer)
    #expect(steps.count == 1)
    let warning = try #require(steps.first)
    #expect((29_500...30_500).contains(Self.milliseconds(warning.at, expiry)))
    guard case .willExpire(let left) = warning.step else {
      Issue.record("\(warning.step)")
      return
    }
    #expect((29_500...30_500).contains(left.milliseconds))
    let end = try #require(Office.failures(of: peer).last)
    #expect(end.failure == .token(.expired))
    // Wall clocks are read in whole milliseconds.
    #expect((-2...1_000).contains(Self.milliseconds(expiry, end.at)))
  }

  /// Method: the registration's token has 10 s left when it begins.
  @Test func `with less than 30 s left the warning comes at once`() throws {
    let office = Office()
    let peer = office.addPeer(0, .seconds(10))
    let signed = office.world.now
    office.world.run(.seconds(5))
    let warning = try #require(Office.steps(of: peer).first)
    #expect(Self.milliseconds(signed, warning.at) < 500)
    #expect(Office.steps(of: peer).count == 1)
  }

  /// Method: a call of which one side renews its token at the warning, twice, and the other does
  /// not.
  @Test func `a renewal interrupts nothing, and no end of a registration touches a call`() throws {
    let office = Office()
    let world = office.world
    let alice = office.addPeer(0, .seconds(60))
    let bob = office.addPeer(1, .seconds(60))
    #expect(world.run(atMost: .seconds(5)) { alice.isRegistered && bob.isRegistered })
    bob.habits.answer = .accept(after: .seconds(1))
    alice.habits.talk = .seconds(110)
    let call = try #require(alice.call(.id(bob.id)))
    let isHeard = world.run(atMost: .seconds(12)) { !alice.heard.isEmpty && !bob.heard.isEmpty }
    try #require(isHeard)
    let start = world.now
    #expect(world.run(atMost: .seconds(60)) { Office.steps(of: alice).count == 1 })
    office.renew(alice, .seconds(45))
    #expect(world.run(atMost: .seconds(60)) { Office.steps(of: alice).count == 3 })
    office.renew(alice, .seconds(600))
    world.run(.seconds(40))
    let steps = Office.steps(of: alice).map(\.step)
    #expect(steps.count == 4 && steps[1] == .renewed && steps[3] == .renewed, "\(steps)")
    // Her registration never ended; his did.
    #expect(Office.failures(of: alice).map(\.failure) == [.token(nil)])
    #expect(alice.registrations.count == 1)
    #expect(Office.failures(of: bob).map(\.failure) == [.token(nil), .token(.expired)])
    for peer in [alice, bob] {
      let times = peer.heard.map(\.at).filter { $0 >= start }
      let gap = zip(times, times.dropFirst()).map { Self.milliseconds($0, $1) }.max()
      #expect(gap ?? .max <= 45, "\(peer.name)")
      #expect(times.last.map { Self.milliseconds($0, world.now) } ?? .max <= 45)
    }
    world.run(.seconds(40))
    #expect(world.testimony.side(call, at: alice.hostID)?.outcome == .completed)
    let order = EventOrder("37-token")
    order.record("alice renews at each warning, bob never", world, since: start)
    try order.expectGolden()
  }

  /// Method: a callee's token ends; a caller looks it up within the next seconds; then the callee
  /// gets another token.
  @Test func `after the end nobody finds it, and with a newer token it is back`() throws {
    let office = Office()
    let world = office.world
    let alice = office.addPeer(0, .seconds(3600))
    let bob = office.addPeer(1, .seconds(20))
    #expect(world.run(atMost: .seconds(5)) { alice.isRegistered && bob.isRegistered })
    #expect(world.run(atMost: .seconds(25)) { !bob.isRegistered })
    let call = try #require(alice.call(.id(bob.id)))
    let isUnresolved = world.run(atMost: .seconds(5)) {
      alice.events.contains { entry in
        if case .unresolved(call, .notOnline) = entry.event { true } else { false }
      }
    }
    #expect(isUnresolved)
    office.renew(bob, .seconds(60))
    #expect(world.run(atMost: .seconds(5)) { bob.isRegistered })
    #expect(Office.steps(of: bob).last?.step == .renewed)
    bob.habits.answer = .accept(after: .seconds(1))
    let second = try #require(alice.call(.id(bob.id)))
    let isUp = world.run(atMost: .seconds(12)) {
      world.testimony.side(second, at: alice.hostID)?.time(of: .connected) != nil
    }
    #expect(isUp)
  }

  /// Method: INITs and their answers are lost often, so that RESP is an older one.
  @Test func `the times hold where packets are lost`() throws {
    for seed in UInt64(1)...5 {
      let office = Office(
        seed: seed, access: .clean(oneWay: .milliseconds(50)).with { $0.loss = .random(0.3) })
      let peer = office.addPeer(0, .seconds(60))
      let expiry = office.expiry(.seconds(60))
      office.world.run(.seconds(90))
      let warnings = Office.steps(of: peer).filter { $0.step != .renewed }
      #expect(warnings.count == 1, "seed \(seed)")
      let warning = try #require(warnings.first)
      #expect(
        (29_500...30_500).contains(Self.milliseconds(warning.at, expiry)), "seed \(seed)")
      let end = try #require(Office.failures(of: peer).last)
      #expect(end.failure == .token(.expired))
      #expect((0...1_000).contains(Self.milliseconds(expiry, end.at)), "seed \(seed)")
    }
  }

  /// Method: two newer tokens within one round trip, of which the first is somebody else's.
  @Test func `a refusal is of the token that was judged`() throws {
    let office = Office()
    let peer = office.addPeer(0, .seconds(60))
    #expect(office.world.run(atMost: .seconds(5)) { peer.isRegistered })
    office.show(peer, office.token(for: office.world.rendezvous.id, .seconds(600)))
    office.renew(peer, .seconds(600))
    office.world.run(.seconds(100))
    #expect(Office.steps(of: peer).map(\.step) == [.refused(.subject), .renewed])
    #expect(Office.failures(of: peer).map(\.failure) == [.token(nil)])
    #expect(peer.isRegistered && peer.registrations.count == 1)
  }

  /// Method: the same with two good ones, of which the first is the shorter.
  @Test func `a life is of the token that was judged`() throws {
    let office = Office()
    let peer = office.addPeer(0, .seconds(60))
    #expect(office.world.run(atMost: .seconds(5)) { peer.isRegistered })
    office.renew(peer, .seconds(50))
    office.renew(peer, .seconds(3600))
    office.world.run(.seconds(100))
    #expect(Office.steps(of: peer).map(\.step) == [.renewed, .renewed])
    #expect(peer.isRegistered && peer.registrations.count == 1)
  }

  /// Method: a newer token that the rendezvous accepts after 30 s, a minute before its time.
  @Test func `a newer token whose time has not begun is shown again`() throws {
    let office = Office()
    let peer = office.addPeer(0, .seconds(90))
    #expect(office.world.run(atMost: .seconds(5)) { peer.isRegistered })
    office.show(peer, office.token(for: peer.id, .seconds(600), after: .seconds(90)))
    office.world.run(.seconds(120))
    #expect(Office.steps(of: peer).map(\.step) == [.refused(.notYetValid), .renewed])
    #expect(peer.isRegistered && peer.registrations.count == 1)
  }

  /// Method: the same, and the token before it ends after 20 s.
  @Test func `where nothing holds any more a token is waited for until its time`() throws {
    let office = Office()
    let peer = office.addPeer(0, .seconds(20))
    #expect(office.world.run(atMost: .seconds(5)) { peer.isRegistered })
    let signed = office.world.now
    office.show(peer, office.token(for: peer.id, .seconds(600), after: .seconds(90)))
    #expect(office.world.run(atMost: .seconds(45)) { peer.registrations.count == 2 })
    #expect((29_000...42_000).contains(Self.milliseconds(signed, office.world.now)))
    let failures = Office.failures(of: peer).map(\.failure)
    #expect(failures.first == .token(nil) && failures.count > 1)
    #expect(failures.dropFirst().allSatisfy { $0 == .token(.notYetValid) }, "\(failures)")
  }

  @Test func `whoever waits for the time of a token takes another one at once`() throws {
    let office = Office()
    let peer = office.addPeer(0, .seconds(10))
    #expect(office.world.run(atMost: .seconds(5)) { peer.isRegistered })
    office.show(peer, office.token(for: peer.id, .seconds(6000), after: .seconds(3000)))
    let isWaiting = office.world.run(atMost: .seconds(15)) {
      Office.failures(of: peer).last?.failure == .token(.notYetValid)
    }
    #expect(isWaiting)
    office.renew(peer, .seconds(600))
    #expect(office.world.run(atMost: .seconds(2)) { peer.isRegistered })
  }

  @Test func `an end for good leaves no attempt behind`() {
    var random = RandomSource(seed: 1)
    var identity = LocalIdentity(kind: .peer, unixSeconds: 1_000_000, random: &random)
    var link = RendezvousLink(
      PeerConfiguration(
        rendezvous: SocketAddress(v4: 192, 0, 2, 1, port: 7400), wallClockAtZero: 1_000_000_000),
      presence: .unnamed, random: random.split())
    link.start(now: .zero, identity: &identity)
    link.schedule.next = .zero
    link.stop(.token(.expired))
    let deadline = link.nextDeadline
    #expect(deadline == nil)
  }

  @Test func `a newer token that is not accepted is told, and the one before holds`() throws {
    let office = Office()
    let peer = office.addPeer(0, .seconds(60))
    #expect(office.world.run(atMost: .seconds(5)) { peer.isRegistered })
    office.show(peer, office.token(for: office.world.rendezvous.id, .seconds(600)))
    office.world.run(.seconds(20))
    #expect(Office.steps(of: peer).map(\.step) == [.refused(.subject)])
    #expect(peer.isRegistered)
  }
}
