import Primitives
import Testing
import Tokens
import Wire

@testable import Forwarding

/// Whose sealed frame goes to whom (docs/protocol/relay.md §3, §4).
struct ForwardingHubTests {
  private let relay = Relay()

  @Test func `a host's frame goes to all others of its channel, and to nobody else`() {
    for slot in 1...3 as ClosedRange<UInt32> { relay.join(slot) }
    relay.join(4, .audience)
    relay.join(5, in: Relay.milk)
    #expect(relay.speak(1, 100))
    for slot in [2, 3, 4] as [UInt32] {
      #expect(relay.heard(slot, of: 1).map(\.bytes) == [Relay.body(1, 100)])
      #expect(relay.heard(slot, of: 1).map(\.label) == [Relay.label(100)])
    }
    #expect(relay.received[1] == nil && relay.received[5] == nil)
    #expect(relay.hub.roomCount == 2 && relay.hub.takenCount == 5)
  }

  @Test func `a frame costs at most 44 bytes above the codec once its source is known`() {
    relay.join(1)
    relay.join(2)
    for time in 0..<100 as Range<UInt16> {
      relay.now = relay.now + .milliseconds(20)
      relay.speak(1, time * 2)
    }
    let packets = relay.received[2] ?? []
    #expect(packets.count == 100)
    // SFrame takes 13 of what stands for a sealed frame (docs/protocol/sframe.md §1).
    let overhead = packets.map { $0.byteCount - (80 - 13) }
    #expect(overhead.suffix(40).count { $0 > 44 } <= 1)
    #expect(overhead.max() == 43 + ChannelSourceFrame.byteCount)
    #expect(overhead.suffix(60).reduce(0, +) <= 60 * 44)
  }

  @Test func `an audience publishes nothing, and what only a relay says counts as wrong`() {
    relay.join(1)
    relay.join(2, .audience)
    relay.speak(2, 1)
    #expect(relay.received[1] == nil && relay.hub.counters.audioNotAllowed == 1)
    #expect(!relay.receive(1) { ChannelSourceFrame(source: 1, uid: 9).write(to: &$0) })
    #expect(!relay.receive(1) { ChannelWordFrame.writeCard([1].span, uid: 2, to: &$0) })
    #expect(!relay.receive(9) { ChannelWordFrame.writeQuestion(uid: 2, to: &$0) })
  }

  @Test func `a member that says nothing any more is sent nothing, until it does`() {
    for slot in 1...3 as ClosedRange<UInt32> { relay.join(slot) }
    func hears(_ slot: UInt32) -> Bool {
      relay.received[slot]?.contains { !$0.audio.isEmpty } ?? false
    }
    relay.speak(2, 0)
    relay.speak(3, 0)
    for second in 1...40 as ClosedRange<UInt16> {
      relay.now = relay.now + .seconds(1)
      relay.forgetReceived()
      relay.speak(1, second * 100)
      // A PING each six seconds, of which every other is lost: it is there.
      if second % 12 == 0 { relay.receive(3) { PingFrame(token: 1).write(to: &$0) } }
      #expect(hears(3), "\(second)")
      #expect(hears(2) == (second < 15), "\(second)")
    }
    relay.receive(2) { PingFrame(token: 1).write(to: &$0) }
    relay.forgetReceived()
    relay.speak(1, 4100)
    #expect(hears(2))
  }

  @Test func `without a confirmed session nobody hears and nobody speaks`() {
    relay.join(1)
    relay.hub.reserve(
      2, for: SeatClaim(channel: Relay.tea, uid: 2, role: .host), card: [])
    #expect(!relay.speak(2, 1))
    relay.speak(1, 1)
    #expect(relay.received.isEmpty)
    relay.hub.confirm(2)
    relay.speak(1, 2)
    #expect(relay.heard(2, of: 1).count == 1)
  }

