import Foundation
import LastMile
import Peer
import Primitives
import Simulation
import Testing

/// Nobody can make a rendezvous, a peer, or two of them send more than was sent to them
/// (docs/protocol/probe.md §3, session.md §8). A meter over all packet types: what real programs
/// sent, and the whole fuzz corpus.
@Suite struct AmplificationTests {
  /// Addresses of nobody, each for one packet, and what came to them.
  private final class Meter {
    struct Account {
      var label: String
      var sent: Int
      var drawn = 0
      /// Length of each packet drawn, and how long after.
      var packets: [String] = []
      var at: Instant
    }

    let world: CallWorld
    private(set) var accounts: [SocketAddress: Account] = [:]
    private let site: SimulatedNetwork.SiteID
    private let victim: SocketAddress
    private var nextPort: UInt16 = 10_000
    var onSighting: ((borrowing SimulatedNetwork.Sighting) -> Void)?

    init(_ world: CallWorld) {
      self.world = world
      site = world.network.addSite(.clean(oneWay: .milliseconds(5)))
      victim = world.network.address(of: world.network.addHost(at: site, port: 9))
      world.network.tap = { [unowned self] sighting in
        onSighting?(sighting)
        guard sighting.destination.isSameHost(as: victim) else { return }
        accounts[sighting.destination]?.drawn += sighting.bytes.count
        let after = (sighting.now - (accounts[sighting.destination]?.at ?? .zero)).milliseconds
        accounts[sighting.destination]?.packets.append(
          "\(sighting.bytes.count) B after \(after) ms")
      }
    }

    /// Sends `bytes` as if an address of its own had sent them.
    func forge(_ bytes: [UInt8], to destination: SocketAddress, _ label: String) {
      var source = victim
      source.port = nextPort
      nextPort += 1
      accounts[source] = Account(label: label, sent: bytes.count, at: world.now)
      world.network.inject(bytes, from: source, to: destination, now: world.now)
    }

