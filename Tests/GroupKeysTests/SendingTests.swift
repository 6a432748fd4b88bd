import Cryptography
import Primitives
import Testing
import Wire

@testable import GroupKeys

@Suite struct FreshKeyScheduleTests {
  private let limits = GroupKeyLimits()

  @Test func `the first leave takes a fresh key at once, the next a second later`() {
    var schedule = FreshKeySchedule(limits: limits)
    expect(schedule.due == nil)
    schedule.recordDeparture(.left, audienceCount: 3, now: instant(0))
    expect(schedule.due == instant(0))
    expect(schedule.begin(now: instant(0)) == instant(900))
    schedule.recordDeparture(.lost, audienceCount: 3, now: instant(200))
    schedule.recordDeparture(.left, audienceCount: 3, now: instant(700))
    expect(schedule.due == instant(1_000))
    expect(schedule.begin(now: instant(1_000)) == instant(1_900))
    expect(schedule.due == nil)
  }

  @Test(arguments: [Departure.removed, .banned, .expired])
  func `who lost the right to hear never waits`(departure: Departure) {
    var schedule = FreshKeySchedule(limits: limits)
    _ = schedule.begin(now: instant(0))
    schedule.recordDeparture(.left, audienceCount: 500, now: instant(10))
    schedule.recordDeparture(departure, audienceCount: 500, now: instant(20))
    expect(schedule.due == instant(20))
    expect(schedule.begin(now: instant(20)) == instant(270))
  }

  /// When fresh keys are made while somebody goes each 50 ms, in ms.
  private func freshKeys(
    _ departure: Departure, audienceCount: Int, within end: Int
  ) -> [Int] {
    var schedule = FreshKeySchedule(limits: limits)
    var made: [Int] = []
    for now in stride(from: 0, to: end, by: 10) {
      if now % 50 == 0 {
        schedule.recordDeparture(departure, audienceCount: audienceCount, now: instant(now))
      }
      if let due = schedule.due, due <= instant(now) {
        _ = schedule.begin(now: instant(now))
        made.append(now)
      }
    }
    return made
  }

  /// Goal: two programs of one identity that take each other's uid mute nobody.
  @Test func `a stay that a newer one of its identity replaces waits as one that left`() {
    expect(freshKeys(.replaced, audienceCount: 500, within: 1_000) == [0])
    expect(freshKeys(.replaced, audienceCount: 500, within: 57_000) == [0])
    expect(freshKeys(.replaced, audienceCount: 50, within: 3_000) == [0, 1_000, 2_000])
  }

  /// Goal: no reason draws more than one fresh key a second, and a removal waits 1 s at most.
  @Test func `removals within a second of another share the next fresh key`() {
    for departure in [Departure.removed, .banned, .expired] {
      let made = freshKeys(departure, audienceCount: 500, within: 3_000)
      expect(made == [0, 1_000, 2_000], "\(made)")
    }
    var schedule = FreshKeySchedule(limits: limits)
    schedule.recordDeparture(.removed, audienceCount: 3, now: instant(0))
    expect(schedule.begin(now: instant(0)) == instant(250))
    schedule.recordDeparture(.removed, audienceCount: 3, now: instant(300))
    schedule.recordDeparture(.banned, audienceCount: 3, now: instant(999))
    expect(schedule.due == instant(1_000))
    expect(schedule.begin(now: instant(1_000)) == instant(1_250))
    schedule.recordDeparture(.removed, audienceCount: 3, now: instant(2_001))
    expect(schedule.due == instant(2_001), "the second is over")
  }

  @Test func `above a hundred of an audience ordinary leaves wait, for a minute at most`() {
    for (audience, seconds) in [(100, 1), (101, 58)] {
      var schedule = FreshKeySchedule(limits: limits)
      _ = schedule.begin(now: instant(0))
      for leave in 1...50 {
        schedule.recordDeparture(.left, audienceCount: audience, now: instant(leave))
      }
      expect(schedule.due == instant(seconds * 1000))
      expect(schedule.begin(now: instant(seconds * 1000)) <= instant(seconds * 1000 + 900))
    }
    expect(limits.freshInterval + limits.switchDelay < .seconds(2))
    expect(limits.largeFreshInterval + limits.switchDelay < .seconds(60))
  }
}

@Suite struct KeyDeliveryTests {
  private let limits = GroupKeyLimits()

