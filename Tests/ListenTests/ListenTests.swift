import Audio
import Foundation
import Primitives
import Testing

@testable import ListenCommand

/// The instrument before the measurement: what tools/listen says of lines is true.
@Suite struct ListenTests {
  private static func outcome(_ line: String, seed: UInt64 = 1) throws -> ListenOutcome {
    var options = ListenOptions()
    options.line = try LineWords(line)
    options.seed = seed
    var run = try ListenRun(options, samples: [Int16](repeating: 0, count: 48_000 * 4))
    return try run.listen()
  }

  @Test func `the same seed gives the same run, another seed another`() throws {
    let line = "loss=20,burst=3,jitter95=30"
    let first = try Self.outcome(line)
    #expect(try Self.outcome(line).json == first.json)
    #expect(try Self.outcome(line, seed: 2).json != first.json)
  }

  /// As in a call: what is asked for waits for the next visit, and goes alone where the next frame
  /// is far.
  @Test func `nothing leaves between two visits of the end that speaks`() throws {
    var options = ListenOptions()
    options.line = try LineWords("loss=10")
    options.back = try LineWords("delay=3")
    options.plan = RedundancyPlan(frameLength: .milliseconds60)
    options.asksAgain = true
    options.delay = 150_000_000
    var run = try ListenRun(options, samples: [Int16](repeating: 0, count: 48_000 * 20))
    let departures = try run.listen().departures
    #expect(departures.count > 20 * 17 + 10, "frames, and repetitions between them")
    #expect(departures.allSatisfy { $0.nanoseconds % 5_000_000 == 0 })
  }

  /// The end that speaks hears of the stall by the way back, which goes on.
  @Test(arguments: [
    "stall=300/5000", "stall=200/3000", "delay=5,stall=300/2000", "freeze=250/4000",
  ])
  func `what a stall makes late no hold makes later`(line: String) throws {
    for seed in 81...84 as ClosedRange<UInt64> {
      var options = ListenOptions()
      options.line = try LineWords(line)
      options.back = try LineWords("delay=5")
      options.seed = seed
      options.adapts = true
      options.asksAgain = true
      var run = try ListenRun(options, samples: [Int16](repeating: 0, count: 48_000 * 20))
      let departures = try run.listen().departures
      let pauses = zip(departures, departures.dropFirst()).map { $1.nanoseconds(since: $0) }
      #expect(try #require(pauses.max()) <= 25_000_000, "\(seed)")
    }
  }

  @Test func `a line loses what it says`() throws {
    var line = ListenLine(try LineWords("loss=10,burst=3"), random: RandomSource(seed: 5))
    var lost = 0
    var runs = 0
    var wasLost = false
    for number in 0..<50_000 {
      let isLost =
        line.carry(byteCount: 100, at: Instant(nanoseconds: UInt64(number) * 20_000_000)) == nil
      if isLost { lost += 1 }
      if isLost && !wasLost { runs += 1 }
      wasLost = isLost
    }
    #expect((4500...5500).contains(lost))
    #expect(abs(Double(lost) / Double(runs) - 3) < 0.2)
  }

  /// When the plan changed, in seconds, and how many copies each packet carried from then on.
  private static func copies(_ line: String, seed: UInt64) throws -> [(at: Double, count: Int)] {
    var options = ListenOptions()
    options.line = try LineWords(line)
    options.seed = seed
    options.adapts = true
    options.traces = true
    options.asksAgain = true
    var run = try ListenRun(options, samples: [Int16](repeating: 0, count: 48_000 * 30))
    let told = try run.listen().json.components(separatedBy: "\"plans\":[")[1]
      .components(separatedBy: "]")[0]
    return told.components(separatedBy: "\",\"").compactMap { change in
      let parts = change.filter { $0 != "\"" }.components(separatedBy: ": ")
      let copies = parts[1].components(separatedBy: " ")[1]
      return Double(parts[0]).map { ($0, copies.split(separator: ",").count) }
    }
  }

