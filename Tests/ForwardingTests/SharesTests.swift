import Primitives
import Testing
import Tokens
import Wire

@testable import Forwarding

/// What members of one address may draw of a relay, so that others have theirs
/// (docs/protocol/relay.md §5).
struct SharesTests {
  private static let cocoa = Bytes32(InlineArray(repeating: 3))

  /// An IPv4 address of a network of its own, or of one that is named.
  private static func address(_ host: UInt64, network: UInt64? = nil) -> SeatPrefixes {
    SeatPrefixes(host: host << 8 | 2, site: nil, network: (network ?? host) << 8 | 4)
  }

  /// A channel of one host, whose pictures all others want.
  private func fill(
    _ relay: Relay, _ slots: ClosedRange<UInt32>, in channel: Bytes32, from prefixes: SeatPrefixes
  ) {
    for slot in slots {
      relay.join(slot, slot == slots.first ? .host : .audience, in: channel, from: prefixes)
      relay.want(slot)
    }
  }

  /// Goal: of two channels of one person, whose fragments are short and many, an honest channel
  /// does not notice anything, while the relay writes 1000 packets in 10 ms.
  @Test func `two channels full of pictures are not another's trouble`() {
    let relay = Relay()
    fill(relay, 1...400, in: Relay.tea, from: Self.address(1))
    fill(relay, 401...800, in: Relay.milk, from: Self.address(1))
    for slot in 801...802 as ClosedRange<UInt32> {
      relay.join(slot, in: Self.cocoa, from: Self.address(2))
    }
    relay.holdsBack = true
    relay.forgetReceived()
    for time in 0..<100 as Range<UInt16> {
      relay.now = relay.now + .milliseconds(10)
      for number in 0..<48 as Range<UInt16> {
        relay.show(1, time * 48 + number)
        relay.show(401, time * 48 + number)
      }
      relay.speak(801, time)
      relay.write(1000)
      #expect(relay.heard(802, of: 801).count == Int(time) + 1)
    }
    // A quarter of a second at once, then a second.
    #expect((10_000...20_001).contains(relay.hub.counters.picturesForwarded))
    #expect(relay.hub.counters.tooMany > 15_000 && relay.hub.counters.picturesOverShare > 0)
    #expect(relay.hub.counters.packetsDropped == 0)
  }

  /// Goal: however many channels are greedy, and wherever they are, another one finds room.
  @Test func `places are shared by channels, and sound comes before pictures`() {
    let relay = Relay()
    for channel in 0..<20 as Range<UInt32> {
      let (first, name) = (channel * 200 + 1, Bytes32(InlineArray(repeating: UInt8(channel + 9))))
      for slot in first..<first + 200 {
        let isHost = slot < first + 4
        relay.join(slot, isHost ? .host : .audience, in: name, from: Self.address(UInt64(slot)))
        relay.want(slot)
      }
    }
    for slot in 5001...5003 as ClosedRange<UInt32> {
      relay.join(slot, in: Relay.tea, from: Self.address(UInt64(slot)))
      relay.want(slot)
    }
    relay.holdsBack = true
    relay.forgetReceived()
    for number in 0..<16 as Range<UInt16> {
      for host in 0..<80 as Range<UInt32> { relay.show(host / 4 * 200 + host % 4 + 1, number) }
    }
    #expect(relay.hub.counters.packetsDropped > 100_000)
    relay.show(5001, 1)
    relay.speak(5002, 7)
    relay.write(2)
    #expect(relay.heard(5001, of: 5002).count == 1 && relay.heard(5003, of: 5002).count == 1)
    // Two turns of the twenty others.
    relay.write(21 * 64)
    #expect(relay.pictures(5003).count == 2)
  }

  /// Goal: the server reads its socket after at most 128 packets with pictures.
  @Test func `pictures leave so many at once, and the hub wants to go on at once`() {
    let relay = Relay()
    fill(relay, 1...400, in: Relay.tea, from: Self.address(1))
    relay.holdsBack = true
    relay.forgetReceived()
    relay.show(1, 0)
    #expect(relay.write(2000, turns: 1) == relay.hub.limits.picturesAtOnce)
    #expect(relay.hub.nextDeadline == relay.now)
    #expect(relay.write(2000) == 2 * 399 - relay.hub.limits.picturesAtOnce)
  }

