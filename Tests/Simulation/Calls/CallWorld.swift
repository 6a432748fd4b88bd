import Calling
package import Peer
package import Primitives
package import Wire

/// One rendezvous, some people with a program each, and a network that a seed determines.
package final class CallWorld {
  /// 2026-01-01 00:00 UTC in ms since 1970: what true wall clocks show when the world begins.
  package static let wallClockAtStart: Int64 = 1_767_225_600_000

  package let seed: UInt64
  package let simulator: Simulator
  package let log: RunLog
  package private(set) var rendezvous: SimulatedRendezvous
  package private(set) var peers: [SimulatedPeer] = []
  /// The TURN server, where there is one.
  package internal(set) var relay: SimulatedRelay?
  package var testimony = Testimony()
  /// When a user last did something, or a fault ended.
  package private(set) var lastAct = Instant.zero
  /// Between one audio frame and the next.
  package var mediaInterval = Duration.milliseconds(200)
  /// What every audio frame holds.
  package var audioFrame = [UInt8](repeating: 0x5A, count: 80)
  /// When something was broken, healed or not.
  package private(set) var disturbances: [(from: Instant, to: Instant)] = []
  package var random: RandomSource
  var hearing = HearingRule()

  package init(
    seed: UInt64, rendezvousAccess: AccessConditions = .lan, keepsText: Bool = false,
    configure: ((SimulatedRendezvous) -> Void)? = nil
  ) {
    self.seed = seed
    log = RunLog(keepsText: keepsText)
    random = RandomSource(seed: seed)
    simulator = Simulator(seed: random.next(), log: log)
    let network = simulator.network
    let host = network.addHost(at: network.addSite(rendezvousAccess), port: 7400)
    rendezvous = SimulatedRendezvous(on: host, simulator: simulator, random: random.split())
    simulator.add(rendezvous.host)
    configure?(rendezvous)
    rendezvous.start()
  }

  /// Another rendezvous, on a host of its own; it is not started yet.
  package func addRendezvous(_ access: AccessConditions = .lan) -> SimulatedRendezvous {
    let host = network.addHost(at: network.addSite(access), port: 7400)
    let added = SimulatedRendezvous(on: host, simulator: simulator, random: random.split())
    simulator.add(added.host)
    return added
  }

  /// Something else than a planned fault was broken for a time.
  func noteDisturbance(from: Instant, to: Instant) { disturbances.append((from, to)) }

  /// Enough for every world; they never occur in clear on the wire.
  package static let names = ["alice", "bob", "carol", "dave", "erin", "frank"]
    .compactMap { PeerName($0 + "-of-the-canaries") }

  package var network: SimulatedNetwork { simulator.network }
  package var now: Instant { simulator.now }
  package var wallClock: Int64 { Self.wallClockAtStart + Int64(now.nanoseconds / 1_000_000) }

  /// Adds a person at a place of their own, and starts their program.
  @discardableResult
  package func addPeer(
    _ name: PeerName, _ access: AccessConditions = .lan, nat: SimulatedNAT.Behaviour? = nil,
    configure: ((inout PeerConfiguration) -> Void)? = nil
  ) -> SimulatedPeer {
    addPeer(name, at: network.addSite(access, nat: nat), configure: configure)
  }

  /// Adds a person at a place that may have others.
  @discardableResult
  package func addPeer(
    _ name: PeerName, at site: SimulatedNetwork.SiteID,
    configure: ((inout PeerConfiguration) -> Void)? = nil
  ) -> SimulatedPeer {
    let host = network.addHost(at: site, port: UInt16(7_000 + peers.count))
    let peer = SimulatedPeer(name, on: host, in: self, random: random.split())
    peer.configure = configure
    simulator.add(peer.host)
    peers.append(peer)
    peer.start()
    return peer
  }

  /// Adds another program of a person, with the same identity file, at a place of its own.
  @discardableResult
  package func addProgram(
    of owner: SimulatedPeer, _ access: AccessConditions = .lan, _ kind: PresenceKind = .answering
  ) -> SimulatedPeer {
    let host = network.addHost(at: network.addSite(access), port: UInt16(7_000 + peers.count))
    let peer = SimulatedPeer(owner.name, on: host, in: self, sharing: owner, random: random.split())
    peer.configure = { configuration in
      owner.configure?(&configuration)
      configuration.presence = kind
    }
    simulator.add(peer.host)
    peers.append(peer)
    peer.start()
    return peer
  }

  package func run(_ duration: Duration) { simulator.run(duration) }

  /// Runs until `condition` holds, at most for `limit`; whether it holds.
  @discardableResult
  package func run(atMost limit: Duration, until condition: () -> Bool) -> Bool {
    simulator.run(until: now + limit, untilTrue: condition)
  }

  func noteAct() { lastAct = max(lastAct, now) }

  /// The story of the whole run, judged.
  package func report() -> RunReport {
    var violations = testimony.verdict(raceWindow: raceWindow, isDisturbed: isDisturbed)
    if let livelock = simulator.livelock { violations.append(livelock) }
    var totals = RunTotals()
    totals.worlds = 1
    totals.datagrams = network.sentCount
    totals.simulated = now - .zero
    for side in testimony.sides {
      if side.isCaller {
        totals.calls += 1
        let excuse = side.isReplaced ? "replaced" : "crashed"
        totals.outcomes[side.outcome?.rawValue ?? excuse, default: 0] += 1
      }
      let callee = testimony.callee(of: side.call)
      if let accepted = callee?.time(of: .accepted), let connected = side.time(of: .connected) {
        totals.connectMilliseconds.append(Int((connected - accepted).milliseconds))
      }
    }
    if !violations.isEmpty {
      totals.calls = max(1, totals.calls)
      totals.failedCalls = min(totals.calls, violations.count)
    }
    return RunReport(
      seed: seed, totals: totals, violations: violations, digest: log.digest, text: log.text)
  }

  /// Where nothing is lost, two round trips of the slowest line; else as long as a signal is
  /// repeated (calling.md §3).
  private var raceWindow: Duration {
    peers.contains { network.conditions(of: $0.site).up.loses } ? .seconds(8) : .seconds(2)
  }

  // MARK: - Faults

  /// When the last planned fault is healed.
  package var lastFault: Instant { disturbances.map(\.to).max() ?? .zero }

  package func plan(_ fault: Fault) {
    disturbances.append((fault.from, fault.to))
    simulator.plan(at: fault.from) { [unowned self] in
      noteAct()
      begin(fault.kind, until: fault.to)
    }
    simulator.plan(at: fault.to) { [unowned self] in
      noteAct()
      heal(fault.kind)
    }
  }

  /// Whether a fault touched the time between two moments; it takes a while until all is mended.
  package func isDisturbed(_ from: Instant, _ to: Instant) -> Bool {
    disturbances.contains { $0.from <= to && from <= $0.to + Self.mending }
  }

  /// After a fault, lost signalling is repeated and a client registers anew.
  private static let mending = Duration.seconds(30)

  private func begin(_ kind: Fault.Kind, until end: Instant) {
    log.note(at: now, "fault: \(kind)")
    switch kind {
    case .blackout(let peer, let up, let down):
      network.setDown(up: up, down: down, of: peers[peer].site, now: now)
    case .rendezvousBlackout:
      network.setDown(up: true, down: true, of: network.site(of: rendezvous.host.host), now: now)
    case .partition(let from, let to):
      network.block(from: peers[from].site, to: peers[to].site)
    case .crash(let peer): peers[peer].crash()
    case .rendezvousCrash: rendezvous.crash()
    case .rebind(let peer): network.rebind(peers[peer].site, changesAddress: true, now: now)
    case .move(let peer): peers[peer].move(to: network.addSite(.lte))
    case .worseLine(let peer, let access):
      network.setConditions(access, of: peers[peer].site, now: now)
    case .relayCrash: if let relay { crash(relay) }
    }
  }

  private func heal(_ kind: Fault.Kind) {
    log.note(at: now, "healed: \(kind)")
    switch kind {
    case .blackout(let peer, _, _):
      network.setDown(up: false, down: false, of: peers[peer].site, now: now)
    case .rendezvousBlackout:
      network.setDown(
        up: false, down: false, of: network.site(of: rendezvous.host.host), now: now)
    case .partition: network.unblockAll()
    case .crash(let peer): if !peers[peer].host.isRunning { peers[peer].start() }
    case .rendezvousCrash: if !rendezvous.host.isRunning { rendezvous.start() }
    case .rebind, .move: break
    case .worseLine(let peer, _): network.setConditions(.dsl, of: peers[peer].site, now: now)
    case .relayCrash: if let relay, !relay.host.isRunning { relay.start() }
    }
  }
}
