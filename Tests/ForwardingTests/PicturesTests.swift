import Primitives
import Testing
import Tokens
import Wire

@testable import Forwarding

/// `PictureForwarding`: who gets pictures, and what is sent again (docs/protocol/relay.md §4).
struct PicturesTests {
  private let relay = Relay()

  @Test func `pictures go to those who want them, for as long as they say so`() {
    for slot in 1...3 as ClosedRange<UInt32> { relay.join(slot) }
    relay.join(4, .audience)
    relay.want(2)
    relay.want(4)
    relay.want(3, 0)
    relay.show(1, 0)
    for slot in [2, 4] as [UInt32] {
      #expect(relay.pictures(slot).map(\.header) == [0, 1].map { Relay.picture(0, $0) })
      #expect(relay.pictures(slot).map(\.bytes) == [[1, 0, 0], [1, 1, 0]])
      #expect(relay.received[slot]?.last?.sources == [1: 1])
    }
    #expect(relay.pictures(3).isEmpty && relay.pictures(1).isEmpty)
    #expect(PictureForwarding(ForwardingLimits()).nextDeadline == nil)
    relay.run(.seconds(11))
    relay.forgetReceived()
    relay.show(1, 1)
    #expect(relay.pictures(2).isEmpty)
    // An audience shows nothing.
    relay.want(2)
    relay.show(4, 0)
    #expect(relay.pictures(2).isEmpty)
  }

  @Test func `a host is told whether anybody wants its pictures, at once where that is new`() {
    for slot in 1...3 as ClosedRange<UInt32> { relay.join(slot) }
    relay.want(1, 0)
    #expect(relay.wants(1) == [0] && relay.wants(3).isEmpty)
    relay.want(2, 500_000)
    #expect(relay.wants(1) == [0, 500_000] && relay.wants(2) == [0])
    relay.want(3, 700_000)
    relay.now = relay.now + .seconds(2)
    relay.want(1, 0)
    #expect(relay.wants(1).last == 700_000)
    // No more than the best line carries, as far as it is known.
    relay.want(3, 900_000)
    relay.now = relay.now + .seconds(2)
    relay.want(1, 0)
    #expect((750_000..<850_000).contains(relay.wants(1).last ?? 0), "\(relay.wants(1))")
    // Who says it too often is not heard.
    let before = relay.hub.counters.tooMany
    for _ in 0..<20 { relay.want(1, 0) }
    #expect(relay.hub.counters.tooMany > before + 10)
  }

  @Test func `low streams are for who knows of them, and none is made for who has the usual one`() {
    for slot in 1...3 as ClosedRange<UInt32> { relay.join(slot) }
    relay.want(1, 0, low: 100_000)
    relay.want(2, low: 0)
    relay.want(3)
    for number in 0..<8 as Range<UInt16> {
      relay.show(1, number)
      relay.show(1, number, stream: 1)
      relay.run(.milliseconds(100))
    }
    relay.want(1, 0, low: 100_000)
    for slot in [2, 3] as [UInt32] {
      #expect(relay.pictures(slot).count == 16)
      #expect(relay.pictures(slot).allSatisfy { $0.header.stream == 0 })
    }
    #expect(relay.lows(1).allSatisfy { $0.bitsPerSecond == 0 } && !relay.lows(1).isEmpty)
    #expect(relay.lows(2).first == ChannelLowFrame(view: .usual, bitsPerSecond: 0))
    #expect(relay.lows(3).isEmpty && !relay.wants(3).isEmpty)
    // Of who has said nothing of low streams none is kept.
    relay.want(2, 0, low: 0)
    relay.forgetReceived()
    relay.show(3, 0, stream: 1)
    #expect(relay.pictures(2).isEmpty)
  }

  @Test func `a low stream is no larger than twice what its host has said`() {
    for (offer, most) in [(8_000, 400...500), (500_000, 0...0), (0, 600...600)]
      as [(
        UInt32, ClosedRange<UInt64>
      )]
    {
      let relay = Relay()
      for slot in 1...2 as ClosedRange<UInt32> { relay.join(slot) }
      relay.want(2, low: 0)
      relay.want(1, 0, low: offer)
      let before = relay.hub.counters.tooMany
      for number in 0..<300 as Range<UInt16> { relay.show(1, number, stream: 1) }
      let refused = relay.hub.counters.tooMany - before
      #expect(most.contains(refused), "\(offer) bit/s: \(refused) of 600")
    }
  }

