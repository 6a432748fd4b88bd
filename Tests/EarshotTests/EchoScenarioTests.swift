import Peer
import Primitives
import Rendezvous
import Simulation
import Testing
import Wire

@testable import Earshot

/// Echoes of the rendezvous show what a translator lets in, in simulated time.
@Suite struct EchoScenarioTests {
  private static let line = AccessConditions.clean(oneWay: .milliseconds(15))

  /// A program behind a translator, and another one of its identity that knows the rendezvous by
  /// its second address.
  private struct Scene {
    let world: CallWorld
    let hearer: SimulatedPeer
    let asker: SimulatedPeer

    init(_ nat: SimulatedNAT.Behaviour?, seed: UInt64 = 1) {
      world = CallWorld(seed: seed, rendezvousAccess: EchoScenarioTests.line)
      let second = world.network.addAddress(to: world.rendezvous.host.host)
      hearer = world.addPeer(CallWorld.names[0], EchoScenarioTests.line, nat: nat)
      // Only the next program is configured so.
      hearer.configure = { $0.rendezvous = second }
      asker = world.addProgram(of: hearer, EchoScenarioTests.line, .guest)
      let (hearer, asker) = (hearer, asker)
      _ = world.run(atMost: .seconds(20)) { hearer.isRegistered && asker.isRegistered }
      world.run(.seconds(1))
      world.rendezvous.host.command(now: world.now) { machine, _ in machine.hasOtherPort = true }
    }

    var presence: PresenceID? {
      hearer.host.command(now: world.now) { machine, _ in machine.presenceID }
    }

    /// Asks, and says what each heard.
    func ask(
      _ peer: SimulatedPeer, _ source: EchoRequestFrame.Source, _ presence: PresenceID = .every,
      token: UInt64
    ) -> (status: EchoFrame.Status?, isHeard: Bool) {
      let request = EchoRequestFrame(token: token, presence: presence, source: source)
      peer.host.command(now: world.now) { machine, now in
        machine.askForEcho(request, byteCount: 128, now: now)
      }
      world.run(.milliseconds(400))
      let status = heard(by: peer, token).first { $0.frame.status != .echo }?.frame.status
      return (status, heard(by: hearer, token).contains { $0.frame.status == .echo })
    }

    func heard(by peer: SimulatedPeer, _ token: UInt64) -> [HeardEcho] {
      let all: [HeardEcho]? = peer.host.command(now: world.now) { machine, _ in
        machine.heardEchoes
      }
      return all?.filter { $0.frame.token == token } ?? []
    }
  }

  @Test(
    arguments: [
      (nil, Filtering.endpointIndependent),
      (SimulatedNAT.Behaviour.endpointIndependent, .endpointIndependent),
      (.addressRestricted, .addressDependent), (.portRestricted, .addressAndPortDependent),
      (.symmetric, .addressAndPortDependent),
    ] as [(SimulatedNAT.Behaviour?, Filtering)])
  func `each translator filters as it is known to`(
    nat: SimulatedNAT.Behaviour?, filtering: Filtering
  ) throws {
    let scene = Scene(nat)
    try #require(scene.hearer.isRegistered && scene.asker.isRegistered)
    let control = scene.ask(scene.hearer, .usual, token: 1)
    #expect(control.isHeard)
    let presence = try #require(scene.presence)
    let address = scene.ask(scene.asker, .asker, presence, token: 2)
    #expect(address.status == .sent)
    let port = scene.ask(scene.hearer, .otherPort, token: 3)
    #expect(port.status == .sent)
    #expect(Filtering(otherPort: port.isHeard, otherAddress: address.isHeard) == filtering)
    // From where it was said to come.
    let first = scene.heard(by: scene.hearer, 1).first { $0.frame.status == .echo }
    let other = scene.heard(by: scene.hearer, 3).first { $0.frame.status == .echo }
    if let first, let other {
      #expect(other.source.isSameHost(as: first.source) && other.source.port != first.source.port)
    }
  }

  @Test func `a hushed program is silent, and a mapping that died of it lets nothing in`() throws {
    var short = SimulatedNAT.Behaviour.portRestricted
    short.mappingTimeout = .seconds(30)
    for (silence, isAlive) in [(Duration.seconds(25), true), (.seconds(35), false)] {
      let scene = Scene(short)
      let presence = try #require(scene.presence)
      scene.hearer.host.command(now: scene.world.now) { machine, _ in machine.hush() }
      scene.world.run(silence)
      let outcome = scene.ask(scene.asker, .usual, presence, token: 9)
      #expect(outcome.status == .sent && outcome.isHeard == isAlive, "\(silence)")
    }
  }

  @Test func `what was heard is kept within a limit`() {
    let scene = Scene(nil)
    for token in 1...100 as ClosedRange<UInt64> {
      _ = scene.ask(scene.hearer, .usual, token: token)
    }
    let count = scene.hearer.host.command(now: scene.world.now) { machine, _ in
      machine.heardEchoes.count
    }
    #expect(count == EchoLogLimit.heard && scene.heard(by: scene.hearer, 100).count == 1)
  }
}

private enum EchoLogLimit {
  static let heard = 64
}
