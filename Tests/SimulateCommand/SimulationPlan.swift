import Arguments
import Foundation
import Simulation

/// What to simulate, and how to report it.
struct SimulationPlan {
  private let calls: Int
  private let seed: UInt64
  private let scenario: Scenario
  private let jobs: Int
  private let logPath: String?
  private let printsDigests: Bool

  init(_ arguments: inout Arguments) throws(UsageError) {
    calls = try arguments.integer("--calls", "calls", in: 1...10_000_000) ?? 1_000
    seed = try arguments.option("--seed", wants: "a whole number from 0") { UInt64($0) } ?? 1
    let names = Scenario.allCases.map(\.rawValue)
    scenario =
      try arguments.choice("--scenario", of: names).flatMap(Scenario.init(rawValue:)) ?? .random
    jobs =
      try arguments.integer("--jobs", "jobs", in: 1...64)
      ?? ProcessInfo.processInfo.activeProcessorCount
    logPath = try arguments.option("--log")
    printsDigests = try arguments.flag("--digests")
  }

  /// Whether every world kept every rule.
  func run() async -> Bool {
    if let logPath {
      let report = scenario.run(seed: seed, keepsText: true)
      guard FileManager.default.createFile(atPath: logPath, contents: Data(report.text)) else {
        FileHandle.standardError.write(Data("simulate: cannot write \(logPath)\n".utf8))
        return false
      }
    }
    let worlds = (calls + scenario.callsPerWorld - 1) / scenario.callsPerWorld
    let start = ContinuousClock.now
    let reports = await runWorlds(worlds)
    print(summary(reports, took: ContinuousClock.now - start))
    return reports.allSatisfy(\.violations.isEmpty)
  }

  /// One report a world, in order of seeds.
  private func runWorlds(_ count: Int) async -> [RunReport] {
    let (scenario, seed) = (scenario, seed)
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

  // MARK: - The summary

  private func summary(_ reports: [RunReport], took: Duration) -> String {
    var totals = RunTotals()
    for report in reports { totals.add(report.totals) }
    var lines = printsDigests ? reports.map(digestLine) : []
    lines.append("\(totals.calls) calls in \(totals.worlds) worlds of scenario \(scenario.rawValue)")
    lines += totals.outcomes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "  \(pad(String($0.value), 8))  \($0.key)" }
    if let half = totals.connectPercentile(0.5), let most = totals.connectPercentile(0.95),
      let last = totals.connectPercentile(0.99)
    {
      lines.append("accept to connected: p50 \(half) ms, p95 \(most) ms, p99 \(last) ms")
    }
    lines.append(speed(totals, took))
    let failed = reports.filter { !$0.violations.isEmpty }
    for report in failed.prefix(20) { lines += failure(report) }
    if failed.count > 20 { lines.append("… and \(failed.count - 20) more worlds that failed") }
    if !failed.isEmpty {
      lines.append("failed seeds: " + failed.map { String($0.seed) }.joined(separator: " "))
    }
    lines.append("\(totals.calls - totals.failedCalls) passed, \(totals.failedCalls) failed")
    return lines.joined(separator: "\n")
  }

  private func failure(_ report: RunReport) -> [String] {
    let replay = "tools/simulate --scenario \(scenario.rawValue) --calls 1 --seed \(report.seed)"
    return ["seed \(report.seed) failed; again: \(replay) --log /tmp/\(report.seed).log"]
      + report.violations.prefix(5).map { "  \($0)" }
  }

  private func digestLine(_ report: RunReport) -> String {
    "seed \(report.seed) digest \(String(report.digest, radix: 16))"
  }

  private func speed(_ totals: RunTotals, _ took: Duration) -> String {
    let seconds = Double(took.components.seconds) + Double(took.components.attoseconds) / 1e18
    let simulated = Double(totals.simulated.components.seconds)
    return "\(Int(simulated)) s simulated in \(one(seconds)) s (\(Int(simulated / seconds)) times"
      + " real time), \(one(Double(totals.calls) / seconds)) calls/s, \(totals.datagrams) datagrams"
  }

  private func one(_ value: Double) -> String { String(format: "%.1f", value) }

  private func pad(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}