  @Test func `what waits for lines takes places, and gives them back`() {
    var limits = ForwardingLimits()
    limits.waiting = 64
    let relay = Relay(limits)
    relay.hasLines = true
    fill(relay, 1...20, in: Relay.tea, from: Self.address(1))
    fill(relay, 21...40, in: Relay.milk, from: Self.address(2))
    // Time stands still: a member gets one fragment, a channel has half of what is left.
    for number in 0..<8 as Range<UInt16> { relay.show(1, number) }
    #expect(relay.hub.pictures.fragmentCount == 32)
    for number in 0..<8 as Range<UInt16> { relay.show(21, number) }
    #expect(relay.hub.pictures.fragmentCount == 48)
    #expect(relay.hub.counters.picturesForwarded == 19 + 16)
    relay.speak(1, 7)
    #expect(relay.heard(2, of: 1).count == 1)
    // Who goes takes along what waits for it; the rest leaves at the pace of the lines.
    for slot in 21...40 as ClosedRange<UInt32> { relay.hub.remove(slot) }
    #expect(relay.hub.pictures.fragmentCount == 32)
    relay.run(.milliseconds(90))
    #expect(relay.hub.pictures.fragmentCount == 0)
    #expect(relay.hub.counters.picturesForwarded == 19 + 16 + 32 && !relay.hub.pictures.hasReady)
    // Who does not say what it wants gets no more.
    for number in 9..<11 as Range<UInt16> { relay.show(1, number) }
    relay.run(.seconds(11))
    #expect(relay.hub.pictures.fragmentCount == 0 && relay.hub.pictures.watched.isEmpty)
    #expect(relay.hub.nextDeadline == nil)
  }

  @Test func `one address with many channels leaves others their places`() {
    var limits = ForwardingLimits()
    limits.waiting = 64
    limits.waitingPerPrefix = PrefixShares(host: 16, site: 16, network: 24)
    let relay = Relay(limits)
    relay.hasLines = true
    for channel in 0..<6 as Range<UInt32> {
      let (first, name) = (channel * 10 + 1, Bytes32(InlineArray(repeating: UInt8(channel + 9))))
      fill(relay, first...(first + 9), in: name, from: Self.address(1))
    }
    fill(relay, 101...104, in: Self.cocoa, from: Self.address(2))
    for number in 0..<8 as Range<UInt16> {
      for channel in 0..<6 as Range<UInt32> { relay.show(channel * 10 + 1, number) }
    }
    #expect(relay.hub.pictures.fragmentCount == 16)
    for number in 0..<2 as Range<UInt16> { relay.show(101, number) }
    // The first goes at once to each of three members; three wait for each.
    #expect(relay.hub.pictures.fragmentCount == 16 + 9)
  }

  @Test func `one address has so many members with pictures, and all hear`() {
    var limits = ForwardingLimits()
    limits.downlinks = 5
    limits.downlinksPerPrefix = PrefixShares(host: 3, site: 9, network: 4)
    let relay = Relay(limits)
    fill(relay, 1...5, in: Relay.tea, from: Self.address(1, network: 9))
    fill(relay, 6...7, in: Relay.tea, from: Self.address(2, network: 9))
    fill(relay, 8...9, in: Relay.tea, from: Self.address(3))
    relay.show(1, 0)
    relay.speak(1, 7)
    let slots = 2...9 as ClosedRange<UInt32>
    #expect(slots.filter { !relay.pictures($0).isEmpty } == [2, 3, 6, 8])
    #expect(slots.allSatisfy { relay.heard($0, of: 1).count == 1 })
    // Each asks again each 2 s.
    relay.hub.remove(2)
    relay.run(.seconds(1))
    relay.want(4)
    relay.show(1, 1)
    #expect(relay.pictures(4).count == 2)
  }

  @Test func `SleepingPlaces wakes the one that is due first`() {
    var places = SleepingPlaces()
    let start = Instant(nanoseconds: 1_000_000_000)
    var dice: UInt32 = 7
    for number in 0..<200 as Range<UInt32> {
      dice = dice &* 1_664_525 &+ 1_013_904_223
      let place = PictureForwarding.Place(slot: number, seat: number)
      places.insert(place, until: start + .milliseconds(Int64(dice >> 24)))
    }
    #expect(places.popDue(now: start - .milliseconds(1)) == nil)
    var dues: [Instant] = []
    while let (_, due) = places.popDue(now: start + .milliseconds(128)) { dues.append(due) }
    #expect(dues == dues.sorted() && (50..<150).contains(dues.count))
    #expect(places.first.map { $0 > start + .milliseconds(128) } == true)
  }

  private static func relay(stores: Int) -> Relay {
    var limits = ForwardingLimits()
    limits.pictureStores = stores
    limits.fragments = 4
    return Relay(limits)
  }

