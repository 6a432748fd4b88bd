import Messaging
import Primitives
import Testing
import Wire

/// Goal: whatever the link does, every message arrives once, in its place, or is reported failed.
/// Method: two channels over real FEEDBACK and a link that loses up to 40 %, reorders, duplicates
/// and corrupts (a corrupt packet fails to open); some hundred messages of 0 to 65 536 bytes.
@Suite struct DeliveryTests {
  struct Sent {
    var side: Int
    var tag: MessageTag
    var stream: StreamID
    var bytes: [UInt8]
    var expiry: Instant
  }

  struct Totals {
    var delivered = 0
    var failed = 0
    var failedButReceived = 0
  }

  static let streams: [StreamID] = [
    .sessionControl, .callControl, .application(8), .application(9),
    .application(10, isOrdered: false), .rendezvous,
  ]

  @Test(arguments: 0..<10)
  func `arrives once and in order, or fails`(decade: UInt64) {
    var totals = Totals()
    for seed in (decade * 51)..<((decade + 1) * 51) { Self.run(seed: seed, &totals) }
    #expect(totals.delivered > 800)
    #expect(totals.failed > 15)
    #expect(totals.delivered > 4 * totals.failed)
  }

  /// Method: the first of three ordered messages is lost until it is 1 s old, or never arrives.
  @Test(arguments: [true, false])
  func `a message behind a missing one is delivered with it, not before`(arrives: Bool) throws {
    var world = TwoSides(LinkConditions(), seed: 1)
    let begin = world.now
    world.passes = { side, bytes, now in
      side != 0 || arrives && now >= begin + .seconds(1)
        || !sightings(in: bytes, at: now).contains { $0.count > 0 && $0.sequence == 0 }
    }
    var tags: [MessageTag] = []
    for number in UInt8(0)..<3 {
      tags.append(
        try world.sides[0].channel.send(
          [number], on: .callControl, life: number == 0 ? .seconds(3) : .seconds(8),
          now: world.now))
      world.run(until: world.now + .milliseconds(10))
    }
    world.run(until: begin + .milliseconds(900))
    #expect(world.sides[0].delivered.isEmpty && world.sides[1].received.isEmpty)
    world.run(until: begin + .seconds(9))
    let wanted = arrives ? tags : Array(tags.dropFirst())
    #expect(Set(world.sides[0].delivered.keys) == Set(wanted))
    #expect(world.sides[1].received.map(\.bytes) == wanted.map { [UInt8($0.rawValue)] })
    for tag in wanted {
      let received = world.sides[1].received.first { $0.bytes == [UInt8(tag.rawValue)] }
      let delivered = try #require(world.sides[0].delivered[tag])
      #expect(received.map { $0.time < delivered } == true)
    }
    let isQuiet = world.isQuiet
    #expect(isQuiet)
  }

  /// What an abandoned message had used of the credit comes back, whether its bytes arrived or not:
  /// 60 messages of 8 KiB, of which every fragment, or every other one, is lost.
  @Test(arguments: [1, 2])
  func `abandoned messages leave no hole in the credit`(kept: UInt8) throws {
    var world = TwoSides(LinkConditions(), limits: .rendezvous, seed: 1)
    var isBlocked = true
    world.passes = { _, bytes, now in
      !isBlocked
        || !sightings(in: bytes, at: now).contains {
          $0.count > 0 && $0.stream == 0x81 && (kept == 1 || $0.index % kept == 0)
        }
    }
    for _ in 0..<60 {
      try world.sides[0].channel.send(
        [UInt8](repeating: 1, count: 8192), on: .rendezvous, life: .seconds(2), now: world.now)
      world.run(until: world.now + .seconds(8))
      #expect(world.sides[0].channel.isIdle)
      #expect(world.sides[1].channel.reassemblyByteCount == 0)
    }
    #expect(world.sides[0].failed.count == 60)
    isBlocked = false
    for _ in 0..<8 {
      try world.sides[0].channel.send(
        [UInt8](repeating: 2, count: 8192), on: .rendezvous, life: .seconds(8), now: world.now)
    }
    world.run(until: world.now + .seconds(4))
    #expect(world.sides[0].delivered.count == 8)
    #expect(world.sides[1].received.count == 8)
  }

