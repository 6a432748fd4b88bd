import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Bulk beside a call's audio: how fast it goes, what it survives, and that nobody hears it.
@Suite struct BulkTests {
  /// Feeds a stream as a program does, and keeps what comes out at the other end.
  private final class Courier {
    let world: CallWorld
    let sender: SimulatedPeer
    let receiver: SimulatedPeer
    let call: CallID
    let content: [UInt8]
    private(set) var sentCount = 0
    private(set) var received: [UInt8] = []
    private(set) var progress: [(at: Instant, count: Int)] = []
    private(set) var failures = 0
    private var seen = 0

    init(
      _ world: CallWorld, from sender: SimulatedPeer, to receiver: SimulatedPeer, in call: CallID,
      byteCount: Int
    ) throws {
      (self.world, self.sender, self.receiver, self.call) = (world, sender, receiver, call)
      var random = RandomSource(seed: 9)
      content = (0..<byteCount / 8).flatMap { _ in
        let word = random.next()
        return (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
      }
      let isWidened = receiver.host.command(now: world.now) { machine, _ in
        (try? ApplicationMessage.makeRoom(4 << 20, on: call, in: &machine)) != nil
      }
      try #require(isWidened == true)
    }

    var isDone: Bool { received.count >= content.count }

    func run(_ duration: Duration) {
      for _ in 0..<Int(duration.milliseconds / 20) where !isDone {
        feed()
        world.run(.milliseconds(20))
        collect()
      }
    }

    private func feed() {
      sender.host.command(now: world.now) { machine, now in
        while sentCount < content.count {
          let end = min(sentCount + 64_900, content.count)
          var message = ApplicationMessage(Array(content[sentCount..<end]), stream: 9)
          message.isBulk = true
          message.life = .seconds(60)
          guard (try? machine.send(message, on: call, now: now)) != nil else { return }
          sentCount = end
        }
      }
    }

    private func collect() {
      for (_, event) in receiver.events[seen...] {
        if case .link(call, .messageReceived(9, let bytes, _)) = event { received += bytes }
      }
      seen = receiver.events.count
      progress.append((world.now, received.count))
    }

    /// Bytes of the file in a second, as a share of what the line carries beside the sound.
    func share(from start: Instant, to end: Instant) -> Double {
      let counts = progress.filter { $0.at >= start && $0.at <= end }.map(\.count)
      guard let first = counts.first, let last = counts.last, end > start else { return 0 }
      let bits = Double(last - first) * 8_000 / Double((end - start).milliseconds)
      return bits / (rate - soundRate)
    }
  }

  private static let rate = 2_000_000.0
  /// Frames of 80 bytes, 50 a second, with all their headers.
  private static let soundRate = 8.0 * 50 * (80 + 28 + 28)

  private static func narrow(
    _ peer: SimulatedPeer, in world: CallWorld, loss: Double, outage: (Instant, Instant)? = nil
  ) {
    var access = world.network.conditions(of: peer.site)
    access.up.rate = LinkConditions.Rate(UInt64(rate), queue: .time(.milliseconds(300)))
    access.up.loss = .random(loss)
    access.down.loss = .random(loss)
    if let (from, to) = outage {
      access.up.blackouts = [LinkConditions.Blackout(from: from, to: to)]
      access.down.blackouts = access.up.blackouts
    }
    world.network.setConditions(access, of: peer.site, now: world.now)
  }

  /// Goal: over 2 Mbit/s with a loss of 2 % a file takes 0.9 of what the line carries beside the
  /// sound, and an outage of 8 s costs no byte of it.
  /// Method: a call with sound both ways; in the middle nothing passes for 8 s.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func `a file comes whole over loss and an outage`(seed: UInt64) throws {
    let pair = TwoPeers(seed: seed, roundTrip: .milliseconds(60))
    let call = try pair.connect()
    let world = pair.world
    let begin = world.now
    let outage = (begin + .seconds(15), begin + .seconds(23))
    Self.narrow(pair.alice, in: world, loss: 0.02, outage: outage)
    let courier = try Courier(
      world, from: pair.alice, to: pair.bob, in: call, byteCount: 8_000_000)
    courier.run(.seconds(70))
    #expect(courier.isDone, "\(courier.received.count) of 8000000 bytes")
    #expect(courier.received == courier.content)
    let before = courier.share(from: begin + .seconds(4), to: outage.0)
    let after = courier.share(from: outage.1 + .seconds(4), to: begin + .seconds(38))
    #expect(before >= 0.9, "\(before)")
    #expect(after >= 0.9, "\(after)")
    #expect(pair.longestGap(at: pair.bob, from: outage.1 + .seconds(1)) <= 120)
  }

  /// Goal: of a call's sound nothing is lost or late because a file goes out beside it.
  /// Method: Alice talks with Bob, and sends Carol a file in a call of its own, over one uplink
  /// without loss; the same without the file.
  @Test(arguments: [1, 2] as [UInt64])
  func `sound of another call is not hurt`(seed: UInt64) throws {
    let alone = try Self.gaps(seed: seed, isSending: false)
    let beside = try Self.gaps(seed: seed, isSending: true)
    #expect(beside.heard >= alone.heard - 3, "\(beside), alone \(alone)")
    #expect(beside.longest <= alone.longest + 60, "\(beside), alone \(alone)")
    #expect(beside.share >= 0.9, "\(beside)")
  }

  private static func gaps(
    seed: UInt64, isSending: Bool
  ) throws -> (heard: Int, longest: Int64, share: Double) {
    let world = CallWorld(seed: seed, rendezvousAccess: .clean(oneWay: .milliseconds(12)))
    world.mediaInterval = .milliseconds(20)
    let line = AccessConditions.clean(oneWay: .milliseconds(12))
    let peers = (0...2).map { index in
      world.addPeer(CallWorld.names[index], line) { $0.policy.mostCalls = 2 }
    }
    try #require(world.run(atMost: .seconds(20)) { peers.allSatisfy(\.isRegistered) })
    world.run(.seconds(1))
    let (alice, bob, carol) = (peers[0], peers[1], peers[2])
    narrow(alice, in: world, loss: 0)
    var calls: [CallID] = []
    for other in [bob, carol] {
      other.habits.answer = .accept(after: .zero)
      alice.habits.talk = nil
      let call = try #require(alice.call(.id(other.id)))
      calls.append(call)
      let isUp = world.run(atMost: .seconds(12)) {
        world.testimony.side(call, at: other.hostID)?.time(of: .connected) != nil
      }
      try #require(isUp)
    }
    world.run(.seconds(2))
    let begin = world.now
    let courier = try Courier(
      world, from: alice, to: carol, in: calls[1], byteCount: isSending ? 20_000_000 : 8)
    if isSending { courier.run(.seconds(30)) } else { world.run(.seconds(30)) }
    let times = bob.heard.filter { $0.call == calls[0] && $0.at >= begin }.map(\.at).sorted()
    let longest = zip(times, times.dropFirst()).map { ($1 - $0).milliseconds }.max() ?? .max
    let share = isSending ? courier.share(from: begin + .seconds(5), to: world.now) : 0
    return (times.count, longest, share)
  }
}
