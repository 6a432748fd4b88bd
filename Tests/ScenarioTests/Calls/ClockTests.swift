import Primitives
import Simulation
import Testing
import Wire

@testable import Peer

/// Hosts whose clocks are wrong (docs/protocol/rendezvous.md §2).
@Suite struct ClockTests {
  private static func world(ahead seconds: Int64) -> (CallWorld, SimulatedPeer) {
    let world = CallWorld(seed: 3)
    let peer = world.addPeer(CallWorld.names[0]) { $0.wallClockAtZero += seconds * 1000 }
    return (world, peer)
  }

  /// Method: ten years behind (a key is made by that clock), two hours behind, two hours ahead.
  @Test(arguments: [-3650 * 86_400, -7200, 7200] as [Int64])
  func `registers with a wrong clock, by the time that the rendezvous tells`(ahead: Int64) {
    let (world, peer) = Self.world(ahead: ahead)
    #expect(world.run(atMost: .seconds(5)) { peer.isRegistered })
    let callee = world.addPeer(CallWorld.names[1])
    #expect(world.run(atMost: .seconds(5)) { callee.isRegistered })
  }

  /// By its clock the card of the rendezvous has expired: that must not be believed.
  @Test func `says that the clocks differ when the card of the rendezvous has expired`() {
    let (world, peer) = Self.world(ahead: 3650 * 86_400)
    world.run(.seconds(12))
    let failures = peer.events.compactMap { event -> RegistrationFailure? in
      if case .registration(.failed(let failure)) = event.event { failure } else { nil }
    }
    #expect(failures.first == .wrongClock(serverTime: nil))
  }

  @Test func `an amended clock changes only what the link itself says`() {
    var link = RendezvousLink(
      PeerConfiguration(
        rendezvous: SocketAddress(v4: 192, 0, 2, 1, port: 7400), wallClockAtZero: 5000),
      presence: .unnamed, random: RandomSource(seed: 1))
    #expect(link.unixMilliseconds(now: Instant(nanoseconds: 1_000_000)) == 5001)
    link.amendment = RegistrationAmendment(clockOffset: -3000)
    #expect(link.unixMilliseconds(now: .zero) == 2000)
    #expect(link.configuration.wallClockAtZero == 5000)
  }

  /// Method: a host registers with its clock an hour ahead, is stopped, its clock set right.
  @Test func `raises the serial of its card when the rendezvous knows a higher one`() {
    let (world, peer) = Self.world(ahead: 3600)
    #expect(world.run(atMost: .seconds(5)) { peer.isRegistered })
    peer.crash()
    world.run(.seconds(70))
    peer.configure = nil
    peer.start()
    #expect(world.run(atMost: .seconds(5)) { peer.isRegistered })
  }
}
