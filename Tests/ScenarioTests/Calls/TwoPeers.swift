import Calling
import Connectivity
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Alice and Bob on lines that one can reckon with, registered, and what a test asks about them.
final class TwoPeers {
  let world: CallWorld
  let alice: SimulatedPeer
  let bob: SimulatedPeer
  /// A TURN server that both know of.
  let relay: SimulatedRelay?
  /// A relay that forwards for pairs, which the rendezvous names.
  let pairRelay: SimulatedPairRelay?

  /// - Parameter roundTrip: Between any two of alice, bob and the rendezvous.
  init(
    seed: UInt64 = 1, roundTrip: Duration = .milliseconds(100),
    nat: (SimulatedNAT.Behaviour?, SimulatedNAT.Behaviour?) = (nil, nil),
    change: (inout LinkConditions) -> Void = { _ in },
    configure: ((inout PeerConfiguration) -> Void)? = nil, hasRelay: Bool = false,
    hasPairRelay: Bool = false, pairTicketLife: Duration? = nil, keepsText: Bool = false
  ) {
    let line = AccessConditions.clean(oneWay: roundTrip / 4).with(change)
    let pairRelay = hasPairRelay ? SimulatedPairRelay(seed: seed) : nil
    self.pairRelay = pairRelay
    world = CallWorld(
      seed: seed, rendezvousAccess: .clean(oneWay: roundTrip / 4), keepsText: keepsText,
      configure: {
        if let pairRelay { $0.relayIDs = [pairRelay.id] }
        $0.pairTicketLife = pairTicketLife
      })
    pairRelay?.join(world, .clean(oneWay: roundTrip / 4))
    world.mediaInterval = .milliseconds(20)
    let relay = hasRelay ? world.addRelay(line) : nil
    let tell = { (configuration: inout PeerConfiguration) in
      if let relay { configuration.relays = [relay.server] }
      configure?(&configuration)
    }
    self.relay = relay
    alice = world.addPeer(CallWorld.names[0], line, nat: nat.0, configure: tell)
    bob = world.addPeer(CallWorld.names[1], line, nat: nat.1, configure: tell)
    let isReady = world.run(atMost: .seconds(20)) { [alice, bob] in
      alice.isRegistered && bob.isRegistered
    }
    #expect(isReady, "not registered within 20 s, seed \(seed)")
    world.run(.seconds(1))  // Until the server has their first packets.
  }

  /// Alice calls, Bob accepts after a second, and both are connected.
  func connect(talking: Duration? = nil) throws -> CallID {
    bob.habits.answer = .accept(after: .seconds(1))
    alice.habits.talk = talking
    let call = try #require(alice.call(.id(bob.id)))
    let isUp = world.run(atMost: .seconds(12)) { isConnected(call) }
    try #require(isUp, "not connected, seed \(world.seed)\n\(story)")
    return call
  }

  func isConnected(_ call: CallID) -> Bool {
    time(.connected, of: call, at: alice) != nil && time(.connected, of: call, at: bob) != nil
  }

  func time(
    _ step: Testimony.Step, of call: CallID, at peer: SimulatedPeer
  ) -> Instant? {
    world.testimony.side(call, at: peer.hostID)?.time(of: step)
  }

  func outcome(of call: CallID, at peer: SimulatedPeer) -> CallOutcome? {
    world.testimony.side(call, at: peer.hostID)?.outcome
  }

  func summary(of call: CallID, at peer: SimulatedPeer) -> CallSummary? {
    for case .calling(.ended(let summary)) in events(of: peer) where summary.callID == call {
      return summary
    }
    return nil
  }

  /// What a peer was told so far.
  func events(of peer: SimulatedPeer) -> [PeerEvent] { peer.events.map(\.event) }

  /// From one moment to another in ms; huge when one of them never came.
  static func milliseconds(_ from: Instant?, _ to: Instant?) -> Int64 {
    guard let from, let to else { return .max }
    return (to - from).milliseconds
  }

  /// The longest silence, in ms, that a peer heard from `start` until now; the one that it is in at
  /// `start`, and the one that lasts, included.
  func longestGap(at peer: SimulatedPeer, from start: Instant) -> Int64 {
    var times = peer.heard.map(\.at).sorted()
    let first = times.lastIndex { $0 <= start } ?? 0
    times = times[first...] + [world.now]
    return zip(times, times.dropFirst()).map { ($1 - $0).milliseconds }.max() ?? .max
  }

  /// How the path that Alice's media takes is called.
  func pathKind(_ call: CallID) -> PathKind? {
    events(of: alice).compactMap { event -> PathKind? in
      switch event {
      case .link(call, .pathReady(let kind, _)), .link(call, .pathChanged(let kind, _)): kind
      default: nil
      }
    }.last
  }

  /// Within a second of the answer, by a relay or not.
  func expectConnected(_ call: CallID, isRelayed: Bool) {
    let accepted = time(.accepted, of: call, at: bob)
    for peer in [alice, bob] {
      let took = Self.milliseconds(accepted, time(.connected, of: call, at: peer))
      #expect(took <= 1_000, "\(peer.name): \(took) ms\n\(story)")
    }
    world.run(.seconds(4))
    let found = pathKind(call)
    #expect((found == .relayed) == isRelayed, "\(String(describing: found))\n\(story)")
  }

  /// Both hear each other meanwhile.
  func expectSound(for duration: Duration) {
    let start = world.now
    world.run(duration)
    for peer in [alice, bob] {
      let gap = longestGap(at: peer, from: start)
      #expect(gap <= 60, "\(peer.name): \(gap) ms")
    }
  }

  /// What both were told, for a failing test.
  var story: String {
    [alice, bob].flatMap { peer in
      peer.events.map { "\($0.at.nanoseconds / 1_000_000) ms \(peer.name): \($0.event)" }
    }.joined(separator: "\n")
  }

  /// Everything the testimony has against the run.
  func expectNoViolations() {
    let report = world.report()
    #expect(report.violations.isEmpty, "seed \(world.seed): \(report.violations)\n\(story)")
  }
}