  @Test func `what one member lacks is sent again to it alone, or asked of the host once`() {
    for slot in 1...3 as ClosedRange<UInt32> { relay.join(slot) }
    relay.want(2)
    relay.want(3)
    relay.show(1, 0, fragments: 0..<1, of: 3)
    relay.show(1, 0, fragments: 2..<3, of: 3)
    relay.forgetReceived()
    relay.ask(2, VideoNackFrame.Entry(number: 0, first: 0, last: 255))
    relay.ask(3, VideoNackFrame.Entry(number: 0, first: 1, last: 1))
    #expect(relay.pictures(2).map(\.header.fragmentIndex) == [0, 2])
    #expect(relay.pictures(2).allSatisfy { $0.header.isRetransmission })
    #expect(relay.pictures(3).isEmpty)
    #expect(relay.requests(1).first?.entries == [.init(number: 0, first: 1, last: 1)])
    // It comes again, and goes to all who want it; once.
    relay.forgetReceived()
    relay.show(1, 0, fragments: 1..<2, of: 3, isAgain: true)
    relay.show(1, 0, fragments: 1..<2, of: 3, isAgain: true)
    for slot in [2, 3] as [UInt32] {
      #expect(relay.pictures(slot).map(\.header.fragmentIndex) == [1])
    }
    // Of a picture that nobody here knows the host is asked as well.
    relay.ask(2, VideoNackFrame.Entry(number: 7, first: 0, last: 255))
    #expect(relay.requests(1).last?.entries == [.init(number: 7, first: 0, last: 255)])
  }

  @Test func `requests for a key frame are one, and those of strangers none`() {
    for slot in 1...5 as ClosedRange<UInt32> { relay.join(slot) }
    for slot in 2...4 as ClosedRange<UInt32> { relay.want(slot) }
    relay.show(1, 1)
    for slot in 2...4 as ClosedRange<UInt32> { relay.ask(slot, keyFrame: true) }
    // Who wants no pictures needs none, and there is no source 9.
    relay.ask(5, keyFrame: true)
    relay.ask(2, source: 9, keyFrame: true)
    #expect(relay.requests(1) == [Relay.Request(wantsKeyFrame: true, entries: [])])
    #expect(relay.hub.counters.keyFrameRequestsMerged == 2)
    relay.now = relay.now + .milliseconds(300)
    relay.ask(3, keyFrame: true)
    #expect(relay.requests(1).count == 2)
  }

  @Test func `more than a host may show, and more hosts than may, are dropped`() {
    var limits = ForwardingLimits()
    limits.pictureBytesPerSecond = 1000
    limits.pictureSources = 1
    let relay = Relay(limits)
    for slot in 1...3 as ClosedRange<UInt32> { relay.join(slot) }
    relay.want(3)
    for number in 0..<100 as Range<UInt16> { relay.show(1, number) }
    #expect((50...80).contains(relay.pictures(3).count), "\(relay.pictures(3).count)")
    relay.forgetReceived()
    relay.show(2, 0)
    #expect(relay.pictures(3).isEmpty)
    // Who has gone makes room.
    relay.hub.remove(1)
    relay.run(limits.pictureRefusal)
    relay.show(2, 1)
    #expect(relay.pictures(3).count == 2)
  }

  @Test func `pictures of all channels together have their memory`() {
    var limits = ForwardingLimits()
    limits.pictureStores = 2
    limits.fragments = 4
    let relay = Relay(limits)
    for slot in 1...3 as ClosedRange<UInt32> { relay.join(slot) }
    relay.want(3)
    relay.show(1, 0)
    relay.show(2, 0)
    #expect(relay.hub.pictureMemory.count == 2)
    relay.show(3, 0)
    #expect(relay.hub.pictureMemory.count == 2 && relay.hub.counters.picturesUnserved == 2)
    relay.hub.remove(1)
    #expect(relay.hub.pictureMemory.count == 1)
    relay.run(limits.pictureRefusal)
    relay.show(3, 1)
    #expect(relay.hub.pictureMemory.count == 2)
  }

