import Primitives
import Testing
import Tokens
import Wire

@testable import Forwarding

/// Hosts that lie about how loud they are, and members that lie about what they lose: the others
/// are heard as before (docs/protocol/relay.md §4).
struct HostileHostTests {
  /// Hosts 1 to 3 speak, host 1 the loudest, beside liars from 11 on; member 9 listens.
  ///
  /// - Parameters:
  ///   - identity: Of all liars; `nil`: each has its own.
  ///   - loudest: How many the listener has chosen; 0 = as many as is usual.
  ///   - level: What a liar says of its frame.
  /// - Returns: How many of 500 frames of each honest host the listener heard.
  private func heard(
    liars: Int, of identity: PeerID? = nil, _ relay: Relay = Relay(), loudest: Int = 0,
    level: (_ step: Int, _ liar: Int) -> UInt8
  ) -> [Int] {
    let honest = 1...3 as ClosedRange<UInt32>
    for uid in honest { relay.join(uid) }
    for liar in 0..<liars { relay.join(UInt32(11 + liar), of: identity) }
    relay.join(9, .audience, loudest: loudest)
    for step in 0..<600 {
      if step == 100 { relay.forgetReceived() }
      let time = UInt16(step * 2)
      // The liars' frames come first.
      for liar in 0..<liars { relay.speak(UInt32(11 + liar), time, level: level(step, liar)) }
      for uid in honest { relay.speak(uid, time, level: UInt8(20 + uid * 10)) }
      relay.run(.milliseconds(20))
    }
    return honest.map { uid in
      Set(
        (relay.received[9] ?? []).flatMap(\.audio).filter { $0.bytes.first == UInt8(uid) }
          .map(\.label.mediaTime)
      ).count
    }
  }

  @Test func `who always says that it is the loudest takes one place of three`() {
    #expect(heard(liars: 0) { _, _ in 0 } == [500, 500, 500])
    #expect(heard(liars: 1) { _, _ in 0 } == [500, 500, 0])
    #expect(heard(liars: 2) { _, _ in 0 } == [500, 0, 0])
  }

  /// Goal: however many seats an identity has, others are heard in all places but one.
  @Test func `three seats of one identity take one place where others speak`() {
    #expect(heard(liars: 3, of: .zero) { _, _ in 0 } == [500, 500, 0])
    #expect(heard(liars: 16, of: .zero) { _, _ in 0 } == [500, 500, 0])
    #expect(heard(liars: 3) { _, _ in 0 } == [0, 0, 0])
  }

  /// Method: listeners that have chosen how many they hear, also fewer than usual.
  @Test func `at who has chosen a number one identity takes one place as well`() {
    #expect(heard(liars: 16, of: .zero, loudest: 3) { _, _ in 0 } == [500, 500, 0])
    #expect(heard(liars: 16, of: .zero, loudest: 2) { _, _ in 0 } == [500, 0, 0])
    #expect(heard(liars: 16, of: .zero, loudest: 4) { _, _ in 0 } == [500, 500, 500])
    #expect(heard(liars: 16, loudest: 4) { _, _ in 0 } == [0, 0, 0])
  }

  /// Method: a seat of a person is heard by who has chosen two. The other one is louder by turns.
  @Test func `of two seats of one identity one has the place, and changes are rare`() {
    let relay = Relay()
    for uid in 1...2 as ClosedRange<UInt32> { relay.join(uid, of: .zero) }
    relay.join(3, of: PeerID(word0: 3, word1: 0, word2: 0, word3: 0))
    relay.join(4, of: PeerID(word0: 4, word1: 0, word2: 0, word3: 0))
    relay.join(9, .audience, loudest: 2)
    for step in 0..<500 {
      let isFirst = step / 25 % 2 == 0
      relay.speak(1, UInt16(step * 2), level: isFirst ? 20 : 24)
      relay.speak(2, UInt16(step * 2), level: isFirst ? 24 : 20)
      relay.speak(3, UInt16(step * 2), level: 30)
      relay.speak(4, UInt16(step * 2), level: 40)
      relay.run(.milliseconds(20))
    }
    let counts = (1...4 as ClosedRange<UInt32>).map { relay.heard(9, of: $0).count }
    #expect(counts[0] >= 495 && counts[1] <= 5 && counts[2] >= 495 && counts[3] <= 5, "\(counts)")
  }

  /// A person may have two programs in a channel, and nobody else may speak.
  @Test func `seats of one identity have all places that others leave`() {
    let relay = Relay()
    for uid in 1...3 as ClosedRange<UInt32> { relay.join(uid, of: .zero) }
    relay.join(4, of: PeerID(word0: 4, word1: 0, word2: 0, word3: 0))
    relay.join(9, .audience)
    for step in 0..<100 {
      for uid in 1...3 as ClosedRange<UInt32> {
        relay.speak(uid, UInt16(step * 2), level: UInt8(20 + uid * 10))
      }
      if step >= 50 { relay.speak(4, UInt16(step * 2), level: 80) }
      relay.run(.milliseconds(20))
    }
    let counts = (1...4 as ClosedRange<UInt32>).map { relay.heard(9, of: $0).count }
    #expect(counts[0] == 100 && counts[1] == 100 && counts[3] == 50, "\(counts)")
    #expect(counts[2] >= 50 && counts[2] <= 51, "\(counts)")
  }

