import CongestionLab
import LinkModel
import Primitives
import Testing

@testable import Congestion

/// Losses that begin suddenly, and what follows where a policer makes them.
@Suite struct SuddenLossTests {
  private static let begin = Instant(nanoseconds: 5_000_000_000)

  /// When losses are sudden, in reports of 20 ms and 5 packets each.
  ///
  /// - Parameters:
  ///   - reports: How many at most.
  ///   - share: Of packets that are lost, by report.
  private func firstSudden(
    seed: UInt64, reports: Int, loss share: (Int) -> Double
  ) -> Int? {
    var sudden = SuddenLoss()
    var losses = LossAccount()
    var random = RandomSource(seed: seed)
    for report in 0..<reports {
      for index in 0..<5 as Range<UInt64> {
        if random.unit() < share(report) {
          losses.addLost(UInt64(report) * 5 + index)
        } else {
          losses.addArrived()
        }
      }
      losses.finishReport(isQueued: false)
      let now = Self.begin + .milliseconds(Int64(report) * 20)
      sudden.append(losses, isSettled: false, cycle: 70_000, now: now)
      if sudden.isSudden(isSettled: false) { return report }
    }
    return nil
  }

  @Test(arguments: [0.01, 0.03, 0.1, 0.2])
  func `a line that always loses is hardly ever sudden`(loss: Double) {
    // Ten lines, a minute each.
    let found = (1...10).compactMap { seed in
      firstSudden(seed: UInt64(seed), reports: 3_000) { _ in loss }
    }
    #expect(found.count <= 1, "\(found)")
  }

  @Test(arguments: [0.15, 0.3, 0.5])
  func `more than before is sudden within a second`(loss: Double) {
    for seed in 1...10 as ClosedRange<UInt64> {
      let found = firstSudden(seed: seed, reports: 500) { $0 < 300 ? 0.01 : loss }
      #expect(found.map { $0 >= 300 && $0 < 350 } ?? false, "seed \(seed): \(found ?? -1)")
    }
  }

  /// As where packets are too long for the path.
  @Test func `forgotten losses are not counted`() {
    var sudden = SuddenLoss()
    var losses = LossAccount()
    for number in 0..<40 as Range<UInt64> {
      if number % 2 == 0 { losses.addLost(number) } else { losses.addArrived() }
    }
    losses.finishReport(isQueued: false)
    sudden.append(losses, isSettled: false, cycle: 70_000, now: Self.begin)
    #expect(sudden.isSudden(isSettled: false))
    sudden.restart()
    #expect(!sudden.isSudden(isSettled: false))
  }

  /// Fades that the report has no case of: 90 % are carried again, and pictures never end.
  @Test(arguments: [(1.2, 0.45), (1.7, 0.35), (2.2, 0.55)])
  func `a fade is no policer`(seconds: Double, loss: Double) {
    let lab = LabCase.faded([(at: 20, length: seconds)], loss: loss)
    for seed in 1...3 as ClosedRange<UInt64> {
      let world = lab.run(seed: seed)
      func value(_ place: Int) -> Double? { lab.measures[place].read(lab, world) }
      #expect(value(0) ?? 100 <= 2.5, "seed \(seed)")
      #expect(value(1) ?? 0 >= 0.9, "seed \(seed)")
      #expect(value(2) == 0, "seed \(seed)")
    }
  }

  /// Policers that the report has no case of.
  @Test(arguments: [(0.6e6, 9e3), (1.1e6, 30e3), (2.3e6, 90e3)])
  func `a call behind a policer keeps its video`(rate: Double, bytes: Double) {
    let lab = LabCase.policed(rate, bytes: bytes)
    for seed in 1...2 as ClosedRange<UInt64> {
      let world = lab.run(seed: seed)
      func value(_ name: String) -> Double? {
        lab.measures.first { $0.name == name }.flatMap { $0.read(lab, world) }
      }
      #expect(value("dropped after 2 s") ?? 100 <= 3, "seed \(seed)")
      #expect(value("useful video of the policed rate") ?? 0 >= 0.8, "seed \(seed)")
      #expect(value("changes to audio alone") == 0, "seed \(seed)")
    }
  }
}
