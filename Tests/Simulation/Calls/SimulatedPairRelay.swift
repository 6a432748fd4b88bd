package import Forwarding
import Peer
package import Primitives
package import Rendezvous
import SecureSession
import Tokens
import Wire

/// A relay of a world (docs/protocol/relay.md): its program, and beside it the registration with
/// the rendezvous, each on a host of one site. Its identity outlives both.
package final class SimulatedPairRelay {
  /// What a rendezvous must be told before it starts.
  package let id: PeerID
  private let identityFile: [UInt8]
  private var random: RandomSource
  private var boots: UInt64 = 0
  package private(set) var host: SimulatedHost<RelayMachine>?
  private var site: SimulatedNetwork.SiteID?
  private var registration: SimulatedHost<RelayRegistrationMachine>?
  package var limits = PairLimits()

  package init(seed: UInt64) {
    var random = RandomSource(seed: seed ^ 0x7061_6972)
    let made = LocalIdentity(
      kind: .peer, unixSeconds: UInt64(CallWorld.wallClockAtStart / 1_000), random: &random)
    id = made.id
    identityFile = made.storedBytes
    self.random = random
  }

  /// Puts it on the network, and starts it.
  package func join(_ world: CallWorld, _ access: AccessConditions) {
    let site = world.network.addSite(access)
    self.site = site
    let clock = SimulatedClock(origin: .zero, partsPerMillion: 0)
    let host = SimulatedHost<RelayMachine>(
      world.network.addHost(at: site, port: 7500), on: world.network, clock: clock)
    let registration = SimulatedHost<RelayRegistrationMachine>(
      world.network.addHost(at: site, port: 7501), on: world.network, clock: clock)
    world.simulator.add(host)
    world.simulator.add(registration)
    self.host = host
    self.registration = registration
    start(in: world)
  }

  /// With all that it had bound.
  package func crash(in world: CallWorld) {
    host?.crash(now: world.now)
    registration?.crash(now: world.now)
    for peer in world.peers { world.network.addressChanges[peer.hostID.index] = world.now }
  }

  /// Nothing reaches it or comes from it for so long. Whoever is heard by it alone is silent then,
  /// and a path has to be found again.
  package func cutOff(for duration: Duration, in world: CallWorld) {
    guard let site else { return }
    let end = world.now + duration
    world.network.setDown(up: true, down: true, of: site, now: world.now)
    while world.now < end {
      for peer in world.peers { world.network.addressChanges[peer.hostID.index] = world.now }
      world.run(min(.milliseconds(500), end - world.now))
    }
    world.network.setDown(up: false, down: false, of: site, now: world.now)
    for peer in world.peers { world.network.addressChanges[peer.hostID.index] = world.now }
  }

  package func start(in world: CallWorld) {
    guard let host, let registration else { return }
    boots += 1
    let file = identityFile
    do {
      var identity = try LocalIdentity(stored: file.span)
      let card = try identity.makeCard(unixSeconds: UInt64(world.wallClock / 1_000))
      var settings = ServerSettings(
        identity: identity.copy(), card: card, bootCounter: boots,
        resetKey: Array(repeating: 7, count: 32),
        wallMilliseconds: UInt64(CallWorld.wallClockAtStart),
        tokenKey: TokenPublicKey(bytes: Bytes32(world.rendezvous.id)))
      settings.forwarding = ForwardingLimits()
      let machine = RelayMachine(
        RendezvousMachine(settings, store: MemoryStore(), random: random.split()),
        limits: limits, random: random.split())
      let secret = machine.pairs.secret
      host.start(machine, now: world.now)
      var configuration = PeerConfiguration(
        rendezvous: world.rendezvous.address, wallClockAtZero: CallWorld.wallClockAtStart)
      configuration.rendezvousID = world.rendezvous.id
      let known = RelayRegistrationMachine(
        configuration, listening: world.network.address(of: host.host), pairs: secret,
        identity: identity, random: random.split(), now: world.now)
      registration.start(known, now: world.now)
    } catch {
      world.log.note(at: world.now, "the relay cannot start: \(error)")
    }
  }

  package func counters(now: Instant) -> PairCounters {
    host?.command(now: now) { machine, _ in machine.pairs.counters } ?? PairCounters()
  }

  package func pairCount(now: Instant) -> Int {
    host?.command(now: now) { machine, _ in machine.pairs.pairCount } ?? 0
  }
}