    func expectNoneAbove(_ limit: Double) {
      for account in accounts.values where account.sent > 0 {
        let factor = Double(account.drawn) / Double(account.sent)
        #expect(
          factor <= limit,
          "\(account.label): \(account.drawn) B for \(account.sent) B: \(account.packets)")
      }
    }
  }

  /// Every input of every corpus that holds whole datagrams or may pass for one.
  private static let corpus: [(name: String, bytes: [UInt8])] = {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Corpora")
    guard let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    else { return [] }
    return files.compactMap { $0 as? URL }.sorted { $0.path < $1.path }.compactMap { url in
      guard let data = try? Data(contentsOf: url), !data.isEmpty, data.count <= 1200 else {
        return nil
      }
      return (url.deletingLastPathComponent().lastPathComponent, [UInt8](data))
    }
  }()

  @Test func `nothing of the fuzz corpus draws more than it is, from a rendezvous or a peer`() {
    #expect(Self.corpus.count > 1000)
    let line = ProbedLine()
    let meter = Meter(line.world)
    let targets = [
      line.world.rendezvous.address, line.world.network.address(of: line.alice.hostID),
    ]
    for (name, bytes) in Self.corpus {
      for target in targets { meter.forge(bytes, to: target, name) }
      line.world.run(.milliseconds(20))
    }
    line.world.run(.seconds(5))
    meter.expectNoneAbove(1)
  }

  /// Each packet that two programs and a rendezvous say to each other, from the first handshake
  /// over a probe both ways and a probe between the peers to a call, is also heard from an address
  /// that is not its sender's, and before its sender's.
  @Test func `no packet of a session draws more than it is from an address that is not proven`()
    throws
  {
    let world = CallWorld(seed: 5, rendezvousAccess: .clean(oneWay: .milliseconds(9)))
    let meter = Meter(world)
    var types: [UInt8: Int] = [:]
    var copies = 0
    meter.onSighting = { sighting in
      guard copies < 20_000, !sighting.bytes.isEmpty else { return }
      let bytes = (0..<sighting.bytes.count).map { sighting.bytes[$0] }
      let type = bytes[0]
      types[type, default: 0] += 1
      // Every packet of a rare type, one of twenty of a train's.
      guard types[type, default: 0] < 400 || types[type, default: 0] % 20 == 0 else { return }
      copies += 1
      let destination = sighting.destination
      world.simulator.plan(after: .zero) {
        let at = world.now.nanoseconds / 1_000_000
        meter.forge(bytes, to: destination, "type \(type) to \(destination) at \(at) ms")
      }
    }
    let line = AccessConditions.clean(oneWay: .milliseconds(20))
    let alice = world.addPeer(CallWorld.names[0], line)
    let bob = world.addPeer(CallWorld.names[1], line)
    world.run(atMost: .seconds(20)) { alice.isRegistered && bob.isRegistered }
    try alice.host.command(now: world.now) { machine, now throws(PeerRefusal) in
      try machine.probe(ProbedLine.plan, now: now)
    }
    world.run(.seconds(9))
    try alice.host.command(now: world.now) { machine, now throws(PeerRefusal) in
      try machine.probe(.id(bob.id), ProbedLine.plan, now: now)
    }
    world.run(.seconds(10))
    #expect(ProbedLine.reports(of: alice).count == 2)
    bob.habits.answer = .accept(after: .seconds(1))
    _ = alice.call(.id(bob.id))
    world.run(.seconds(10))
    #expect(copies > 500, "\(types)")
    meter.expectNoneAbove(1)
  }

  /// RESP has 266 bytes, INIT 1200.
  @Test func `a handshake draws a quarter of what it is at most`() {
    let world = CallWorld(seed: 6)
    let meter = Meter(world)
    let rendezvous = world.rendezvous.address
    var copies = 0
    meter.onSighting = { sighting in
      guard sighting.destination == rendezvous, sighting.bytes.count >= 1000, copies < 20 else {
        return
      }
      copies += 1
      let bytes = (0..<sighting.bytes.count).map { sighting.bytes[$0] }
      world.simulator.plan(after: .zero) { meter.forge(bytes, to: rendezvous, "INIT") }
    }
    let alice = world.addPeer(CallWorld.names[0], .clean(oneWay: .milliseconds(20)))
    world.run(atMost: .seconds(20)) { alice.isRegistered }
    world.run(.seconds(20))
    #expect(copies >= 1)
    #expect(meter.accounts.values.contains { $0.drawn > 0 }, "it is answered at all")
    meter.expectNoneAbove(0.25)
  }

  /// One packet, said to be from another rendezvous, or from itself, is answered once at most: two
  /// servers, and two reflectors, have nothing to say to each other.
  @Test func `two servers cannot be made to talk to each other`() throws {
    let line = ProbedLine(seed: 9)
    let world = line.world
    let site = world.network.addSite(.clean(oneWay: .milliseconds(5)))
    let other = SimulatedRendezvous(
      on: world.network.addHost(at: site, port: 7400), simulator: world.simulator,
      random: RandomSource(seed: 99))
    world.simulator.add(other.host)
    other.start()
    var said: [[UInt8]] = Self.corpus.map(\.bytes)
    let first = world.rendezvous
    world.network.tap = { sighting in
      guard sighting.destination == first.address, said.count < 3000 else { return }
      said.append((0..<sighting.bytes.count).map { sighting.bytes[$0] })
    }
    // What a program says when it registers, and while it probes.
    let bob = world.addPeer(CallWorld.names[1], .clean(oneWay: .milliseconds(5)))
    world.run(atMost: .seconds(20)) { bob.isRegistered }
    try line.begin()
    world.run(.seconds(10))
    var between = 0
    world.network.tap = { sighting in
      let isServer = sighting.host == first.host.host || sighting.host == other.host.host
      let isToServer =
        sighting.destination == first.address || sighting.destination == other.address
      if isServer, isToServer { between += 1 }
    }
    var most = 0
    for bytes in said {
      for source in [other.address, first.address] {
        between = 0
        world.network.inject(bytes, from: source, to: first.address, now: world.now)
        world.run(.milliseconds(200))
        most = max(most, between)
      }
    }
    world.run(.seconds(10))
    #expect(most <= 1)
  }
}
