import Congestion
import Primitives
import Testing

@Suite struct FallbackMachineTests {
  static let limits = FallbackLimits(audio: 50_000, leastVideo: 100_000)

  /// Feeds one sighting every 100 ms; returns the changes and when they came, in ms.
  static func feed(
    _ machine: inout FallbackMachine, from: UInt64, milliseconds: UInt64, estimate: Double,
    loss: Double = 0, delay: Double = 5_000, isHeard: Bool = true, proven: Double? = nil,
    isVariable: Bool = false, isContested: Bool = false, isUndecided: Bool = false
  ) -> [(UInt64, FallbackMachine.Change)] {
    var changes: [(UInt64, FallbackMachine.Change)] = []
    for time in stride(from: from, to: from + milliseconds, by: 100) {
      let sighting = FallbackMachine.Sighting(
        estimate: estimate, loss: loss, queueDelay: delay, isHeard: isHeard,
        deliveryRate: proven ?? estimate, isVariable: isVariable, isContested: isContested,
        isUndecided: isUndecided)
      let now = Instant(nanoseconds: (time + 1_000) * 1_000_000)
      if let change = machine.update(sighting, now: now) { changes.append((time, change)) }
    }
    return changes
  }

  @Test func `a rate too low for two seconds ends video, one dip does not`() throws {
    var machine = FallbackMachine(Self.limits)
    #expect(Self.feed(&machine, from: 0, milliseconds: 1_900, estimate: 100_000).isEmpty)
    #expect(Self.feed(&machine, from: 2_000, milliseconds: 1_000, estimate: 200_000).isEmpty)
    let changes = Self.feed(&machine, from: 3_000, milliseconds: 5_000, estimate: 149_000)
    let (time, change) = try #require(changes.first)
    #expect(time == 5_000 && changes.count == 1)
    #expect(change.mode == .audioOnly && change.reason == .rate)
    #expect(change.needed == 150_000 && change.estimate == 149_000)
  }

  @Test func `loss, delay and silence end it as well`() {
    for (loss, delay, isHeard, reason, after) in [
      (0.2, 5_000.0, true, FallbackMachine.Reason.loss, 3_000 as UInt64),
      (0, 500_000, true, .delay, 1_000), (0, 5_000, false, .silence, 2_000),
    ] {
      var machine = FallbackMachine(Self.limits)
      let changes = Self.feed(
        &machine, from: 0, milliseconds: 6_000, estimate: 1_000_000, loss: loss, delay: delay,
        isHeard: isHeard)
      #expect(changes.first?.0 == after)
      #expect(changes.first?.1.reason == reason)
    }
  }

  @Test func `a queue that somebody else fills ends no video, and keeps none away`() throws {
    var machine = FallbackMachine(Self.limits)
    let none = Self.feed(
      &machine, from: 0, milliseconds: 20_000, estimate: 400_000, delay: 900_000, isContested: true)
    #expect(none.isEmpty)
    // Too little of it does.
    let changes = Self.feed(
      &machine, from: 20_000, milliseconds: 5_000, estimate: 100_000, delay: 900_000,
      isContested: true)
    #expect(changes.first?.1.reason == .rate)
    let own = Self.feed(
      &machine, from: 25_000, milliseconds: 10_000, estimate: 180_000, delay: 900_000)
    #expect(own.isEmpty)
    let back = Self.feed(
      &machine, from: 35_000, milliseconds: 10_000, estimate: 180_000, delay: 900_000,
      isContested: true)
    let (time, change) = try #require(back.first)
    #expect(time <= 36_200 && change.reason == .recovered)
  }

  @Test func `while it is found out whose the queue is, video stays`() {
    var machine = FallbackMachine(Self.limits)
    let undecided = Self.feed(
      &machine, from: 0, milliseconds: 5_000, estimate: 30_000, delay: 900_000, isUndecided: true)
    #expect(undecided.isEmpty)
    // Somebody else's: what a drain left of the rate does not count.
    let contested = Self.feed(
      &machine, from: 5_000, milliseconds: 1_900, estimate: 30_000, delay: 900_000,
      isContested: true)
    #expect(contested.isEmpty)
    // Our own: what is known holds at once.
    var other = FallbackMachine(Self.limits)
    _ = Self.feed(
      &other, from: 0, milliseconds: 5_000, estimate: 30_000, delay: 900_000, isUndecided: true)
    let own = Self.feed(&other, from: 5_000, milliseconds: 200, estimate: 30_000, delay: 900_000)
    #expect(own.first?.1.reason == .rate)
  }

