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

    /// Bytes of the file in a second, as a share of what the line carries beside the sound. They
    /// come in messages of 64,900 bytes: from the first that is there to the last, so that it does
    /// not matter where in a message the time begins and ends.
    func share(from start: Instant, to end: Instant, of rate: Double = rate) -> Double {
      let steps = zip(progress, progress.dropFirst()).filter {
        $1.at >= start && $1.at <= end && $1.count > $0.count
      }.map(\.1)
      guard let first = steps.first, let last = steps.last, last.at > first.at else { return 0 }
      let bits = Double(last.count - first.count) * 8_000
      return bits / Double((last.at - first.at).milliseconds) / (rate - soundRate)
    }
  }

  private static let rate = 2_000_000.0
  /// Frames of 80 bytes, 50 a second, with all their headers.
  private static let soundRate = 8.0 * 50 * (80 + 28 + 28)

  /// Goal: where the delay varies a file has 0.9 of what the line carries beside the sound, with
  /// its headers, and no gap of the sound is longer than 160 ms.
  /// Method: lines with long round trips, jitter of several laws, the call's sound beside the file.
  @Test(
    arguments: [
      (2_000_000, 200, .uniform(upTo: .milliseconds(10)), 0),
      (4_000_000, 300, .uniform(upTo: .milliseconds(8)), 0),
      (1_200_000, 150, .normal(deviation: .milliseconds(8)), 0),
      (3_000_000, 170, .exponential(mean: .milliseconds(3)), 0.005),
    ] as [(UInt64, Int64, LinkConditions.Jitter, Double)])
  func `a file has the line where its delay varies`(
    rate: UInt64, roundTrip: Int64, jitter: LinkConditions.Jitter, loss: Double
  ) throws {
    var shares: [Double] = []
    for seed in 1...3 as ClosedRange<UInt64> {
      let pair = TwoPeers(seed: seed, roundTrip: .milliseconds(roundTrip))
      let call = try pair.connect()
      let world = pair.world
      let begin = world.now
      var access = world.network.conditions(of: pair.alice.site)
      access.up.rate = LinkConditions.Rate(rate, queue: .time(.milliseconds(300)))
      access.up.loss = loss > 0 ? .random(loss) : .none
      access.up.jitter = jitter
      access.down.jitter = jitter
      world.network.setConditions(access, of: pair.alice.site, now: world.now)
      let courier = try Courier(
        world, from: pair.alice, to: pair.bob, in: call, byteCount: Int(rate) * 5)
      courier.run(.seconds(30))
      let share = courier.share(from: begin + .seconds(8), to: world.now, of: Double(rate))
      shares.append(share * Self.overhead)
      #expect(pair.longestGap(at: pair.bob, from: begin + .seconds(6)) <= 160)
    }
    #expect(shares.sorted()[1] >= 0.9, "\(shares)")
  }

  /// A packet of bulk as it is on the line, over what it carries of the file.
  private static let overhead = 1_163.0 / 1_100

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