  static func run(seed: UInt64, _ totals: inout Totals) {
    var random = RandomSource(seed: seed)
    let base = UInt64.random(in: 1...150, using: &random)
    let conditions = LinkConditions(
      delay: base...(base + UInt64.random(in: 0...100, using: &random)),
      loss: random.unit() * 0.4, duplication: random.unit() * 0.2,
      corruption: random.unit() * 0.05)
    var world = TwoSides(conditions, seed: random.next())
    world.inspect = { Self.checkLimits($0, seed: seed) }
    let sent = Self.sendEverything(&world, random: &random)
    world.run(until: world.now + .seconds(60))
    let isQuiet = world.isQuiet
    #expect(isQuiet, "seed \(seed)")
    for side in 0..<2 {
      #expect(world.sides[side].fault == nil, "seed \(seed)")
      Self.check(
        sent.filter { $0.side == side }, from: world.sides[side], to: world.sides[1 - side],
        seed: seed, &totals)
    }
  }

  static func sendEverything(_ world: inout TwoSides, random: inout RandomSource) -> [Sent] {
    var sent: [Sent] = []
    var hasEmpty: Set<Int> = []
    for _ in 0..<40 {
      let side = Int.random(in: 0...1, using: &random)
      let stream = Int.random(in: 0..<streams.count, using: &random)
      var count = 4
      switch UInt8.random(in: 0..<40, using: &random) {
      case 0: count = Int.random(in: 4...65_536, using: &random)
      case 1: count = 65_536
      case 2: count = Int.random(in: 1090...1110, using: &random)
      case 3 where hasEmpty.insert(side << 8 | stream).inserted: count = 0
      case 4...14: count = Int.random(in: 4...5000, using: &random)
      default: count = Int.random(in: 4...300, using: &random)
      }
      // Every message but the empty one is unlike all others.
      let name = UInt32(sent.count)
      let bytes = (0..<count).map { index in
        index < 4 ? UInt8(truncatingIfNeeded: name >> UInt32(8 * index)) : UInt8(index & 0xFF)
      }
      let life = Duration.milliseconds(Int64.random(in: 300...30_000, using: &random))
      do {
        let tag = try world.sides[side].channel.send(
          bytes, on: streams[stream], life: life, now: world.now)
        sent.append(
          Sent(
            side: side, tag: tag, stream: streams[stream], bytes: bytes,
            expiry: world.now + life))
      } catch {
        #expect(error == .queueFull)
      }
      if random.unit() < 0.5 {
        world.run(until: world.now + .milliseconds(Int64.random(in: 0...300, using: &random)))
      }
    }
    return sent
  }

  static func checkLimits(_ world: TwoSides, seed: UInt64) {
    for side in 0..<2 {
      let me = world.sides[side]
      if me.bytesSent > world.sides[1 - side].granted { Issue.record("seed \(seed): over credit") }
      if me.channel.packetsInFlight > 32 { Issue.record("seed \(seed): over the window") }
      if me.channel.reassemblyByteCount > 131_072 { Issue.record("seed \(seed): keeps too much") }
    }
  }

  static func check(
    _ sent: [Sent], from: Side, to: Side, seed: UInt64, _ totals: inout Totals
  ) {
    #expect(from.delivered.count + from.failed.count == sent.count, "seed \(seed)")
    var places: [StreamID: [[UInt8]: Int]] = [:]
    for (place, message) in sent.enumerated() {
      places[message.stream, default: [:]][message.bytes] = place
    }
    var arrived: Set<Int> = []
    var last: [StreamID: Int] = [:]
    for message in to.received {
      guard let place = places[message.stream]?[message.bytes] else {
        Issue.record("seed \(seed): received what nobody sent")
        continue
      }
      #expect(arrived.insert(place).inserted, "seed \(seed): received twice")
      guard message.stream.isOrdered else { continue }
      #expect(place > last[message.stream, default: -1], "seed \(seed): out of order")
      last[message.stream] = place
    }
    for (place, message) in sent.enumerated() {
      if from.delivered[message.tag] != nil {
        #expect(arrived.contains(place), "seed \(seed): delivered to nobody")
        totals.delivered += 1
      } else if let time = from.failed[message.tag] {
        #expect(time == message.expiry, "seed \(seed): failed at another time than its end")
        totals.failed += 1
        if arrived.contains(place) { totals.failedButReceived += 1 }
      }
    }
  }
}