  @Test func `only a rate that was carried brings video back`() throws {
    var machine = FallbackMachine(Self.limits)
    _ = Self.feed(&machine, from: 0, milliseconds: 2_100, estimate: 60_000)
    #expect(machine.mode == .audioOnly)
    // Growth by formula alone.
    let none = Self.feed(
      &machine, from: 2_100, milliseconds: 20_000, estimate: 400_000, proven: 60_000)
    #expect(none.isEmpty)
    let changes = Self.feed(&machine, from: 22_100, milliseconds: 10_000, estimate: 240_000)
    let (time, change) = try #require(changes.first)
    #expect(time < 22_100 + 6_000)
    #expect(change.mode == .audioAndVideo && change.reason == .recovered)
  }

  @Test func `it probes, and stops where the audio would wait`() {
    var machine = FallbackMachine(Self.limits)
    _ = Self.feed(&machine, from: 0, milliseconds: 2_100, estimate: 60_000)
    _ = Self.feed(&machine, from: 2_100, milliseconds: 3_000, estimate: 60_000)
    let probing = Instant(nanoseconds: 6_100 * 1_000_000)
    #expect(machine.probeRate(now: probing) == 225_000 * 1.1)
    _ = Self.feed(&machine, from: 5_100, milliseconds: 200, estimate: 60_000, delay: 80_000)
    #expect(machine.probeRate(now: Instant(nanoseconds: 6_400 * 1_000_000)) == nil)
  }

  @Test func `a probe that has shown nothing ends at half the queue`() {
    for (proven, isOver) in [(60_000.0, true), (240_000, false)] {
      var machine = FallbackMachine(Self.limits)
      _ = Self.feed(&machine, from: 0, milliseconds: 4_300, estimate: 60_000)
      _ = Self.feed(
        &machine, from: 4_300, milliseconds: 200, estimate: 300_000, delay: 30_000, proven: proven)
      let now = Instant(nanoseconds: 5_600 * 1_000_000)
      #expect((machine.probeRate(now: now) == nil) == isOver)
    }
  }

  @Test func `on a restless line a moment's delay does not end a probe`() {
    for (delay, milliseconds, isVariable, isOver) in [
      (30_000.0, 100, true, false), (30_000, 200, true, true), (45_000, 100, true, true),
      (30_000, 100, false, true),
    ] as [(Double, UInt64, Bool, Bool)] {
      var machine = FallbackMachine(Self.limits)
      _ = Self.feed(&machine, from: 0, milliseconds: 4_300, estimate: 60_000)
      _ = Self.feed(
        &machine, from: 4_300, milliseconds: milliseconds, estimate: 60_000, delay: delay,
        isVariable: isVariable)
      let now = Instant(nanoseconds: (4_300 + milliseconds + 1_000) * 1_000_000)
      #expect((machine.probeRate(now: now) == nil) == isOver)
    }
  }

  @Test func `just before the return the probe goes on to what video may have then`() throws {
    var machine = FallbackMachine(Self.limits)
    _ = Self.feed(&machine, from: 0, milliseconds: 4_100, estimate: 60_000)
    var rates: [Double] = []
    var time: UInt64 = 4_100
    while machine.mode == .audioOnly, time < 10_000 {
      _ = Self.feed(&machine, from: time, milliseconds: 100, estimate: 300_000)
      time += 100
      rates.append(machine.probeRate(now: Instant(nanoseconds: (time + 1_000) * 1_000_000)) ?? 0)
    }
    #expect(machine.mode == .audioAndVideo)
    let rise = try #require(rates.firstIndex(of: 225_000 * 3.0))
    #expect(rates[..<rise].last == 225_000 * 1.1)
    #expect(rates[rise...].count <= 17 && rates.last == 0)
  }

