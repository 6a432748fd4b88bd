import Foundation
import Simulation

/// What became of the worlds of one scenario, in words.
struct PartSummary {
  let totals: RunTotals
  private let scenario: Scenario
  private let reports: [RunReport]
  private let took: Duration
  private let printsDigests: Bool

  init(scenario: Scenario, reports: [RunReport], took: Duration, printsDigests: Bool) {
    self.scenario = scenario
    self.reports = reports
    self.took = took
    self.printsDigests = printsDigests
    var totals = RunTotals()
    for report in reports { totals.add(report.totals) }
    self.totals = totals
  }

  var text: String {
    var lines = printsDigests ? reports.map(digestLine) : []
    lines.append("\(scenario.rawValue): \(totals.calls) calls in \(totals.worlds) worlds")
    lines += totals.outcomes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\(padded(String($0.value), to: 8))  \($0.key)" }
    if let half = totals.connectPercentile(0.5), let most = totals.connectPercentile(0.95),
      let last = totals.connectPercentile(0.99)
    {
      lines.append("  accept to connected: p50 \(half) ms, p95 \(most) ms, p99 \(last) ms")
    }
    if !printsDigests { lines.append(speed) }
    let failed = reports.filter { !$0.violations.isEmpty }
    for report in failed.prefix(20) { lines += failure(report) }
    if failed.count > 20 { lines.append("  … and \(failed.count - 20) more worlds that failed") }
    if !failed.isEmpty {
      lines.append("  failed seeds: " + failed.map { String($0.seed) }.joined(separator: " "))
    }
    return lines.joined(separator: "\n")
  }

  private func failure(_ report: RunReport) -> [String] {
    let replay = "tools/simulate --scenario \(scenario.rawValue) --calls 1 --seed \(report.seed)"
    return ["  seed \(report.seed) failed; again: \(replay) --log /tmp/\(report.seed).log"]
      + report.violations.prefix(5).map { "    \($0)" }
  }

  private func digestLine(_ report: RunReport) -> String {
    "\(scenario.rawValue) seed \(report.seed) digest \(String(report.digest, radix: 16))"
  }

  private var speed: String {
    let seconds = Double(took.components.seconds) + Double(took.components.attoseconds) / 1e18
    let simulated = Double(totals.simulated.components.seconds)
    return "  \(Int(simulated)) s simulated in \(rounded(seconds)) s"
      + " (\(Int(simulated / seconds)) times real time),"
      + " \(rounded(Double(totals.calls) / seconds)) calls/s, \(totals.datagrams) datagrams"
  }

  private func rounded(_ value: Double) -> String { String(format: "%.1f", value) }

  private func padded(_ text: String, to width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}