  @Test func `one address keeps its share of the memory for pictures, and idle memory is free`() {
    let relay = Self.relay(stores: 256)
    for slot in 1...256 as ClosedRange<UInt32> {
      let channel = Bytes32(InlineArray(repeating: UInt8(slot % 16 + 9)))
      relay.join(slot, in: channel, from: Self.address(1))
      relay.show(slot, 0)
    }
    #expect(relay.hub.pictureMemory.count == 32)
    #expect(relay.hub.counters.picturesUnserved == 2 * 224)
    fill(relay, 301...302, in: Relay.tea, from: Self.address(2))
    relay.show(301, 0)
    #expect(relay.pictures(302).count == 2 && relay.hub.pictureMemory.count == 33)
    for number in 1..<11 as Range<UInt16> {
      relay.run(.seconds(1))
      relay.show(301, number)
    }
    #expect(relay.hub.pictureMemory.count == 1)
    relay.run(.seconds(11))
    #expect(relay.hub.pictureMemory.count == 0)
  }

  @Test func `where all memory is taken the network that has most makes room, its idlest first`() {
    let relay = Self.relay(stores: 6)
    for slot in 1...6 as ClosedRange<UInt32> {
      let isMany = slot < 5
      relay.join(slot, from: Self.address(UInt64(slot), network: isMany ? 99 : UInt64(slot)))
      relay.run(.milliseconds(10))
      relay.show(slot, 0)
    }
    relay.show(1, 1)
    func holders() -> [UInt32] {
      (1...9 as ClosedRange<UInt32>).filter { relay.hub.seat($0)?.pictures.store != nil }
    }
    for slot in 7...9 as ClosedRange<UInt32> {
      relay.join(slot, from: Self.address(UInt64(slot)))
      relay.show(slot, 0)
    }
    #expect(holders() == [1, 5, 6, 7, 8, 9])
    #expect(relay.hub.counters.picturesDisplaced == 3)
    // Now each network has one: none makes room for another's second.
    relay.run(.seconds(1))
    relay.show(2, 1)
    #expect(holders() == [1, 5, 6, 7, 8, 9])
  }

  @Test func `a host without memory hears that nobody wants its pictures until there is some`() {
    let relay = Self.relay(stores: 1)
    for slot in 1...3 as ClosedRange<UInt32> {
      relay.join(slot)
      relay.want(slot)
    }
    relay.show(1, 0)
    relay.forgetReceived()
    relay.show(2, 0)
    #expect(relay.wants(2) == [0])
    relay.run(.seconds(2))
    relay.show(1, 1)
    relay.want(2)
    // It has asked again, and wishes were counted again.
    #expect(relay.wants(2) == [0, 0, 0], "\(relay.wants(2))")
    relay.hub.remove(1)
    relay.run(.seconds(2))
    relay.want(2)
    #expect((750_000..<850_000).contains(relay.wants(2).last ?? 0), "\(relay.wants(2))")
    relay.show(2, 1)
    // Two of host 1 before.
    #expect(relay.pictures(3).count == 4)
  }

  @Test func `parts of an address count as long as somebody is there`() {
    var table = OriginTable()
    let (first, second) = (table.add(Self.address(1)), table.add(Self.address(1)))
    #expect(first.host === second.host && first.network === second.network && first.site == nil)
    first.add(2, to: .stores)
    #expect(!second.allows(.stores, PrefixShares(host: 2, site: 9, network: 9)))
    table.remove(first)
    #expect(table.add(Self.address(1)).host === first.host)
    for _ in 0..<2 { table.remove(first) }
    let third = table.add(Self.address(1))
    #expect(third.host !== first.host)
    let pace = PrefixShares(host: 40, site: 40, network: 80)
    let now = Instant(nanoseconds: 1_000_000_000)
    #expect((0..<100).count { _ in third.admitPicture(pace, now: now) } == 11)
    #expect(table.add(nil).admitPicture(pace, now: now))
  }

  @Test func `a line has as many places as are left`() {
    var turns = ForwardingTurns(limit: 8, packetsInTurn: 2)
    let lines = (0..<3).map { _ in ForwardingTurns.Line(limit: 8) }
    func job(_ slot: UInt32) -> ForwardingQueue.Job {
      ForwardingQueue.Job(slot: slot, seat: 1, content: .report)
    }
    for (slot, line) in lines.enumerated() {
      let taken = (0..<9).count { _ in turns.append(job(UInt32(slot)), to: line) }
      #expect(taken == [4, 2, 1][slot])
    }
    #expect(turns.waitingCount == 7)
    turns.empty(lines[1])
    let served = (0..<5).map { _ in turns.popFirst()?.slot }
    #expect(served == [0, 0, 2, 0, 0] && turns.popFirst() == nil && turns.waitingCount == 0)
  }
}
