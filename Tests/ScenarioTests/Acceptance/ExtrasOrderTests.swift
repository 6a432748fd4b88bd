import Peer
import Primitives
import Simulation
import Testing
import Wire

@testable import Earshot

/// Scenarios 27, 38 and 39: attacks on a call, volumes, data streams (docs/scenarios.md).
@Suite struct ExtrasOrderTests {
  private typealias Pair = MediaOrderTests.Pair

  /// Keeps the first thousand packets on their way to somebody.
  private final class Eavesdropper {
    private(set) var packets: [[UInt8]] = []

    init(on network: SimulatedNetwork, toward address: SocketAddress) {
      network.tap = { [unowned self] seen in
        guard seen.destination == address, packets.count < 1_000 else { return }
        var bytes: [UInt8] = []
        for index in 0..<seen.bytes.count { bytes.append(seen.bytes[index]) }
        packets.append(bytes)
      }
    }
  }

  @Test func `27: flipped bits, old packets, and packets of somebody else`() throws {
    let order = EventOrder("27-attacks")
    let pair = Pair()
    let network = pair.world.network
    let (alice, bob) = (
      network.address(of: pair.two.alice.hostID), network.address(of: pair.two.bob.hostID)
    )
    let ear = Eavesdropper(on: network, toward: alice)
    try pair.talk(.seconds(20))
    let call = try #require(pair.call)
    #expect(ear.packets.count == 1_000)
    for packet in ear.packets { #expect(!Self.contains(packet, Array("of-the-canaries".utf8))) }
    let calm = try #require(pair.two.alice.statistics(of: call))
    var start = pair.world.now
    let other = SocketAddress(v4: 198, 51, 100, 9, port: 9)
    for (index, packet) in ear.packets.enumerated() {
      network.inject(
        packet, from: index % 2 == 0 ? bob : other, to: alice, now: pair.world.now)
      if index % 20 == 0 { pair.run(.milliseconds(100)) }
    }
    pair.run(.seconds(2))
    order.record("1000 old packets, half of them from elsewhere", pair.programs, since: start)
    let replayed = try #require(pair.two.alice.statistics(of: call))
    #expect(replayed.replays >= calm.replays + 900, "\(replayed.replays)")
    #expect(replayed.epoch == calm.epoch && replayed.pathChanges == calm.pathChanges)
    start = pair.world.now
    var access = network.conditions(of: pair.two.alice.site)
    access.down.corruption = 0.05
    network.setConditions(access, of: pair.two.alice.site, now: start)
    pair.run(.seconds(10))
    order.record("a bit of every 20th packet is flipped for 10 s", pair.programs, since: start)
    let flipped = try #require(pair.two.alice.statistics(of: call))
    #expect(flipped.failedOpenings > replayed.failedOpenings)
    try order.expectGolden()
    withExtendedLifetime(ear) {}
  }

  private static func contains(_ bytes: [UInt8], _ canary: [UInt8]) -> Bool {
    guard bytes.count >= canary.count else { return false }
    return (0...(bytes.count - canary.count)).contains { start in
      bytes[start..<(start + canary.count)].elementsEqual(canary)
    }
  }

  @Test func `38: volumes of six, and who speaks`() throws {
    let order = EventOrder("38-volumes")
    let loudness = [4_000, 1_000, 2_000, 4_000, 8_000, 16_000] as [Double]
    let (world, programs) = try NumbersOrderTests.party(6) { index in
      CallOptions(source: Whistle(loudness[index]), sink: Listener())
    }
    let alice = programs[0]
    var calls: [Wire.CallID] = []
    for other in programs.dropFirst() { calls.append(try alice.call(other)) }
    world.run(.seconds(4))
    var start = world.now
    alice.tellVolumes(each: .milliseconds(200))
    world.run(.milliseconds(10_050))
    order.record("10 s of six who whistle", [alice], since: start)
    let own = alice.reports.filter(\.report.isLocal)
    let others = alice.reports.filter { !$0.report.isLocal }
    #expect(own.count == 50 && others.count == 50)
    #expect(others.allSatisfy { $0.report.speakers.count == 3 })
    #expect(alice.reports.allSatisfy { (0...255).contains($0.report.totalVolume) })
    start = world.now
    for call in calls { try alice.switchMedia(call) { $0.audio.isMuted = true } }
    world.run(.seconds(2))
    order.record("alice mutes herself", [alice], since: start)
    start = world.now
    try programs[5].switchMedia(calls[4]) { $0.audio.isMuted = true }
    world.run(.seconds(22))
    order.record("the loudest, frank, mutes himself", [alice], since: start)
    try order.expectGolden()
    withExtendedLifetime(programs) {}
  }

  @Test func `39: data streams where a tenth is lost, their limits, and a cut`() throws {
    let order = EventOrder("39-data-streams")
    let pair = Pair(change: { $0.loss = .random(0.05) })
    try pair.talk(.seconds(3))
    let call = try #require(pair.call)
    let record = try #require(pair.alice.records[call])
    var loose = DataStreamOptions()
    (loose.isOrdered, loose.isReliable) = (false, false)
    try record.data.set(10, loose)
    var start = pair.world.now
    for number in UInt16(0)..<300 {
      let bytes = [UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 7, count: 148)
      try pair.alice.send(bytes, stream: 9, on: call)
      pair.run(.milliseconds(33))
    }
    pair.run(.seconds(5))
    order.record("300 messages in order", pair.programs, since: start)
    let came = pair.bob.messages.map { UInt16($0.bytes[0]) << 8 | UInt16($0.bytes[1]) }
    #expect(came == Array(0..<300))
    start = pair.world.now
    #expect(throws: PeerRefusal.self) {
      try pair.alice.send([UInt8](repeating: 0, count: 65_537), stream: 9, on: call)
    }
    #expect(throws: EarshotError.self) { try pair.alice.send([1], stream: 7, on: call) }
    for stream in UInt8(11)..<25 { try record.data.set(stream, DataStreamOptions()) }
    #expect(throws: EarshotError.self) { try record.data.set(25, DataStreamOptions()) }
    try pair.alice.send([UInt8](repeating: 0, count: 65_536), stream: 9, on: call)
    pair.run(.seconds(10))
    order.record("too long, the longest, and one stream too many", pair.programs, since: start)
    start = pair.world.now
    try Self.sendInCut(pair, call)
    order.record("60 that are not repeated, in a cut of 6 s", pair.programs, since: start)
    try order.expectGolden()
  }

  /// A message each 100 ms while alice's line is away, and one of each kind when it is back.
  private static func sendInCut(_ pair: Pair, _ call: Wire.CallID) throws {
    pair.world.network.setDown(up: true, down: true, of: pair.two.alice.site, now: pair.world.now)
    for _ in 0..<60 {
      try pair.alice.send([UInt8](repeating: 1, count: 150), stream: 10, on: call)
      pair.run(.milliseconds(100))
    }
    pair.world.network.setDown(up: false, down: false, of: pair.two.alice.site, now: pair.world.now)
    try pair.alice.send([2], stream: 9, on: call)
    try pair.alice.send([3], stream: 10, on: call)
    pair.run(.seconds(10))
  }
}
