import Cryptography
package import Primitives
package import Rendezvous
import SecureSession
package import Tokens
package import Wire

/// The rendezvous of a world: its machine comes and goes, its store and its identity stay.
package final class SimulatedRendezvous {
  package let host: SimulatedHost<RendezvousMachine>
  package let id: PeerID
  package let address: SocketAddress
  /// Outlives the process, as the database does.
  package let store = MemoryStore()
  /// Makes the store of a process that is one of several nodes.
  package var makeShared: ((PeerID, RandomSource) -> SharedStore)?
  /// Of the process that was started last.
  package private(set) var shared: SharedStore?

  /// Signs the access tokens that registrations need; `nil` = they need none.
  package var tokenKey: TokenPublicKey?
  /// Relays that may register.
  package var relayIDs: Set<PeerID> = []
  /// Of processes that are started from now on.
  package var limits = ServerLimits()
  /// How long tickets for pairs are good; `nil` = as usual.
  package var pairTicketLife: Duration?
  /// The list that it gives to clients; `nil` = it is no node of a service.
  package var nodes: NodeList?
  /// How far its wall clock is ahead of the true time, ms.
  package var wallClockError: Int64 = 0
  /// What it says who it is, since it was started last.
  package private(set) var card: [UInt8] = []

  private let simulator: Simulator
  private let identityFile: [UInt8]
  private let resetKey: [UInt8]
  private var bootCounter: UInt64 = 0
  private var random: RandomSource

  package init(
    on host: SimulatedNetwork.HostID, simulator: Simulator, random: RandomSource
  ) {
    self.simulator = simulator
    var random = random
    let clock = SimulatedClock(
      origin: .zero + random.duration(.zero ... .seconds(1_000_000)),
      partsPerMillion: Int64(random.below(101)) - 50)
    self.host = SimulatedHost(host, on: simulator.network, clock: clock)
    address = simulator.network.address(of: host)
    let made = LocalIdentity(
      kind: .rendezvous, unixSeconds: UInt64(CallWorld.wallClockAtStart / 1_000), random: &random)
    id = made.id
    identityFile = made.storedBytes
    resetKey = random.bytes(32)
    self.random = random
  }

  package func start() {
    bootCounter += 1
    let now = host.clock.local(simulator.now)
    let origin =
      UInt64(CallWorld.wallClockAtStart + wallClockError) - host.clock.origin / 1_000_000
    let file = identityFile
    do {
      var identity = try LocalIdentity(stored: file.span)
      let card = try identity.makeCard(
        unixSeconds: (origin + now.nanoseconds / 1_000_000) / 1_000)
      self.card = card.bytes
      var settings = ServerSettings(
        identity: identity, card: card, bootCounter: bootCounter, resetKey: resetKey,
        wallMilliseconds: origin, tokenKey: tokenKey, nodes: nodes)
      settings.relayIDs = relayIDs
      if let pairTicketLife { settings.pairTicketLife = pairTicketLife }
      shared = makeShared?(id, random.split())
      shared?.home = store
      host.start(
        RendezvousMachine(
          settings, store: shared ?? store, limits: limits, random: random.split()),
        now: simulator.now)
    } catch {
      simulator.log.note(at: simulator.now, "the rendezvous cannot start: \(error)")
    }
  }

  package func crash() { host.crash(now: simulator.now) }
}

extension LocalIdentity {
  /// The stored form as plain bytes: what a file on the host's disk holds.
  var storedBytes: [UInt8] {
    let stored = stored()
    var bytes: [UInt8] = []
    for index in 0..<stored.span.count { bytes.append(stored.span[index]) }
    return bytes
  }
}
