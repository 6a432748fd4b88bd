package import Calling
package import Cryptography
package import Peer
package import Primitives
package import Wire

/// A person with a program: one identity on one host, its `PeerMachine`, and a user's habits.
package final class SimulatedPeer {
  package struct Heard: Sendable {
    /// In the world's time.
    package var at: Instant
    package var mediaTime: UInt16
  }

  package let name: PeerName
  package let host: SimulatedHost<PeerMachine>
  package var habits = Habits()
  /// Decides anew for each call, when set.
  package var decide: (() -> Habits)?
  package private(set) var events: [(at: Instant, event: PeerEvent)] = []
  package private(set) var heard: [Heard] = []
  package private(set) var isRegistered = false
  package private(set) var registrations: [Instant] = []
  /// Accepted by the machine for sending, over all calls.
  package private(set) var framesSent = 0
  package var userExtension = ""
  /// Changes what a new machine is configured with.
  package var configure: ((inout PeerConfiguration) -> Void)?

  let world: CallWorld
  let clock: SimulatedClock
  /// How far this host's wall clock is ahead of the true time, ms.
  private let wallClockError: Int64
  private let identitySeed: UInt64
  private var random: RandomSource
  private var lives = 0
  private var mediaTime: UInt16 = 0
  private var pumping: [CallID] = []

  init(
    _ name: PeerName, on host: SimulatedNetwork.HostID, in world: CallWorld, random: RandomSource
  ) {
    self.name = name
    self.world = world
    var random = random
    clock = SimulatedClock(
      origin: .zero + random.duration(.zero ... .seconds(1_000_000)),
      partsPerMillion: Int64(random.below(101)) - 50)
    wallClockError = Int64(random.below(7_200_000)) - 3_600_000
    identitySeed = random.next()
    self.random = random
    self.host = SimulatedHost(host, on: world.network, clock: clock)
    self.host.observe = { [unowned self] event, now in observe(event, now) }
  }

  package var hostID: SimulatedNetwork.HostID { host.host }
  package var site: SimulatedNetwork.SiteID { world.network.site(of: hostID) }
  package private(set) var id = PeerID.zero

  // MARK: - The program

  package func start() {
    lives += 1
    var configuration = PeerConfiguration(
      rendezvous: world.rendezvous.address, rendezvousID: world.rendezvous.id)
    configuration.name = name
    configuration.hostCandidates = [world.network.address(of: hostID)]
    configuration.wallClockAtZero =
      CallWorld.wallClockAtStart + wallClockError - Int64(clock.origin / 1_000_000)
    configure?(&configuration)
    let identity = world.identity(seed: identitySeed, wallClock: world.wallClock + wallClockError)
    id = identity.id
    var machine = PeerMachine(
      configuration, identity: identity, random: random.split(), now: clock.local(world.now))
    machine.register(now: clock.local(world.now))
    host.start(machine, now: world.now)
  }

  package func crash() {
    world.ledger.crash(hostID)
    pumping.removeAll()
    isRegistered = false
    host.crash(now: world.now)
  }

  /// To another network: the program learns of its new address, as interfaces tell it.
  package func move(to site: SimulatedNetwork.SiteID) {
    world.network.move(hostID, to: site, now: world.now)
    let candidates = [world.network.address(of: hostID)]
    host.command(now: world.now) { machine, now in
      machine.localAddressChanged(candidates, now: now)
    }
  }

  package func statistics() -> PeerStatistics? {
    host.command(now: world.now) { machine, now in machine.statistics(now: now) }
  }

  // MARK: - The user

  /// Invites; `nil` when the program refuses, or does not run.
  @discardableResult
  package func call(_ target: CallTarget) -> CallID? {
    var options = InviteOptions()
    options.userExtension = userExtension
    let call: CallID?
    do throws(CallRefusal) {
      call = try host.command(now: world.now) { machine, now throws(CallRefusal) in
        try machine.invite(target, options, now: now)
      }
    } catch {
      world.log.note(at: world.now, "\(name) may not call: \(error)")
      return nil
    }
    guard let call else { return nil }
    world.log.note(at: world.now, "\(name) calls: \(call)")
    return call
  }

  @discardableResult
  package func accept(_ call: CallID) -> Bool {
    act("accepts", call) { machine, now throws(CallRefusal) in
      var options = AnswerOptions()
      options.userExtension = userExtension
      try machine.accept(call, options, now: now)
    }
  }

  @discardableResult
  package func reject(_ call: CallID) -> Bool {
    act("rejects", call) { machine, now throws(CallRefusal) in
      try machine.reject(call, reason: .declined, text: "not now", now: now)
    }
  }

  @discardableResult
  package func cancel(_ call: CallID) -> Bool {
    act("cancels", call) { machine, now throws(CallRefusal) in
      try machine.cancel(call, reason: .userCancelled, text: "", now: now)
    }
  }

  @discardableResult
  package func hangUp(_ call: CallID) -> Bool {
    act("hangs up", call) { machine, now throws(CallRefusal) in
      try machine.hangUp(call, reason: .userHungUp, text: "", now: now)
    }
  }

  /// Whether the program did it.
  private func act(
    _ what: String, _ call: CallID,
    _ body: (inout PeerMachine, Instant) throws(CallRefusal) -> Void
  ) -> Bool {
    world.noteAct()
    do throws(CallRefusal) {
      let isDone = try host.command(now: world.now, body) != nil
      world.log.note(at: world.now, "\(name) \(what): \(call)")
      return isDone
    } catch {
      world.log.note(at: world.now, "\(name) \(what), refused (\(error)): \(call)")
      return false
    }
  }
}
