import Foundation
import Simulation

/// The table: all probes together, and by each property of the line.
struct AccuracySummary {
  /// One line of the table.
  struct Line: Sendable, Codable {
    var lines: String
    var directions: Int
    var withoutRate: Int
    var errorP50: Double
    var errorP95: Double
    var errorMean: Double
    var coverage: Double
    var halfWidthP50: Double
    var unsteady: Double
    var lossCoverage: Double
    var lossErrorP95: Double
    var roundTripInside: Double
    var roundTripErrorP95Ms: Double
    var secondsMax: Double
    var firstGradeSecondsMax: Double
    var peakMax: Double
    var bytesMax: Int
  }

  let lines: [Line]

  private struct Sample {
    var cell: AccuracyCell
    var truth: Double
    var way: AccuracyProbe.Way
    var probe: AccuracyProbe
    var peak: Double
  }

  init(_ rows: [AccuracyGrid.Row]) {
    let samples = rows.flatMap { row in
      row.probes.flatMap { probe in
        [
          Sample(
            cell: row.cell, truth: Double(row.cell.uplink), way: probe.up, probe: probe,
            peak: probe.peakUp),
          Sample(
            cell: row.cell, truth: Double(row.cell.downlink), way: probe.down, probe: probe,
            peak: probe.peakDown),
        ]
      }
    }
    var lines = [Self.line("all", samples)]
    func split(_ title: String, _ values: [Int], _ key: (Sample) -> Int) {
      for value in values {
        let part = samples.filter { key($0) == value }
        if !part.isEmpty { lines.append(Self.line("\(title) \(value)", part)) }
      }
    }
    split("kbit/s", [300, 1000, 2000, 5000, 10_000, 50_000, 100_000]) { Int($0.truth) / 1000 }
    split("RTT ms", [20, 60, 200]) { $0.cell.roundTrip }
    split("loss %", [0, 1, 5, 20]) { $0.cell.loss }
    split("jitter ms", [0, 20]) { $0.cell.jitter }
    split("queue ms", [30, 200, 1000]) { $0.cell.queue }
    let shapes = Self.shapes(samples)
    guard shapes.isEmpty else {
      self.lines = shapes
      return
    }
    for row in rows {
      let name = row.cell.name
      for (way, rate) in [("up", row.cell.uplink), ("down", row.cell.downlink)] {
        let part = samples.filter { $0.cell.name == name && Int($0.truth) == rate }
        lines.append(Self.line("\(name): \(way)", part))
      }
    }
    self.lines = lines
  }

  /// Of a cell of each shape few probes are made: only the shapes have a line.
  private static func shapes(_ samples: [Sample]) -> [Line] {
    JitterShape.allCases.compactMap { shape in
      let part = samples.filter { $0.cell.shape == shape }
      return part.isEmpty ? nil : line(shape.name, part)
    }
  }

  private static func line(_ title: String, _ samples: [Sample]) -> Line {
    let rated = samples.filter { $0.way.rate != nil }
    let errors = rated.map { abs(($0.way.rate ?? 0) / $0.truth - 1) }.sorted()
    let signed = rated.map { ($0.way.rate ?? 0) / $0.truth - 1 }
    let covered = rated.count {
      ($0.way.low ?? .infinity) <= $0.truth && $0.truth <= ($0.way.high ?? 0)
    }
    let widths = rated.map { (($0.way.high ?? 0) - ($0.way.low ?? 0)) / 2 / $0.truth }.sorted()
    let lossy = samples.filter { $0.way.loss != nil }
    let lossCovered = lossy.count {
      let truth = Double($0.cell.loss) / 100
      return ($0.way.lossLow ?? 1) <= truth + 1e-9 && truth <= ($0.way.lossHigh ?? 0)
    }
    let lossErrors = lossy.map { abs(($0.way.loss ?? 0) - Double($0.cell.loss) / 100) }.sorted()
    let trips = samples.map { abs(($0.probe.roundTripMs ?? 1e6) - $0.cell.trueRoundTrip) }.sorted()
    let tripsInside = samples.count {
      abs(($0.probe.roundTripMs ?? 1e6) - $0.cell.trueRoundTrip)
        <= 1 + 0.01 * $0.cell.trueRoundTrip
    }
    return Line(
      lines: title, directions: samples.count, withoutRate: samples.count - rated.count,
      errorP50: quantile(errors, 0.5), errorP95: quantile(errors, 0.95),
      errorMean: signed.reduce(0, +) / Double(max(1, signed.count)),
      coverage: Double(covered) / Double(max(1, rated.count)),
      halfWidthP50: quantile(widths, 0.5),
      unsteady: Double(rated.count { $0.way.isUnsteady == true }) / Double(max(1, rated.count)),
      lossCoverage: Double(lossCovered) / Double(max(1, lossy.count)),
      lossErrorP95: quantile(lossErrors, 0.95),
      roundTripInside: Double(tripsInside) / Double(max(1, samples.count)),
      roundTripErrorP95Ms: quantile(trips, 0.95),
      secondsMax: samples.map(\.probe.seconds).max() ?? 0,
      firstGradeSecondsMax: samples.compactMap(\.probe.firstGradeSeconds).max() ?? 0,
      peakMax: samples.map(\.peak).max() ?? 0,
      bytesMax: samples.map { max($0.probe.bytesSent, $0.probe.bytesReceived) }.max() ?? 0)
  }

  private static func quantile(_ sorted: [Double], _ share: Double) -> Double {
    guard !sorted.isEmpty else { return .nan }
    let rank = Int((Double(sorted.count) * share).rounded(.up))
    return sorted[min(sorted.count - 1, max(0, rank - 1))]
  }

  func markdown(seeds: Int, seconds: Int) -> String {
    var text = """
      | lines | n | no rate | rate error p50 | p95 | mean | in the interval | half width p50 \
      | unsteady \
      | loss in its interval | loss error p95 | RTT min inside | RTT error p95 | longest | grade \
      | peak | most bytes |
      |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|

      """
    func percent(_ value: Double) -> String { String(format: "%.1f %%", 100 * value) }
    for line in lines {
      let cells = [
        line.lines, "\(line.directions)", "\(line.withoutRate)", percent(line.errorP50),
        percent(line.errorP95), percent(line.errorMean), percent(line.coverage),
        percent(line.halfWidthP50), percent(line.unsteady), percent(line.lossCoverage),
        percent(line.lossErrorP95),
        percent(line.roundTripInside), String(format: "%.2f ms", line.roundTripErrorP95Ms),
        String(format: "%.2f s", line.secondsMax),
        String(format: "%.2f s", line.firstGradeSecondsMax),
        String(format: "%.2f Mbit/s", line.peakMax / 1e6), "\(line.bytesMax)",
      ]
      text += "| " + cells.joined(separator: " | ") + " |\n"
    }
    return text + "\n\(seeds) probes a cell; took \(seconds) s.\n"
  }
}