  @Test func `a queue in the rise is no reason against the return`() {
    for (rate, delay, loss, returns) in [
      (400_000.0, 90_000.0, 0.0, true), (300_000, 90_000, 0, false), (400_000, 160_000, 0, false),
      (400_000, 90_000, 0.1, false),
    ] {
      var machine = FallbackMachine(Self.limits)
      _ = Self.feed(&machine, from: 0, milliseconds: 4_100, estimate: 60_000)
      _ = Self.feed(&machine, from: 4_100, milliseconds: 1_100, estimate: rate)
      #expect(machine.mode == .audioOnly)
      _ = Self.feed(
        &machine, from: 5_200, milliseconds: 100, estimate: rate, loss: loss, delay: delay)
      #expect((machine.mode == .audioAndVideo) == returns)
    }
  }

  @Test func `after a probe that has shown the rate the next one comes soon`() {
    for (rate, isSoon) in [(300_000.0, true), (60_000, false)] {
      var machine = FallbackMachine(Self.limits)
      _ = Self.feed(&machine, from: 0, milliseconds: 4_100, estimate: 60_000)
      _ = Self.feed(&machine, from: 4_100, milliseconds: 800, estimate: rate)
      _ = Self.feed(&machine, from: 4_900, milliseconds: 100, estimate: rate, delay: 90_000)
      #expect(machine.probeRate(now: Instant(nanoseconds: 6_000 * 1_000_000)) == nil)
      _ = Self.feed(&machine, from: 5_000, milliseconds: 1_100, estimate: rate)
      let now = Instant(nanoseconds: 7_100 * 1_000_000)
      #expect((machine.probeRate(now: now) != nil) == isSoon)
    }
  }

  @Test func `what is probed in vain is probed less often, and still every few seconds`() {
    var machine = FallbackMachine(Self.limits)
    _ = Self.feed(&machine, from: 0, milliseconds: 2_100, estimate: 60_000)
    var starts: [UInt64] = []
    var isProbing = false
    for time in stride(from: 2_100, to: 40_000, by: 100) as StrideTo<UInt64> {
      // Half a second into the probe the queue is there.
      let isHurt = isProbing && starts.last.map { time - $0 >= 500 } ?? false
      _ = Self.feed(
        &machine, from: time, milliseconds: 100, estimate: 60_000, delay: isHurt ? 30_000 : 0)
      let isNow = machine.probeRate(now: Instant(nanoseconds: (time + 1_000) * 1_000_000)) != nil
      if isNow, !isProbing { starts.append(time) }
      isProbing = isNow
    }
    let pauses = zip(starts.dropFirst(), starts).map { $0 - $1 }
    #expect(pauses.first.map { $0 < 3_000 } == true)
    #expect(pauses.last.map { $0 >= 4_000 && $0 < 5_500 } == true)
  }

  @Test func `each relapse doubles the way back, up to a minute`() {
    var machine = FallbackMachine(Self.limits)
    var time: UInt64 = 0
    var waits: [Duration] = []
    for _ in 0..<8 {
      _ = Self.feed(&machine, from: time, milliseconds: 2_200, estimate: 60_000)
      #expect(machine.mode == .audioOnly)
      waits.append(machine.returnTime)
      time += 2_200
      // Until it returns; then it is out again at once.
      while machine.mode == .audioOnly {
        _ = Self.feed(&machine, from: time, milliseconds: 100, estimate: 300_000)
        time += 100
      }
    }
    #expect(waits.prefix(4) == [.seconds(2), .seconds(4), .seconds(8), .seconds(16)])
    #expect(waits.allSatisfy { $0 <= .seconds(60) })
  }

  @Test func `a border rate does not flap in an hour`() {
    for factor in [0.9, 1.0, 1.1] {
      var machine = FallbackMachine(Self.limits)
      var random = RandomSource(seed: 9)
      var changes = 0
      for tick in 0..<36_000 as Range<UInt64> {
        let estimate = 150_000 * factor * (0.9 + 0.2 * random.unit())
        let sighting = FallbackMachine.Sighting(
          estimate: estimate, loss: 0, queueDelay: 10_000, isHeard: true, deliveryRate: estimate)
        let now = Instant(nanoseconds: (tick + 1) * 100_000_000)
        if machine.update(sighting, now: now) != nil { changes += 1 }
      }
      #expect(changes <= 6)
    }
  }
}
