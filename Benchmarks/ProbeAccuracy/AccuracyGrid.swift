import Arguments
import Foundation

/// The whole measurement: every cell, every seed.
struct AccuracyGrid {
  private let seeds: Int
  private let jobs: Int
  private let markdown: String?
  private let json: String?
  private let cell: String?
  private let isFast: Bool
  private let isOfShapes: Bool

  init(_ arguments: inout Arguments) throws(UsageError) {
    seeds = try arguments.integer("--seeds", "probes a cell", in: 1...10_000) ?? 20
    jobs = try arguments.integer("--jobs", "probes at a time", in: 1...2) ?? 2
    markdown = try arguments.option("--markdown")
    json = try arguments.option("--json")
    cell = try arguments.option("--cell")
    isFast = try arguments.flag("--fast")
    isOfShapes = try arguments.flag("--shapes")
  }

  struct Row: Sendable, Codable {
    var cell: AccuracyCell
    var probes: [AccuracyProbe]
  }

  func run() async {
    let grid =
      isOfShapes ? AccuracyCell.shapes : isFast ? AccuracyCell.fast : AccuracyCell.usual
    let cells = grid.filter { cell.map($0.name.contains) ?? true }
    let start = ContinuousClock.now
    let rows = await measure(cells)
    if cell != nil { for row in rows { Self.show(row) } }
    let took = ContinuousClock.now - start
    let summary = AccuracySummary(rows)
    let text = summary.markdown(seeds: seeds, seconds: Int(took.components.seconds))
    if let markdown {
      write(Data(text.utf8), to: markdown)
    } else {
      print(text)
    }
    if let json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys]
      if let data = try? encoder.encode(summary.lines) { write(data, to: json) }
    }
  }

  private func write(_ data: Data, to path: String) {
    guard FileManager.default.createFile(atPath: path, contents: data) else {
      FileHandle.standardError.write(Data("probe-accuracy: cannot write \(path)\n".utf8))
      exit(1)
    }
  }

  private func measure(_ cells: [AccuracyCell]) async -> [Row] {
    let (seeds, first) = (seeds, isOfShapes ? 2_000_001 : isFast ? 1_000_001 : 1)
    var rows = [Row?](repeating: nil, count: cells.count)
    await withTaskGroup(of: (Int, Row).self) { group in
      var next = 0
      func add() {
        let index = next
        let cell = cells[index]
        group.addTask {
          let probes = (0..<seeds).map { cell.probe(seed: UInt64(index * 1000 + $0 + first)) }
          return (index, Row(cell: cell, probes: probes))
        }
        next += 1
      }
      while next < min(jobs, cells.count) { add() }
      for await (index, row) in group {
        rows[index] = row
        if next < cells.count { add() }
      }
    }
    return rows.compactMap { $0 }
  }

  private static func show(_ row: Row) {
    print(row.cell.name)
    for probe in row.probes {
      func way(_ way: AccuracyProbe.Way) -> String {
        String(
          format: "%8.0f [%8.0f %8.0f]%@ loss %.3f [%.3f %.3f] loaded %.0f", way.rate ?? -1,
          way.low ?? -1, way.high ?? -1, way.isLimited == true ? "+" : " ", way.loss ?? -1,
          way.lossLow ?? -1, way.lossHigh ?? -1, way.loadedMs ?? -1)
      }
      print(
        String(
          format: "  %llu %@ %.2f s grade %.2f rtt %.2f peak %.2f %.2f", probe.seed, probe.state,
          probe.seconds, probe.firstGradeSeconds ?? -1, probe.roundTripMs ?? -1,
          probe.peakUp / 1e6, probe.peakDown / 1e6))
      print("    up   \(way(probe.up))\n    down \(way(probe.down))")
    }
  }
}