  @Test func `each member gets its envelope once, and again until its receipt`() {
    var random = RandomSource(seed: 1)
    var delivery = KeyDelivery(generation: 3, limits: limits)
    for uid in [UInt32(5), 2, 9] { delivery.add(uid, random: &random) }
    delivery.add(5, random: &random)
    var receipts: [UInt32: Bytes16] = [:]
    while let due = delivery.popQueued() {
      expect(due.envelope.isEmpty)
      receipts[due.uid] = due.receipt
      delivery.recordSent(due.uid, envelope: [UInt8(due.uid)], now: instant(0))
    }
    expect(Set(receipts.keys) == [2, 5, 9])
    expect(delivery.unacknowledged == 3)
    expect(!delivery.acknowledge(5, .zero))
    expect(!delivery.acknowledge(4, receipts[5] ?? .zero))
    expect(delivery.acknowledge(5, receipts[5] ?? .zero))
    expect(delivery.acknowledge(5, receipts[5] ?? .zero), "a receipt may come twice")
    expect(delivery.unacknowledged == 2)
    expect(delivery.nextResend == instant(200))
    delivery.resend(now: instant(199))
    expect(!delivery.hasQueued)
    delivery.resend(now: instant(200))
    var again: [[UInt8]] = []
    while let due = delivery.popQueued() {
      again.append(due.envelope)
      delivery.recordSent(due.uid, envelope: due.envelope, now: instant(200))
    }
    expect(again == [[2], [9]])
    expect(delivery.nextResend == instant(400))
  }

  @Test func `sends less often while many owe their receipts`() {
    var random = RandomSource(seed: 1)
    var delivery = KeyDelivery(generation: 0, limits: limits)
    for uid in 1...UInt32(limits.few + 1) { delivery.add(uid, random: &random) }
    while let due = delivery.popQueued() {
      delivery.recordSent(due.uid, envelope: [1], now: instant(0))
    }
    expect(delivery.nextResend == instant(250))
    delivery.resend(now: instant(250))
    while let due = delivery.popQueued() {
      delivery.recordSent(due.uid, envelope: [1], now: instant(250))
    }
    expect(delivery.nextResend == instant(750))
  }

  @Test func `tells whether who leaves may hold the key`() {
    var random = RandomSource(seed: 1)
    var delivery = KeyDelivery(generation: 0, limits: limits)
    for uid in [UInt32(1), 2] { delivery.add(uid, random: &random) }
    let first = delivery.popQueued()
    delivery.recordSent(first?.uid ?? 0, envelope: [1], now: instant(0))
    expect(delivery.remove(1))
    expect(!delivery.remove(2), "its envelope was never made")
    expect(!delivery.remove(1))
    expect(delivery.unacknowledged == 0)
    expect(delivery.popQueued() == nil)
  }

  @Test func `seals anew when asked, not more than twice a second`() {
    var random = RandomSource(seed: 1)
    var delivery = KeyDelivery(generation: 0, limits: limits)
    delivery.add(1, random: &random)
    expect(!delivery.sealAnew(1, now: instant(0)), "it is queued already")
    let receipt = delivery.popQueued()?.receipt ?? .zero
    delivery.recordSent(1, envelope: [1], now: instant(0))
    expect(delivery.acknowledge(1, receipt))
    expect(!delivery.sealAnew(1, now: instant(499)))
    expect(delivery.sealAnew(1, now: instant(500)))
    expect(delivery.unacknowledged == 1)
    expect(delivery.popQueued()?.envelope.isEmpty == true)
  }
}

@Suite struct OwnKeysTests {
  @Test func `without publishing nothing is sealed or handed out`() {
    var keys = OwnKeys(limits: GroupKeyLimits(), random: RandomSource(seed: 1))
    keys.add(1, now: instant(0))
    let hasDue = keys.popDue() != nil
    expect(!hasDue)
    expect(keys.inUse == nil)
    expect(keys.nextDeadline == nil)
    var bytes = [UInt8](repeating: 0, count: 60)
    var span = bytes.mutableSpan
    let aes = AESCounterMode()
    var refusal: SFrameError?
    do throws(SFrameError) {
      _ = try keys.seal(&span, text: 20..<30, metadata: Span(), with: aes)
    } catch {
      refusal = error
    }
    expect(refusal == .notPublishing)
  }

  @Test func `who begins to publish again does so under a later generation`() {
    var keys = OwnKeys(limits: GroupKeyLimits(), random: RandomSource(seed: 1))
    keys.start(for: [1])
    expect(keys.inUse?.generation == 0)
    keys.stop()
    expect(keys.inUse == nil)
    keys.start(for: [1])
    expect(keys.inUse?.generation == 1)
    expect(keys.freshCount == 2)
  }
}

@Suite struct RemoteSenderTests {
  @Test func `asks for a key that is missing, once a second`() {
    let sender = RemoteSender(limits: GroupKeyLimits())
    expect(sender.nextDeadline == nil)
    sender.recordMissingKey(now: instant(0))
    sender.recordMissingKey(now: instant(100))
    expect(sender.nextDeadline == instant(300))
    expect(!sender.popRequest(now: instant(299)))
    expect(sender.popRequest(now: instant(300)))
    sender.recordMissingKey(now: instant(310))
    expect(sender.nextDeadline == instant(1_300))
  }

  @Test func `opens a bounded number of envelopes a second`() {
    let sender = RemoteSender(limits: GroupKeyLimits())
    let admitted = (0..<100).filter { _ in sender.admitsEnvelope(now: instant(5)) }.count
    expect(admitted == GroupKeyLimits().envelopes)
    expect(sender.admitsEnvelope(now: instant(1_005)))
  }
}