  @Test func `of more than three who speak the three loudest are heard, and no other for a moment`()
  {
    for slot in 1...6 as ClosedRange<UInt32> { relay.join(slot) }
    let levels: [UInt32: UInt8] = [1: 60, 2: 20, 3: 55, 4: 25, 5: 30]
    for round in 0..<50 as Range<UInt16> {
      for slot in 1...5 as ClosedRange<UInt32> {
        relay.speak(slot, round * 2, level: levels[slot] ?? 127)
      }
      relay.now = relay.now + .milliseconds(20)
    }
    for loud in [2, 4, 5] as [UInt32] { #expect(relay.heard(6, of: loud).count == 50) }
    for quiet in [1, 3] as [UInt32] { #expect(relay.heard(6, of: quiet).count <= 3) }
    relay.forgetReceived()
    // One of the three falls silent: after the pause a quieter one is heard.
    for round in 50..<100 as Range<UInt16> {
      for slot in [1, 3, 4, 5] as [UInt32] {
        relay.speak(slot, round * 2, level: levels[slot] ?? 127)
      }
      relay.now = relay.now + .milliseconds(20)
    }
    #expect(relay.hub.counters.audioTooQuiet > 100)
    let packets = (relay.received[6] ?? []).flatMap(\.audio)
    #expect(packets.count { $0.bytes[0] == 3 } >= 25)
    #expect(packets.count { $0.bytes[0] == 1 } == 0)
  }

  @Test func `who is silent leaves its place at once, and is heard again from its first word`() {
    for slot in 1...5 as ClosedRange<UInt32> { relay.join(slot) }
    func speak(_ rounds: Range<UInt16>, levels: [UInt8]) {
      relay.forgetReceived()
      for round in rounds {
        for (place, level) in levels.enumerated() {
          relay.speak(UInt32(place + 1), round * 2, level: level)
        }
        relay.now = relay.now + .milliseconds(20)
      }
    }
    func heard() -> [Int] {
      let frames = (relay.received[5] ?? []).flatMap(\.audio)
      return (1...4 as ClosedRange<UInt8>).map { slot in frames.count { $0.bytes[0] == slot } }
    }
    speak(0..<50, levels: [20, 25, 30, 50])
    #expect(heard()[0] == 50 && heard()[3] <= 3)
    speak(50..<100, levels: [127, 25, 30, 50])
    #expect(heard()[0] <= 13 && heard()[3] >= 38, "\(heard())")
    #expect(relay.hub.counters.audioSilent > 30)
    speak(100..<150, levels: [20, 25, 30, 50])
    #expect(heard()[0] == 50 && heard()[3] <= 1, "\(heard())")
  }

  @Test func `nearly equal voices do not change places`() {
    for slot in 1...5 as ClosedRange<UInt32> { relay.join(slot) }
    for round in 0..<200 as Range<UInt16> {
      for slot in 1...4 as ClosedRange<UInt32> {
        let wave = round % 8 < 4 ? UInt8(slot) : 4 - UInt8(slot)
        relay.speak(slot, round * 2, level: 30 + wave)
      }
      relay.now = relay.now + .milliseconds(20)
    }
    let counts = (1...4 as ClosedRange<UInt32>).map { relay.heard(5, of: $0).count }
    #expect(counts.count { $0 == 200 } == 3, "\(counts)")
  }

  @Test func `keys go to the member that they are for, and a card to whoever asks`() {
    relay.join(1)
    relay.join(2, .audience)
    relay.join(3)
    relay.receive(1) { ChannelWordFrame.writeKey([9, 9].span, uid: 2, to: &$0) }
    #expect(relay.received[2]?.first?.keys == [Relay.Word(uid: 1, bytes: [9, 9])])
    #expect(relay.received[3] == nil)
    relay.receive(2) { ChannelWordFrame.writeQuestion(uid: 3, to: &$0) }
    #expect(relay.received[2]?.last?.cards == [Relay.Word(uid: 3, bytes: [3])])
    relay.receive(2) { ChannelWordFrame.writeQuestion(uid: 77, to: &$0) }
    relay.receive(2) { ChannelWordFrame.writeKey([1].span, uid: 2, to: &$0) }
    #expect(relay.hub.counters.wordsUndeliverable == 2)
    // An audience has no key to hand out.
    let long = Array(repeating: 1 as UInt8, count: 179)
    relay.receive(2) { ChannelWordFrame.writeKey(long.span, uid: 1, to: &$0) }
    #expect(relay.hub.counters.tooMany == 1 && relay.received[1] == nil)
  }

  @Test func `a newer seat takes the uid, and a session that ends is silent`() {
    relay.join(1)
    relay.join(2)
    relay.join(7, uid: 2)
    relay.speak(1, 1)
    #expect(relay.received[2] == nil && relay.heard(7, of: 1).count == 1)
    #expect(!relay.speak(2, 1))
    relay.hub.remove(7)
    relay.hub.remove(1)
    #expect(relay.hub.roomCount == 0 && relay.hub.takenCount == 0)
  }

  @Test func `a grant for another seat renews nothing, and one with another role does`() {
    relay.join(1)
    relay.join(2)
    let other = SeatClaim(channel: Relay.milk, uid: 1, role: .host)
    #expect(!relay.hub.renew(1, by: other) && !relay.hub.renew(1, by: nil))
    #expect(relay.hub.renew(1, by: SeatClaim(channel: Relay.tea, uid: 1, role: .audience)))
    relay.speak(1, 1)
    #expect(relay.received[2] == nil)
  }

  @Test func `a source that is used again is told of again`() {
    relay.join(1)
    relay.join(2)
    for time in 0..<20 as Range<UInt16> { relay.speak(1, time) }
    #expect((relay.received[2] ?? []).suffix(10).allSatisfy { $0.sources.isEmpty })
    relay.hub.remove(1)
    for slot in 10..<73 as Range<UInt32> { relay.join(slot); relay.speak(slot, 1) }
    relay.run(.seconds(1))
    relay.forgetReceived()
    relay.join(100)
    relay.speak(100, 1)
    #expect(relay.heard(2, of: 100).count == 1)
    // All 64 numbers are taken.
    relay.join(101)
    relay.speak(101, 1)
    #expect(relay.heard(2, of: 101).isEmpty && relay.hub.counters.tooMany == 1)
  }

  /// Goal: a channel of many keeps no frame of another channel waiting behind more than a turn of
  /// its own packets, and takes no more than half of the places.
  @Test(arguments: [300, 1_000, 4_000] as [UInt32])
  func `one channel's crowd is not another's trouble`(crowd: UInt32) {
    let hub = relay.hub
    for slot in 1...crowd { relay.join(slot) }
    for slot in crowd + 1...crowd + 2 { relay.join(slot, in: Relay.milk) }
    for time in 0..<10 as Range<UInt16> { relay.speakUnheard(1, time) }
    relay.speakUnheard(crowd + 1, 7)
    #expect(hub.counters.packetsDropped == UInt64(max(0, 10 * (Int(crowd) - 1) - 32_768)))
    var written = 0
    var packet: [UInt8] = []
    while written < 200 {
      var slot: UInt32?
      packet.removeAll()
      packet.append(addingCapacity: 1200) { slot = hub.write(into: &$0, now: relay.now) }
      written += 1
      if slot == crowd + 2 { break }
    }
    #expect(written <= hub.limits.packetsInTurn + 1)
  }

  /// Goal: answers of the server wait for 64 packets at the most.
  @Test func `a crowd keeps no answer of the server waiting`() {
    for slot in 1...500 as ClosedRange<UInt32> { relay.join(slot) }
    relay.speakUnheard(1, 1)
    var packet: [UInt8] = []
    var written = 0
    var slot: UInt32? = 0
    while slot != nil {
      packet.removeAll()
      packet.append(addingCapacity: 1200) {
        slot = relay.hub.write(into: &$0, othersWait: true, now: relay.now)
      }
      if slot != nil { written += 1 }
    }
    #expect(written == relay.hub.limits.packetsInTurn)
  }

  /// Goal: who had a uid before cannot take it back with a grant that ends earlier, nor take back a
  /// role.
  @Test func `an older grant takes no seat and no role`() {
    func claim(_ role: MemberRole, _ expires: UInt64) -> SeatClaim {
      SeatClaim(channel: Relay.tea, uid: 7, role: role, expires: expires)
    }
    relay.join(1)
    relay.hub.reserve(2, for: claim(.host, 2_000), card: [2])
    relay.hub.confirm(2)
    relay.hub.reserve(3, for: claim(.host, 1_000), card: [3])
    // A session without a seat is to end.
    #expect(relay.hub.confirm(3) == 3)
    relay.speak(1, 1)
    #expect(relay.heard(2, of: 1).count == 1 && relay.received[3] == nil)
    #expect(relay.hub.counters.seatsRefused == 1)
    #expect(relay.hub.renew(2, by: claim(.audience, 3_000)))
    #expect(!relay.hub.renew(2, by: claim(.host, 2_000)))
    #expect(!relay.speak(2, 2) || relay.hub.counters.audioNotAllowed == 1)
    // A newer one does.
    relay.hub.reserve(4, for: claim(.host, 4_000), card: [4])
    #expect(relay.hub.confirm(4) == 2)
    relay.speak(1, 3)
    #expect(relay.heard(4, of: 1).count == 1 && relay.heard(2, of: 1).count == 1)
  }

  @Test func `of a host that only listens nothing is forwarded any more, and its number is free`() {
    for slot in 1...3 as ClosedRange<UInt32> { relay.join(slot) }
    relay.speak(1, 1)
    relay.speak(2, 1)
    // A frame that waits when its host becomes audience.
    relay.speakUnheard(1, 3)
    #expect(relay.hub.renew(1, by: SeatClaim(channel: Relay.tea, uid: 1, role: .audience)))
    relay.speak(2, 3)
    relay.speak(1, 5)
    #expect(relay.heard(3, of: 1).count == 1 && relay.heard(3, of: 2).count == 2)
    #expect(relay.hub.counters.audioNotAllowed == 1 && relay.heard(1, of: 2).count == 2)
    #expect(relay.hub.renew(1, by: SeatClaim(channel: Relay.tea, uid: 1, role: .host)))
    relay.speak(1, 7)
    #expect(relay.heard(3, of: 1).map(\.label.mediaTime) == [1, 7])
  }

  @Test func `a member whose INIT comes again has one place, and none that was forgotten`() {
    var limits = ForwardingLimits()
    limits.seats = 2
    let relay = Relay(limits)
    func claim(_ uid: UInt32) -> SeatClaim {
      SeatClaim(channel: Relay.tea, uid: uid, role: .host)
    }
    relay.join(1)
    for slot in 2...5 as ClosedRange<UInt32> {
      #expect(relay.hub.refuse(claim(2)) == nil)
      relay.hub.reserve(slot, for: claim(2), card: [])
    }
    #expect(relay.hub.refuse(claim(3)) == .full)
    // A seat that is taken, and a session beside it that is to follow, are one place as well.
    relay.hub.reserve(6, for: claim(1), card: [])
    // The session of an earlier INIT has no seat any more: it must not stand without one.
    #expect(relay.hub.confirm(4) == 4 && relay.hub.confirm(5) == nil)
    #expect(relay.hub.takenCount == 2)
    relay.hub.remove(5)
    #expect(relay.hub.refuse(claim(3)) == nil)
    relay.hub.remove(1)
    relay.hub.remove(6)
    #expect(relay.hub.roomCount == 0)
  }

  @Test func `a seat that has ended goes, and grants of before are worth nothing`() {
    func claim(_ expires: UInt64) -> SeatClaim {
      SeatClaim(channel: Relay.tea, uid: 7, role: .host, expires: expires)
    }
    func isSeated(_ slot: UInt32, _ expires: UInt64) -> Bool {
      let before = relay.hub.takenCount
      relay.hub.reserve(slot, for: claim(expires), card: [])
      relay.hub.confirm(slot)
      return relay.hub.takenCount > before
    }
    #expect(isSeated(2, 2000))
    #expect(relay.hub.end(EndedSeat(channel: Relay.milk, uid: 7, until: 3000)) == nil)
    #expect(relay.hub.end(EndedSeat(channel: Relay.tea, uid: 7, until: 1999)) == nil)
    #expect(relay.hub.end(EndedSeat(channel: Relay.tea, uid: 7, until: 2500)) == 2)
    #expect(!relay.hub.renew(2, by: claim(2400)) && relay.hub.renew(2, by: claim(2600)))
    relay.hub.remove(2)
    #expect(!isSeated(3, 2500) && isSeated(4, 2501))
    // Many that end elsewhere open nobody's.
    for uid in 1...UInt32(relay.hub.limits.endedSeats + 1) {
      _ = relay.hub.end(EndedSeat(channel: Relay.milk, uid: uid, until: 9000))
    }
    relay.hub.remove(4)
    #expect(!isSeated(5, 2500))
  }

  @Test func `of seats that ended as many are remembered as may be, each to its latest end`() {
    var seats = EndedSeats(limit: 3)
    func seat(_ channel: Bytes32, _ uid: UInt32, _ until: UInt64) -> EndedSeat {
      EndedSeat(channel: channel, uid: uid, until: until)
    }
    for uid in 1...5 as ClosedRange<UInt32> { seats.insert(seat(Relay.milk, uid, 20)) }
    seats.insert(seat(Relay.tea, 1, 30))
    #expect(seats.all.map(\.uid) == [4, 5, 1])
    seats.insert(seat(Relay.tea, 1, 10))
    #expect(seats.all.last == seat(Relay.tea, 1, 30) && seats.all.count == 3)
    seats.end(unixMilliseconds: 20)
    #expect(seats.all == [seat(Relay.tea, 1, 30)])
    // What has ended makes room before what has not.
    _ = relay.hub.end(seat(Relay.tea, 1, 30), unixMilliseconds: 20)
    let older = SeatClaim(channel: Relay.tea, uid: 1, role: .host, expires: 30)
    #expect(relay.hub.refuse(older) == .ended)
    _ = relay.hub.end(seat(Relay.milk, 1, 60), unixMilliseconds: 30)
    #expect(relay.hub.refuse(older) == nil)
  }

  @Test func `a relay that ends lets all of its seats go`() {
    weak var hub: ForwardingHub?
    do {
      let relay = Relay()
      for slot in 1...3 as ClosedRange<UInt32> { relay.join(slot) }
      relay.speakUnheard(1, 1)
      hub = relay.hub
    }
    #expect(hub == nil)
  }
}
