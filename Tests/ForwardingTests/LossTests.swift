import Primitives
import Testing
import Wire

@testable import Forwarding

/// Copies where packets are lost, and members that want too much (docs/protocol/relay.md §4, §5).
struct LossTests {
  /// Feeds the hub a report that says of `sent` packets which have come.
  private func report(_ relay: Relay, _ slot: UInt32, lost: (UInt32) -> Bool, upTo largest: UInt32)
  {
    var bytes: [UInt8] = []
    let covered = min(255, largest + 1)
    bytes.append(addingCapacity: 600) { packet in
      FeedbackHeader(
        epoch: 0, largest: largest, arrival: 0, delay: 0, count: UInt8(covered), hasMarks: false
      ).write(to: &packet)
      for step in 1..<covered {
        FeedbackEntry.write(ticksBefore: lost(largest - step) ? nil : 1, to: &packet)
      }
    }
    var reader = FrameReader(bytes.span)
    guard case .feedback(let feedback)? = try? reader.next() else { return }
    relay.handle(feedback, bytes, of: slot)
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `a tenth lost on the way to one member costs it almost no frame, and others no byte`(
    seed: UInt64
  ) {
    let relay = Relay()
    for slot in 1...3 as ClosedRange<UInt32> { relay.join(slot) }
    var random = RandomSource(seed: seed)
    var lost: Set<UInt32> = []
    relay.isLost = { slot in
      guard slot == 2, random.unit() < 0.1 else { return false }
      lost.insert(relay.sent[2, default: 1] - 1)
      return true
    }
    for time in 0..<1500 as Range<UInt16> {
      relay.speak(1, time * 2)
      relay.run(.milliseconds(20))
      guard time % 10 == 9, let sent = relay.sent[2] else { continue }
      report(relay, 2, lost: { lost.contains($0) }, upTo: sent - 1)
    }
    let later = relay.heard(2, of: 1).map(\.label.mediaTime).filter { $0 >= 600 }
    let missing = 1200 - Set(later).count
    #expect(missing <= 6, "seed \(seed): \(missing) of 1200 are missing, \(lost.count) were lost")
    #expect((relay.received[3] ?? []).allSatisfy { $0.copies.isEmpty })
    #expect(relay.received[3]?.count == 1500)
    #expect(relay.hub.loss(of: 3) == 0)
  }

  @Test func `what came only as a copy goes on as a copy, once`() {
    let relay = Relay()
    relay.join(1)
    relay.join(2)
    relay.speak(1, 100)
    relay.speak(1, 106, copies: [2, 4, 6])
    relay.speak(1, 108, copies: [2, 4])
    let packets = relay.received[2] ?? []
    #expect(packets.map { $0.copies.map(\.label.mediaTime).sorted() } == [[], [102, 104], []])
    #expect(packets[1].copies.allSatisfy { $0.bytes == Relay.body(1, $0.label.mediaTime) })
    #expect(relay.hub.counters.framesRecovered == 2)
    // Copies of one packet are not those of the next.
    relay.receive(1) { packet in
      ChannelCopyFrame(Relay.label(110), distance: 8).writeHeader(10, to: &packet)
      packet.append(zeros: 10)
    }
    relay.speak(1, 110)
    #expect(relay.received[2]?.last?.copies.isEmpty == true)
  }

  @Test func `a packet with copies stays within 1200 bytes`() {
    let relay = Relay()
    relay.join(1)
    relay.join(2)
    for time in 0..<400 as Range<UInt16> {
      relay.speak(1, time * 2, byteCount: 400)
      relay.run(.milliseconds(60))
      if time % 10 == 9, let sent = relay.sent[2] {
        report(relay, 2, lost: { $0 % 5 == 0 }, upTo: sent - 1)
      }
    }
    let packets = relay.received[2] ?? []
    #expect(packets.allSatisfy { $0.byteCount <= 1200 })
    #expect(packets.contains { $0.copies.count == 1 } && !packets.contains { $0.copies.count > 1 })
  }

  @Test func `a report of packets that were never sent says nothing`() {
    let relay = Relay()
    relay.join(1)
    relay.join(2)
    for time in 0..<10 as Range<UInt16> { relay.speak(1, time) }
    report(relay, 2, lost: { _ in true }, upTo: 4000)
    #expect(relay.hub.loss(of: 2) == 0)
  }

  @Test func `a member that floods is held to its pace, and others are heard`() {
    let relay = Relay()
    for slot in 1...3 as ClosedRange<UInt32> { relay.join(slot) }
    for time in 0..<500 as Range<UInt16> {
      for burst in 0..<20 as Range<UInt16> { relay.speak(1, time * 20 + burst) }
      relay.speak(2, time * 2)
      relay.receive(1) { packet in
        for _ in 0..<10 { ChannelWordFrame.writeQuestion(uid: 2, to: &packet) }
        for _ in 0..<10 { ChannelWordFrame.writeKey([3].span, uid: 2, to: &packet) }
      }
      relay.run(.milliseconds(20))
    }
    let limits = ForwardingLimits()
    #expect(relay.heard(3, of: 2).count == 500)
    #expect(
      UInt64(relay.heard(3, of: 1).count) <= limits.audioPerSecond * 10 + limits.audioBurst + 1)
    #expect(
      relay.hub.counters.cardsSent <= limits.keysPerSecond * 10 + limits.keyBurst + 1)
    #expect(relay.hub.counters.keysForwarded <= limits.keysPerSecond * 10 + limits.keyBurst + 1)
  }

  @Test func `a host's packets are reported to it, and no others' are`() {
    let relay = Relay()
    relay.join(1)
    relay.join(2)
    for time in 0..<50 as Range<UInt16> {
      relay.speak(1, time * 2)
      relay.run(.milliseconds(20))
    }
    let reports = (relay.received[1] ?? []).reduce(0) { $0 + $1.reports }
    #expect((4...8).contains(reports), "\(reports)")
    #expect((relay.received[2] ?? []).allSatisfy { $0.reports == 0 })
    relay.run(.seconds(30))
    #expect(relay.hub.nextDeadline == nil)
  }

  @Test func `seats, channels and what waits have their limits`() {
    var limits = ForwardingLimits()
    limits.seats = 2
    limits.channels = 1
    limits.waiting = 1
    let relay = Relay(limits)
    for slot in 1...3 as ClosedRange<UInt32> { relay.join(slot) }
    relay.join(9, in: Relay.milk)
    #expect(relay.hub.takenCount == 2 && relay.hub.roomCount == 1)
    #expect(relay.hub.counters.seatsRefused == 2)
    limits.seats = 10
    let small = Relay(limits)
    for slot in 1...4 as ClosedRange<UInt32> { small.join(slot) }
    small.speak(1, 1)
    #expect(small.hub.counters.packetsDropped == 2)
  }
}
