import Audio
import Primitives
import Simulation
import Testing
import Wire

@testable import Peer

/// What the line dropped, what the receiver says that it lost, and what it told the sender: one
/// number, also after an outage (docs/decisions/0056).
@Suite struct LossAgreementTests {
  /// Which way nothing passes.
  enum Cut: String, CaseIterable, Sendable { case both, fromAlice, fromBob }

  /// One direction of a call, in frames.
  private struct Way: CustomStringConvertible {
    var made = 0
    var sent = 0
    var dropped = 0
    var lostByReceiver = 0
    var lostBySender = 0
    var description: String {
      "made \(made), sent \(sent), dropped \(dropped), receiver \(lostByReceiver), "
        + "sender \(lostBySender)"
    }
  }

  /// A call with the pipelines of a program at both ends.
  private struct Talk: ~Copyable {
    let pair: TwoPeers
    let call: CallID
    var alice: AudioEnd
    var bob: AudioEnd
    private let before: (alice: MediaCounters, bob: MediaCounters)

    static func make(
      seed: UInt64, absence: Duration = .zero, frame: FrameLength = .milliseconds20,
      change: (inout LinkConditions) -> Void = { _ in }
    ) throws -> Talk {
      let pair = TwoPeers(seed: seed, roundTrip: .milliseconds(60), change: change)
      for peer in [pair.alice, pair.bob] { peer.habits.absence = absence }
      let call = try pair.connect()
      for peer in [pair.alice, pair.bob] { peer.isSilent = true }
      pair.world.mediaInterval = .seconds(3600)
      pair.world.run(.milliseconds(200))
      // Or the simulated people would take the frames out of their machines.
      for peer in [pair.alice, pair.bob] { peer.host.observe = { _, _ in } }
      let before = (
        alice: try #require(pair.alice.statistics(of: call)?.media),
        bob: try #require(pair.bob.statistics(of: call)?.media)
      )
      var settings = AudioEngine.Settings(
        OpusEncoder.Settings(frameLength: frame, complexity: 0))
      settings.asksAgain = false
      let alice = try AudioEnd(settings)
      let bob = try AudioEnd(settings)
      return Talk(pair, call, alice, bob, before)
    }

    private init(
      _ pair: TwoPeers, _ call: CallID, _ alice: consuming AudioEnd, _ bob: consuming AudioEnd,
      _ before: (alice: MediaCounters, bob: MediaCounters)
    ) {
      self.pair = pair
      self.call = call
      self.alice = alice
      self.bob = bob
      self.before = before
    }

    mutating func run(seconds: Int) throws {
      for _ in 0..<(seconds * 200) {
        pair.world.run(.milliseconds(5))
        try Self.tick(&alice, pair.alice, call, now: pair.world.now)
        try Self.tick(&bob, pair.bob, call, now: pair.world.now)
      }
    }

    private static func tick(
      _ end: inout AudioEnd, _ peer: SimulatedPeer, _ call: CallID, now: Instant
    ) throws {
      try peer.host.command(now: now) { machine, now in try end.tick(&machine, call, now: now) }
    }

    func ways() throws -> (fromAlice: Way, fromBob: Way) {
      let alicesMedia = try #require(pair.alice.statistics(of: call)?.media)
      let bobsMedia = try #require(pair.bob.statistics(of: call)?.media)
      return (
        way(alice, bob, alicesMedia, before.alice, bobsMedia, before.bob),
        way(bob, alice, bobsMedia, before.bob, alicesMedia, before.alice)
      )
    }

    private func way(
      _ from: borrowing AudioEnd, _ to: borrowing AudioEnd, _ out: MediaCounters,
      _ outBefore: MediaCounters, _ into: MediaCounters, _ intoBefore: MediaCounters
    ) -> Way {
      var way = Way()
      way.made = Int(from.engine.sender.statistics.framesSent)
      way.sent = Int(out.packetsSent - outBefore.packetsSent)
      way.dropped = way.sent - Int(into.packetsReceived - intoBefore.packetsReceived)
      way.lostByReceiver = Int(to.engine.receiver.buffer.statistics.fates.lost)
      way.lostBySender = Int(from.engine.account.remote.framesLost)
      return way
    }
  }

  private static func expectAgreement(_ way: Way, _ story: String) {
    // What is on its way at the end is not dropped.
    let tolerance = 5 + way.sent / 50
    #expect(abs(way.lostByReceiver - way.dropped) <= tolerance, "\(way), \(story)")
    #expect(abs(way.lostBySender - way.dropped) <= tolerance, "\(way), \(story)")
  }