  /// Method: a host became audience, and shows no newer grant. Goal: it is heard no more, by no
  /// grant of before; it hears the others, and is a host by a newer one.
  @Test func `who became audience is not heard by the grant of before`() {
    let relay = Relay()
    func claim(_ role: MemberRole, expires: UInt64) -> SeatClaim {
      SeatClaim(channel: Relay.tea, uid: 1, role: role, expires: expires)
    }
    relay.hub.reserve(1, for: claim(.host, expires: 2000), card: [1])
    relay.hub.confirm(1)
    relay.join(2)
    relay.speak(1, 0)
    let channel = EndedSeat.hosts(of: Relay.tea)
    #expect(relay.hub.end(EndedSeat(channel: channel, uid: 1, until: 1999)) == nil)
    relay.speak(1, 2)
    #expect(relay.heard(2, of: 1).count == 2 && relay.hub.counters.hostsEnded == 0)
    #expect(relay.hub.end(EndedSeat(channel: channel, uid: 1, until: 2500)) == nil)
    relay.speak(1, 4)
    #expect(relay.heard(2, of: 1).count == 2 && relay.hub.counters.hostsEnded == 1)
    relay.speak(2, 0)
    #expect(relay.heard(1, of: 2).count == 1 && relay.hub.takenCount == 2)
    #expect(!relay.hub.renew(1, by: claim(.host, expires: 2500)))
    #expect(relay.hub.refuse(claim(.host, expires: 2500)) == .ended)
    #expect(relay.hub.renew(1, by: claim(.audience, expires: 2500)))
    #expect(relay.hub.renew(1, by: claim(.host, expires: 2501)))
    relay.speak(1, 6)
    #expect(relay.heard(2, of: 1).count == 3)
  }

  /// Goal: one liar takes one place at the most, and has it only while it says so.
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `whatever levels one host claims, the two loudest are heard whole`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    let all = heard(liars: 1) { _, _ in UInt8(truncatingIfNeeded: random.next()) }
    #expect(all[0] == 500 && all[1] == 500, "seed \(seed): \(all)")
    let turns = heard(liars: 1) { step, _ in step / 25 % 2 == 0 ? 0 : 127 }
    #expect(turns[0] == 500 && turns[1] == 500, "\(turns)")
    // 200 ms of silence end a place: half of the time, less that.
    #expect(turns[2] >= 100, "\(turns)")
    let each = heard(liars: 1) { step, _ in step % 2 == 0 ? 128 : 255 }
    #expect(each[0] == 500 && each[1] == 500, "\(each)")
  }

  @Test func `a host that claims and sends nothing keeps no place`() {
    let relay = Relay()
    #expect(heard(liars: 1, relay) { _, _ in 0 }[2] == 0)
    relay.run(.milliseconds(400))
    relay.forgetReceived()
    for step in 0..<100 {
      for uid in 1...3 as ClosedRange<UInt32> {
        relay.speak(uid, UInt16(1200 + step * 2), level: UInt8(20 + uid * 10))
      }
      relay.run(.milliseconds(20))
    }
    #expect(relay.heard(9, of: 3).count == 100)
  }

  /// Goal: two copies of each frame at the most, to that member alone.
  @Test func `who says that all is lost draws two copies, and others none`() {
    let relay = Relay()
    for slot in 1...3 as ClosedRange<UInt32> { relay.join(slot) }
    for step in 0..<500 {
      relay.speak(1, UInt16(step * 2))
      relay.run(.milliseconds(20))
      if step % 10 == 9, let sent = relay.sent[2] { reportAllLost(relay, 2, upTo: sent - 1) }
    }
    let (liar, other) = (relay.received[2] ?? [], relay.received[3] ?? [])
    #expect(liar.count == 500 && other.count == 500)
    #expect(liar.allSatisfy { $0.copies.count <= 2 } && liar.last?.copies.count == 2)
    #expect(other.allSatisfy { $0.copies.isEmpty } && relay.hub.loss(of: 3) == 0)
  }

  private func reportAllLost(_ relay: Relay, _ slot: UInt32, upTo largest: UInt32) {
    var bytes: [UInt8] = []
    let covered = min(255, largest + 1)
    bytes.append(addingCapacity: 600) { packet in
      FeedbackHeader(
        epoch: 0, largest: largest, arrival: 0, delay: 0, count: UInt8(covered), hasMarks: false
      ).write(to: &packet)
      for _ in 1..<covered { FeedbackEntry.write(ticksBefore: nil, to: &packet) }
    }
    var reader = FrameReader(bytes.span)
    guard case .feedback(let feedback)? = try? reader.next() else { return }
    relay.handle(feedback, bytes, of: slot)
  }
}
