import Congestion
import CongestionLab
import Foundation
import Plotting

/// What the first seed of a main case did over time, as a drawing: what the line could carry, what
/// it carried and what was believed, the wait in its queue, what it lost, and audio alone.
enum PlotFile {
  /// Cases that have one.
  static let names: Set<String> = [
    "const", "step", "rfc51", "wifi", "cell", "cell2", "squeeze", "unforced", "rfc54", "rfc56",
  ]

  static func write(_ lab: LabCase, seed: UInt64, into folder: String) {
    guard names.contains(lab.name), lab.missing == nil else { return }
    let world = lab.run(seed: seed, keepsSeries: true)
    let text = Plot.document(lab.title, plots(lab, world))
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try text.write(toFile: "\(folder)/\(lab.name).svg", atomically: true, encoding: .utf8)
    } catch {
      FileHandle.standardError.write(Data("congestion-report: \(error)\n".utf8))
    }
  }

  /// A case's title, as a link where it has a drawing.
  static func linked(_ lab: LabCase) -> String {
    names.contains(lab.name) ? "[\(lab.title)](plots/\(lab.name).svg)" : lab.title
  }

  private static func plots(_ lab: LabCase, _ world: LabWorld) -> [Plot] {
    let windows = windows(of: world)
    var rates = Plot("Rates", unit: "Mbit/s; shaded: audio alone", rateLines(lab, world, windows))
    var waits = Plot(
      "Wait in the queue", unit: "ms, the most of a quarter of a second",
      [Plot.Line("wait", waitPoints(world, windows.count))])
    var losses = Plot(
      "Dropped by the queue or lost on the line", unit: "%",
      [Plot.Line("lost", lossPoints(world, windows.count))])
    for span in spans(world) {
      rates.spans.append(span)
      waits.spans.append(span)
      losses.spans.append(span)
    }
    return [rates, waits, losses]
  }

  /// Ends of a quarter of a second each, ns.
  private static func windows(of world: LabWorld) -> [UInt64] {
    Array(stride(from: step, through: world.endTime, by: UInt64.Stride(step)))
  }

  private static func rateLines(
    _ lab: LabCase, _ world: LabWorld, _ windows: [UInt64]
  ) -> [Plot.Line] {
    let capacity = lab.links[0].capacity
    func mega(_ bits: Double) -> Double { bits / Double(step) * 1e9 / 1e6 }
    var lines = [
      Plot.Line(
        "capacity", windows.map { (seconds($0), mega(capacity.bits(from: $0 - step, to: $0))) })
    ]
    let flows = lab.flows.indices.prefix(lab.flows.count > 1 ? 3 : 1)
    for flow in flows {
      let reader = LogReader(world.logs[0], capacity, flows: [flow])
      lines.append(
        Plot.Line(
          flows.count > 1 ? "flow \(flow + 1)" : "carried",
          windows.map { (seconds($0), mega(reader.carried(from: $0 - step, to: $0))) }))
    }
    if flows.count == 1, let series = world.media[0]?.series {
      lines.append(
        Plot.Line("estimate", thinned(series).map { (seconds($0.time), $0.estimate / 1e6) }))
    }
    return lines
  }

  private static func waitPoints(_ world: LabWorld, _ count: Int) -> [(x: Double, y: Double)] {
    var most = [Double](repeating: 0, count: count)
    for entry in world.logs[0].entries {
      let place = Int(entry.departure / step)
      if place < count { most[place] = max(most[place], Double(entry.wait) / 1e6) }
    }
    return most.enumerated().map { (seconds(UInt64($0.offset + 1) * step), $0.element) }
  }

  private static func lossPoints(_ world: LabWorld, _ count: Int) -> [(x: Double, y: Double)] {
    var all = [Double](repeating: 0, count: count)
    var missed = all
    func add(_ time: UInt64, to counts: inout [Double]) {
      let place = Int(time / step)
      if place < count { counts[place] += 1 }
    }
    let log = world.logs[0]
    for entry in log.entries { add(entry.entered, to: &all) }
    for time in log.lostAt { add(time, to: &missed) }
    for time in log.droppedAt {
      add(time, to: &all)
      add(time, to: &missed)
    }
    return (0..<count).map { place in
      (seconds(UInt64(place + 1) * step), 100 * missed[place] / max(1, all[place]))
    }
  }

  private static func spans(_ world: LabWorld) -> [(name: String, from: Double, to: Double)] {
    var spans: [(name: String, from: Double, to: Double)] = []
    var since: Double?
    for (at, change) in world.media[0]?.tally.changes ?? [] {
      if change.mode == .audioOnly {
        since = at
      } else if let from = since {
        spans.append(("audio only", from, at))
        since = nil
      }
    }
    if let since { spans.append(("audio only", since, seconds(world.endTime))) }
    return spans
  }

  /// One point in a quarter of a second.
  private static func thinned(_ series: [SeriesPoint]) -> [SeriesPoint] {
    var next: UInt64 = 0
    return series.filter { point in
      guard point.time >= next else { return false }
      next = point.time + step
      return true
    }
  }

  private static func seconds(_ time: UInt64) -> Double { Double(time) / 1e9 }

  private static let step: UInt64 = 250_000_000
}
