import Channels
import Earshot
import Forwarding
import Foundation
import Peer
import Primitives
import Reactor
import Rendezvous
import SecureSession
import Tokens
import Wire

/// A rendezvous and a relay that is registered with it, in this process.
final class RelayTown {
  let loop: EventLoop
  let address: SocketAddress
  let rendezvous: MachineDriver<RendezvousMachine>
  let relay: MachineDriver<RendezvousMachine>
  private let registration: MachineDriver<RelayRegistrationMachine>
  private let death: EventLoop.Token
  /// Of `pair`.
  private let folder = FileManager.default.temporaryDirectory.appending(
    path: "earshot-\(UUID().uuidString)")

  init() throws {
    let wall = SystemClock.wallNanoseconds / 1_000_000
    let zero = wall - SystemClock.now.nanoseconds / 1_000_000
    var random = RandomSource.system
    let local = SocketAddress(v4: 127, 0, 0, 1, port: 0)
    var own = LocalIdentity(kind: .peer, unixSeconds: wall / 1000, random: &random)
    let host = LocalIdentity(kind: .rendezvous, unixSeconds: wall / 1000, random: &random)
    let (relayID, hostID) = (own.id, host.id)
    let card = try own.makeCard(unixSeconds: wall / 1000)
    loop = try EventLoop()
    let socket = try UDPSocket(binding: local)
    let here = socket.localAddress
    var settings = ServerSettings(
      identity: own.copy(), card: card, bootCounter: 1, resetKey: random.bytes(32),
      wallMilliseconds: zero, tokenKey: TokenPublicKey(bytes: Bytes32(hostID)))
    settings.forwarding = ForwardingLimits()
    relay = MachineDriver(
      RendezvousMachine(settings, store: MemoryStore(), random: .system), socket: socket,
      on: loop)
    var other = host.copy()
    let otherCard = try other.makeCard(unixSeconds: wall / 1000)
    var server = ServerSettings(
      identity: other, card: otherCard, bootCounter: 1, resetKey: random.bytes(32),
      wallMilliseconds: zero)
    server.relayIDs = [relayID]
    let bound = try UDPSocket(binding: local)
    address = bound.localAddress
    rendezvous = MachineDriver(
      RendezvousMachine(server, store: MemoryStore(), random: .system), socket: bound, on: loop)
    var configuration = PeerConfiguration(rendezvous: address, wallClockAtZero: Int64(zero))
    configuration.rendezvousID = hostID
    registration = MachineDriver(
      RelayRegistrationMachine(
        configuration, listening: here, identity: own, random: .system, now: SystemClock.now),
      socket: try UDPSocket(binding: local), on: loop)
    for driver in [relay, rendezvous] { try driver.start { _ in } }
    try registration.start { _ in }
    death = try loop.addTimer { [relay] _ in relay.stop() }
    try loop.start()
  }

  /// The relay does nothing any more, and tells nobody.
  func killRelay() async {
    let (loop, death) = (self.loop, self.death)
    await Task(executorPreference: loop) { loop.setDeadline(death, SystemClock.now) }.value
  }

  func stop() {
    loop.stop()
    loop.join()
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Alice and bob, whose files go with the town.
  func pair() async throws -> [Endpoint] {
    [try await endpoint("alice", folder), try await endpoint("bob", folder)]
  }

  /// A member whose files are in `folder`.
  func endpoint(_ name: String, _ folder: URL) async throws -> Endpoint {
    var configuration = Configuration(rendezvous: address.description)
    configuration.bind = "127.0.0.1:0"
    configuration.identityFile = folder.appending(path: name + "/identity").path
    let endpoint = try await Endpoint.open(configuration)
    _ = try await endpoint.waitUntilRegistered()
    return endpoint
  }
}
