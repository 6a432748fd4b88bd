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

  /// Wrong by ten years (a key is made by that clock), a month and two hours, in s.
  static let differences: [Int64] = [
    -3650 * 86_400, -30 * 86_400, -7200, 7200, 30 * 86_400, 3650 * 86_400,
  ]

  @Test(arguments: differences)
  func `registers with a wrong clock, by the time that the rendezvous tells`(ahead: Int64) {
    let (world, peer) = Self.world(ahead: ahead)
    #expect(world.run(atMost: .seconds(5)) { peer.isRegistered })
    let callee = world.addPeer(CallWorld.names[1])
    #expect(world.run(atMost: .seconds(5)) { callee.isRegistered })
  }

  /// Cards and invitations are judged by the time that the rendezvous tells.
  @Test(arguments: differences, [false, true])
  func `calls and is called with a wrong clock`(ahead: Int64, isOtherWrong: Bool) throws {
    let (world, alice) = Self.world(ahead: ahead)
    let bob = world.addPeer(CallWorld.names[1]) {
      if isOtherWrong { $0.wallClockAtZero -= ahead * 1000 }
    }
    for peer in world.peers { peer.habits.answer = .accept(after: .milliseconds(500)) }
    try #require(world.run(atMost: .seconds(10)) { alice.isRegistered && bob.isRegistered })
    for (caller, callee) in [(alice, bob), (bob, alice)] {
      let call = try #require(caller.call(.id(callee.id)))
      let isUp = world.run(atMost: .seconds(5)) {
        [caller, callee].allSatisfy {
          world.testimony.side(call, at: $0.hostID)?.time(of: .connected) != nil
        }
      }
      #expect(isUp, "\(caller.name) calls")
      world.run(.seconds(2))
      caller.end(call)
      world.run(.seconds(12))
    }
  }

  /// What is less than cards allow for is no reason to ask the rendezvous.
  @Test func `a clock that is right judges cards by itself`() {
    let (world, peer) = Self.world(ahead: 300)
    #expect(world.run(atMost: .seconds(5)) { peer.isRegistered })
    peer.host.command(now: world.now) { machine, now in
      let own = machine.configuration.wallClockAtZero + Int64(now.nanoseconds / 1_000_000)
      let told = Int64(machine.rendezvousMilliseconds(now: now))
      #expect((250_000..<600_000).contains(own - told), "\(own - told) ms")
      #expect(Int64(machine.unixSeconds(now: now)) == own / 1000)
    }
  }

  @Test func `an amended clock changes only what the link itself says`() {
    var link = RendezvousLink(
      PeerConfiguration(
        rendezvous: SocketAddress(v4: 192, 0, 2, 1, port: 7400), wallClockAtZero: 5000),
      presence: .unnamed, random: RandomSource(seed: 1))
    #expect(link.unixMilliseconds(now: Instant(nanoseconds: 1_000_000)) == 5001)
    link.schedule.amendment = RegistrationAmendment(clockOffset: -3000)
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
