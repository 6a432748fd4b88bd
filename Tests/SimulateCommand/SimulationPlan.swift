import Arguments
import Foundation
import Simulation

/// What to simulate, and how to report it.
struct SimulationPlan {
  private let parts: [(scenario: Scenario, calls: Int)]
  private let seed: UInt64
  private let jobs: Int
  private let logPath: String?
  private let printsDigests: Bool

  init(_ arguments: inout Arguments) throws(UsageError) {
    let calls = try arguments.integer("--calls", "calls", in: 1...10_000_000) ?? 1_000
    seed = try arguments.option("--seed", wants: "a whole number from 0") { UInt64($0) } ?? 1
    let names = Scenario.allCases.map(\.rawValue)
    let name = try arguments.choice("--scenario", of: names + ["all"]) ?? "all"
    if let scenario = Scenario(rawValue: name) {
      parts = [(scenario, calls)]
    } else {
      parts = Scenario.allCases.map { ($0, $0 == .random ? calls : max(1, calls / 10)) }
    }
    jobs =
      try arguments.integer("--jobs", "jobs", in: 1...64)
      ?? ProcessInfo.processInfo.activeProcessorCount
    logPath = try arguments.option("--log")
    printsDigests = try arguments.flag("--digests")
  }

  /// Whether every world kept every rule.
  func run() async -> Bool {
    if let logPath, let scenario = parts.first?.scenario {
      let report = scenario.run(seed: seed, keepsText: true)
      guard FileManager.default.createFile(atPath: logPath, contents: Data(report.text)) else {
        FileHandle.standardError.write(Data("simulate: cannot write \(logPath)\n".utf8))
        return false
      }
    }
    var totals = RunTotals()
    for part in parts {
      let count = (part.calls + part.scenario.callsPerWorld - 1) / part.scenario.callsPerWorld
      let start = ContinuousClock.now
      let reports = await runWorlds(part.scenario, count)
      let summary = PartSummary(
        scenario: part.scenario, reports: reports, took: ContinuousClock.now - start,
        printsDigests: printsDigests)
      print(summary.text)
      totals.add(summary.totals)
    }
    print("\(totals.calls - totals.failedCalls) passed, \(totals.failedCalls) failed")
    return totals.failedCalls == 0
  }

  /// One report a world, in order of seeds.
  private func runWorlds(_ scenario: Scenario, _ count: Int) async -> [RunReport] {
    let seed = seed
    var reports = [RunReport?](repeating: nil, count: count)
    await withTaskGroup(of: (Int, RunReport).self) { group in
      var next = 0
      while next < min(jobs, count) {
        let index = next
        group.addTask { (index, scenario.run(seed: seed &+ UInt64(index))) }
        next += 1
      }
      for await (index, report) in group {
        reports[index] = report
        if next < count {
          let following = next
          group.addTask { (following, scenario.run(seed: seed &+ UInt64(following))) }
          next += 1
        }
      }
    }
    return reports.compactMap { $0 }
  }
}