  @Test func `memory is given back with its part`() {
    var limits = ForwardingLimits()
    limits.pictureStores = 1
    let memory = PictureMemory(limits)
    func makePart() -> PictureMemory.Part? { memory.makePart(1, SeatOrigin(), now: relay.now) }
    var part = makePart()
    #expect(part != nil && makePart() == nil && memory.count == 1)
    part = nil
    #expect(memory.count == 0 && makePart() != nil)
  }

  @Test func `the most that is wanted is another's`() {
    var wanted = WantedRates()
    #expect(wanted.most(without: 1, among: [], now: relay.now) == 0)
    let isTold = [(UInt32(5), UInt32(1)), (9, 2), (7, 3)].map { wanted.add($0.0, of: $0.1) }
    #expect(isTold == [true, true, false])
    #expect(wanted.most(without: 2, among: [], now: relay.now) == 7)
    #expect(wanted.most(without: 3, among: [], now: relay.now) == 9)
    #expect(wanted.most(without: 3, among: [], now: relay.now + .seconds(1)) == 0)
  }

  /// Who wants pictures, no more, and again, twice a second.
  @Test func `a wish that comes and goes does not make the relay tell all hosts`() {
    for slot in 1...20 as ClosedRange<UInt32> {
      relay.join(slot)
      relay.want(slot, slot == 2 || slot == 3 ? 500_000 : 0)
    }
    relay.forgetReceived()
    for _ in 0..<10 {
      relay.run(.milliseconds(500))
      relay.want(4, 500_000)
      relay.run(.milliseconds(500))
      relay.want(4, 0)
    }
    #expect(relay.wants(1).count <= 2, "\(relay.wants(1))")
    // Each of its words is answered; besides it hears what the others hear.
    #expect(relay.wants(4).count == 20 + relay.wants(1).count, "\(relay.wants(4))")
  }

  /// A member that asks for what nobody has, in packets full of it.
  @Test func `each run of fragments that is asked for counts`() {
    for slot in 1...2 as ClosedRange<UInt32> { relay.join(slot) }
    relay.want(2)
    relay.show(1, 0)
    let before = relay.hub.counters.tooMany
    for number in 0..<300 as Range<UInt16> {
      relay.ask(2, VideoNackFrame.Entry(number: 100 + number, first: 0, last: 255))
    }
    #expect(relay.hub.counters.tooMany - before >= 190)
  }

  @Test func `what is wanted holds for a while, and repairs have a pace`() {
    var pictures = SeatPictures()
    pictures.wish = (1, relay.now + .seconds(10))
    #expect(pictures.isWanted(now: relay.now + .seconds(9)))
    #expect(!pictures.isWanted(now: relay.now + .seconds(10)))
    let limits = ForwardingLimits()
    let admitted = (0..<1000).count { _ in pictures.admitRepair(limits, now: relay.now) }
    #expect((200...202).contains(admitted))
  }

  @Test func `a store finds what it has, and not what newer fragments have overwritten`() {
    var store = PictureStore(capacity: 4)
    let bytes: [UInt8] = [1, 2, 3]
    for fragment in 0..<3 as Range<UInt8> {
      #expect(store.append(Relay.picture(9, fragment, of: 3), bytes.span) != nil)
    }
    #expect(store.append(Relay.picture(9, 1, of: 3), bytes.span) == nil)
    #expect(store.find(9, 1) == 2 && store.lastFragment(of: 9) == 2 && store.find(8, 0) == nil)
    for fragment in 0..<2 as Range<UInt8> {
      _ = store.append(Relay.picture(10, fragment), bytes.span)
    }
    #expect(store.find(9, 0) == nil && store.find(9, 1) == 2 && store[1] == nil)
    // The same number at another time is of a stream that has begun anew.
    var anew = Relay.picture(10, 1)
    anew.mediaTime += 9
    #expect(store.append(anew, bytes.span) == 6 && store.find(10, 1) == 6)
    #expect(store.append(anew, bytes.span) == nil && store.newestFrame == 10)
    // 64 frames later a number stands at the same place.
    #expect(store.find(73, 1) == nil)
  }
}
