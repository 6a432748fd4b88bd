import CongestionLab
import Foundation

/// The report as tables.
enum MarkdownReport {
  static func text(_ parts: [(ReportPart, [CaseResult])], seeds: Int) -> String {
    let goals = parts.flatMap(\.1).flatMap(\.figures).filter(\.hasGoal)
    var lines = [
      "# Congestion control in the laboratory", "",
      "Made by `tools/congestion-report`: \(seeds) seeds a case, simulated time, the machines that",
      "ship. Mean over the seeds with its 95 % interval (Student's t), the worst seed, and how",
      "many seeds meet the goal by themselves. A goal is met where the unfavourable end of the",
      "interval meets it, and missed where one seed never got there.", "",
      "\(goals.count { $0.isMet }) of \(goals.count) goals are met.",
    ]
    for (part, results) in parts {
      lines += [
        "", "## \(part.title)", "", part.origin.text, "",
        "| case | figure | mean | worst | goal | | seeds |",
        "| --- | --- | --- | --- | --- | --- | --- |",
      ]
      for result in results { lines += rows(result) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func rows(_ result: CaseResult) -> [String] {
    if let missing = result.lab.missing {
      return ["| \(result.lab.title) | skipped: \(missing) is not here | | | | | |"]
    }
    return result.figures.enumerated().map { index, figure in
      let unit = figure.measure.unit.isEmpty ? "" : " \(figure.measure.unit)"
      let mark = figure.hasGoal ? (figure.isMet ? "met" : "**missed**") : ""
      let seeds = figure.hasGoal ? "\(figure.goodSeeds)/\(figure.values.count)" : ""
      return "| \(index == 0 ? PlotFile.linked(result.lab) : "") | \(figure.measure.name) | "
        + "\(figure.text)\(unit) | \(FigureResult.text(figure.worst)) | "
        + "\(figure.goalText) | \(mark) | \(seeds) |"
    }
  }
}

/// The report for programs.
enum JSONReport {
  static func text(_ parts: [(ReportPart, [CaseResult])], seeds: Int) -> String {
    var cases: [String] = []
    for (part, results) in parts {
      for result in results {
        let figures = result.figures.map(figure)
        cases.append(
          "    {\"part\": \"\(part.title)\", \"origin\": \"\(part.origin.text)\", \"case\": \"\(result.lab.name)\", \"skipped\": "
            + "\(result.lab.missing != nil), \"figures\": [\n"
            + figures.joined(separator: ",\n") + "\n    ]}")
      }
    }
    return "{\n  \"seeds\": \(seeds),\n  \"cases\": [\n" + cases.joined(separator: ",\n")
      + "\n  ]\n}\n"
  }

  private static func figure(_ figure: FigureResult) -> String {
    let values = figure.values.map(number).joined(separator: ", ")
    let met = figure.hasGoal ? "\(figure.isMet)" : "null"
    return "      {\"name\": \"\(figure.measure.name)\", \"unit\": \"\(figure.measure.unit)\", "
      + "\"goal\": \"\(figure.goalText)\", \"met\": \(met), \"mean\": \(number(figure.interval?.mean)), "
      + "\"halfWidth\": \(number(figure.interval?.halfWidth)), "
      + "\"values\": [\(values)]}"
  }

  private static func number(_ value: Double?) -> String {
    value.map { String(format: "%.4f", $0) } ?? "null"
  }
}

/// What the first seed of a case did, for plots.
enum SeriesFile {
  static func write(_ lab: LabCase, seed: UInt64, into folder: String) {
    guard lab.missing == nil, lab.seconds <= 600 else { return }
    let world = lab.run(seed: seed, keepsSeries: true)
    for (index, flow) in world.media {
      var text = "seconds,estimate,acknowledged,delay_ms,state,reason,in_flight,limit\n"
      for point in flow.series {
        let numbers = [
          Double(point.time) / 1e9, point.estimate, point.acknowledged, point.delay / 1_000,
        ]
        text += numbers.map { String(format: "%.3f", $0) }.joined(separator: ",")
        text += ",\(point.state),\(point.reason),\(point.inFlight),\(point.limit)\n"
      }
      let name = lab.name.replacingOccurrences(of: " ", with: "-")
      try? text.write(
        toFile: "\(folder)/\(name)-\(index).csv", atomically: true, encoding: .utf8)
    }
  }
}