  /// Ten seconds of trouble in mid-call: two copies a second after it began, and none five seconds
  /// after its end.
  @Test(arguments: ["loss=20", "loss=10,burst=2", "delay=75,loss=15", "loss=25,burst=4"])
  func `protection comes and goes with trouble`(line: String) throws {
    for seed in 71...74 as ClosedRange<UInt64> {
      let changes = try Self.copies("\(line),from=10,until=20", seed: seed)
      let twice = try #require(changes.first { $0.at >= 10 && $0.count >= 2 })
      #expect(twice.at <= 11, "\(seed): \(changes)")
      let last = try #require(changes.last)
      #expect(last.count == 0 && last.at <= 25, "\(seed): \(changes)")
      #expect(!changes.contains { $0.at > 11 && $0.at < 20 && $0.count == 0 }, "\(seed)")
    }
  }

  @Test func `trouble begins and ends when it says`() throws {
    var line = ListenLine(
      try LineWords("delay=30,loss=50,from=10,until=20"), random: RandomSource(seed: 5))
    var lost: [Int] = []
    for number in 0..<1500 {
      let now = Instant(nanoseconds: UInt64(number) * 20_000_000)
      guard let arrival = line.carry(byteCount: 100, at: now) else {
        lost.append(number)
        continue
      }
      #expect(arrival == now + .milliseconds(30))
    }
    #expect((200...300).contains(lost.count))
    #expect(lost.allSatisfy { (500..<1000).contains($0) })
  }

  @Test func `jitter has its 95th percentile and keeps the order`() throws {
    var line = ListenLine(try LineWords("delay=20,jitter95=50"), random: RandomSource(seed: 5))
    var delays: [UInt64] = []
    var newest = Instant.zero
    for number in 0..<20_000 {
      let now = Instant(nanoseconds: UInt64(number) * 20_000_000)
      let carried = line.carry(byteCount: 100, at: now)
      let arrival = try #require(carried)
      #expect(arrival >= newest)
      newest = arrival
      delays.append(arrival.nanoseconds(since: now) / 1_000_000)
    }
    delays.sort()
    // Keeping the order makes it a little longer than 20 + 50.
    #expect((69...80).contains(delays[19_000]))
  }

  @Test func `a freeze holds everything and lets it go at once`() throws {
    var line = ListenLine(try LineWords("delay=20,freeze=300/5000"), random: RandomSource(seed: 5))
    let before = Instant(nanoseconds: 2_490_000_000)
    let within = Instant(nanoseconds: 2_510_000_000)
    let after = Instant(nanoseconds: 2_801_000_000)
    let arrivals = [before, within, after].map { line.carry(byteCount: 100, at: $0) }
    #expect(
      arrivals == [
        before + .milliseconds(20), Instant(nanoseconds: 2_820_000_000), after + .milliseconds(20),
      ])
  }

  @Test func `a heavy tail has its 95th percentile, and its cut`() throws {
    var line = ListenLine(
      try LineWords("delay=20,pareto95=50,most=400,reorder"), random: RandomSource(seed: 5))
    var delays: [UInt64] = []
    for number in 0..<20_000 {
      let now = Instant(nanoseconds: UInt64(number) * 20_000_000)
      let carried = line.carry(byteCount: 100, at: now)
      delays.append(try #require(carried).nanoseconds(since: now) / 1_000_000)
    }
    delays.sort()
    #expect((68...72).contains(delays[19_000]))
    // One in a hundred: ten times the least, where an exponential tail has 77 ms.
    #expect((125...140).contains(delays[19_800]))
    #expect(delays.last == 420)
  }

  @Test func `spells lose a share in time, and stalls come at any moment`() throws {
    var line = ListenLine(try LineWords("loss=10,spell=60"), random: RandomSource(seed: 5))
    var stalls = ListenLine(try LineWords("delay=20,stall=300/5000"), random: RandomSource(seed: 5))
    var lost = 0
    var late: [Int] = []
    for number in 0..<50_000 {
      let now = Instant(nanoseconds: UInt64(number) * 20_000_000)
      if line.carry(byteCount: 100, at: now) == nil { lost += 1 }
      let carried = stalls.carry(byteCount: 100, at: now)
      let delay = try #require(carried).nanoseconds(since: now) / 1_000_000
      #expect(delay <= 320)
      if delay > 300 { late.append(number) }
    }
    #expect((4200...5800).contains(lost))
    // In 1000 s one each 5.3 s, and no rhythm in it.
    let gaps = zip(late.dropFirst(), late).map { $0 - $1 }
    #expect((150...230).contains(gaps.count))
    #expect(Set(gaps).count > gaps.count / 3)
  }
}