  @Test(arguments: [5, 10, 18], Cut.allCases)
  func `after an outage both sides count what the line dropped`(seconds: Int, cut: Cut) throws {
    var talk = try Talk.make(seed: UInt64(seconds))
    try talk.run(seconds: 3)
    let pair = talk.pair
    pair.world.network.setDown(
      up: cut != .fromBob, down: cut != .fromAlice, of: pair.alice.site, now: pair.world.now)
    try talk.run(seconds: seconds)
    pair.world.network.setDown(up: false, down: false, of: pair.alice.site, now: pair.world.now)
    try talk.run(seconds: 4)
    let ways = try talk.ways()
    let story = "\(seconds) s, \(cut.rawValue)"
    Self.expectAgreement(ways.fromAlice, "from Alice, \(story)")
    Self.expectAgreement(ways.fromBob, "from Bob, \(story)")
    // The test is of something: where the cut is, frames are lost or not sent.
    for (way, isCut) in [(ways.fromAlice, cut != .fromBob), (ways.fromBob, cut != .fromAlice)] {
      #expect(isCut == (way.dropped > 20), "\(way), \(story)")
      if seconds == 18 { #expect(way.made - way.sent > 100, "\(way), \(story)") }
    }
  }

  /// The numbers on the wire have 16 bits: an absence has more frames than they tell apart.
  @Test(arguments: [(720, 20), (720, 10)])
  func `after an absence both sides count what the line dropped`(
    seconds: Int, milliseconds: Int
  ) throws {
    var talk = try Talk.make(
      seed: UInt64(seconds), absence: .seconds(1200),
      frame: milliseconds == 10 ? .milliseconds10 : .milliseconds20)
    try talk.run(seconds: 3)
    let pair = talk.pair
    pair.world.network.setDown(up: true, down: true, of: pair.alice.site, now: pair.world.now)
    try talk.run(seconds: seconds)
    pair.world.network.setDown(up: false, down: false, of: pair.alice.site, now: pair.world.now)
    try talk.run(seconds: 6)
    // A second outage is counted as before.
    pair.world.network.setDown(up: true, down: true, of: pair.alice.site, now: pair.world.now)
    try talk.run(seconds: 2)
    pair.world.network.setDown(up: false, down: false, of: pair.alice.site, now: pair.world.now)
    try talk.run(seconds: 6)
    let ways = try talk.ways()
    let story = "\(seconds) s, frames of \(milliseconds) ms"
    for (way, name) in [(ways.fromAlice, "Alice"), (ways.fromBob, "Bob")] {
      Self.expectAgreement(way, "from \(name), \(story)")
      #expect(way.made - way.sent > (seconds - 20) * 1000 / milliseconds, "\(way), \(story)")
    }
  }

  @Test(arguments: [1, 2] as [UInt64])
  func `random loss is counted to the frame`(seed: UInt64) throws {
    var talk = try Talk.make(seed: seed) { $0.loss = .random(0.03) }
    try talk.run(seconds: 20)
    let ways = try talk.ways()
    for way in [ways.fromAlice, ways.fromBob] {
      #expect(way.made == way.sent && way.dropped > 30, "\(way)")
      // At most four are on their way, or at the end of what came.
      #expect((0...4).contains(way.dropped - way.lostByReceiver), "\(way)")
      // The last report is up to 200 ms old.
      #expect((0...5).contains(way.lostByReceiver - way.lostBySender), "\(way)")
    }
  }

  @Test func `the count is said again and again, in case its packet is lost`() {
    var unsent = UnsentFrames()
    #expect(!unsent.isDue)
    unsent.countUnsent()
    unsent.countUnsent()
    #expect(unsent.count == 2)
    let said = (0..<500).filter { _ in
      defer { unsent.countSent(isHeard: true) }
      return unsent.isDue
    }
    #expect(said.count == 108 && Array(said.prefix(100)) == Array(0..<100))
    unsent.countUnsent()
    for _ in 0..<200 { unsent.countSent(isHeard: false) }
    #expect(unsent.isDue, "in an outage each frame says it")
  }

  @Test func `an entry is shown in place, and then gone`() {
    var queue = AudioFrameQueue(capacity: 2)
    let body: [UInt8] = [5, 6, 7]
    let isKept = queue.push(body.span, AudioFrameQueue.Entry(mediaTime: 9, kind: .report))
    #expect(isKept)
    let shown = queue.pop { bytes, entry in
      var sum = 0
      for index in bytes.indices { sum += Int(bytes[index]) }
      return (sum: sum, kind: entry.header.kind)
    }
    #expect(shown?.sum == 18 && shown?.kind == .report && queue.isEmpty)
    let again = queue.pop { _, _ in true }
    #expect(again == nil)
  }

  @Test func `a frame that leaves says how many did not`() throws {
    for hasCopies in [false, true] {
      let body: [UInt8] = hasCopies ? [0x02, 3, 7, 7, 7, 9, 9] : [9, 9]
      var queue = AudioFrameQueue(capacity: 1)
      #expect(queue.headerEnd == nil && !queue.isHeadFrame && !queue.isFull)
      let isKept = queue.push(body.span, AudioFrameQueue.Entry(hasCopies: hasCopies))
      #expect(isKept && queue.isFull && queue.isHeadFrame)
      let end = try #require(queue.headerEnd)
      var packet: [UInt8] = []
      packet.append(addingCapacity: 100) {
        _ = queue.pop(into: &$0, saying: 65_536 + 513, behind: end)
      }
      let parts = try AudioBody(packet.span, hasCopies: true)
      #expect(parts.unsentCount == 513 && parts.primary.count == 2)
      #expect(parts.copyCount == (hasCopies ? 2 : 1) && queue.isEmpty)
    }
    var carriers = AudioFrameQueue(capacity: 1)
    let carrier: [UInt8] = [0x02, 1, 5]
    let isKept = carriers.push(carrier.span, AudioFrameQueue.Entry(hasCopies: true))
    #expect(isKept && !carriers.isHeadFrame, "only copies")
  }
}
