import Arguments
import CongestionLab
import Foundation

/// `congestion-report`: runs the cases, prints and writes what came out.
@main struct ReportProgram {
  static let usage = """
    usage: tools/congestion-report [--seeds N] [--first K] [--case NAME]... [--fresh]
                                   [--draw SEED] [--output DIR] [--series DIR]

      --seeds N      runs of each case, each with a seed of its own       (default: 10)
      --first K      the first seed                                       (default: 1)
      --case NAME    only this case; may be repeated; `list` names them
      --fresh        lines that no constant was chosen by as well, drawn anew for this run
      --draw SEED    the same lines as those of an earlier run
      --output DIR   writes report.md and report.json there, and drawings to DIR/plots
      --plots DIR    writes the first seed of each main case as SVG: rates, queue, loss, fallbacks
      --series DIR   writes the first seed of each case as CSV: time, rates, delay, state, reason

    exit status: 0 ran, whatever the figures; 2 usage
    """

  static func main() {
    var arguments = Arguments(Array(CommandLine.arguments.dropFirst()))
    if arguments.wantsHelp {
      print(usage)
      exit(0)
    }
    do throws(UsageError) {
      let seeds = try arguments.integer("--seeds", "runs", in: 1...1_000) ?? 10
      let first = UInt64(try arguments.integer("--first", "a seed", in: 1...999_999) ?? 1)
      let names = try arguments.options("--case")
      let isFresh = try arguments.flag("--fresh")
      let drawn = try arguments.integer("--draw", "a seed", in: 1...999_999)
      // The report names the seed: `--draw` repeats it.
      var dice = SystemRandomNumberGenerator()
      let draw = drawn ?? (isFresh ? Int.random(in: 1...999_999, using: &dice) : nil)
      let output = try arguments.option("--output")
      let series = try arguments.option("--series")
      let plots = try arguments.option("--plots") ?? output.map { $0 + "/plots" }
      try arguments.finish()
      let parts = ReportPart.tunedOn + (draw.map { [ReportPart.fresh(UInt64($0))] } ?? [])
      run(
        parts, seeds: first..<(first + UInt64(seeds)), names: names, output: output,
        series: series, plots: plots)
    } catch {
      FileHandle.standardError.write(Data("congestion-report: \(error)\n".utf8))
      exit(2)
    }
  }

  static func run(
    _ all: [ReportPart], seeds: Range<UInt64>, names: [String], output: String?, series: String?,
    plots: String?
  ) {
    if names == ["list"] {
      for part in all { for lab in part.cases { print("\(lab.name): \(lab.title)") } }
      return
    }
    let began = Date()
    var parts: [(ReportPart, [CaseResult])] = []
    for part in all {
      var results: [CaseResult] = []
      for lab in part.cases where names.isEmpty || names.contains(lab.name) {
        let result = CaseResult(lab, seeds: seeds)
        print(result.line)
        if let series { SeriesFile.write(lab, seed: seeds.lowerBound, into: series) }
        if let plots { PlotFile.write(lab, seed: seeds.lowerBound, into: plots) }
        results.append(result)
      }
      if !results.isEmpty { parts.append((part, results)) }
    }
    let goals = parts.flatMap(\.1).flatMap(\.figures).filter(\.hasGoal)
    let met = goals.count { $0.isMet }
    let seconds = String(format: "%.0f", Date().timeIntervalSince(began))
    print("\(met) of \(goals.count) goals met; \(seconds) s")
    guard let output else { return }
    let text = MarkdownReport.text(parts, seeds: seeds.count)
    let json = JSONReport.text(parts, seeds: seeds.count)
    do {
      try FileManager.default.createDirectory(
        atPath: output, withIntermediateDirectories: true)
      try text.write(toFile: output + "/report.md", atomically: true, encoding: .utf8)
      try json.write(toFile: output + "/report.json", atomically: true, encoding: .utf8)
    } catch {
      FileHandle.standardError.write(Data("congestion-report: \(error)\n".utf8))
      exit(1)
    }
  }
}

/// A table of the report.
struct ReportPart {
  var title: String
  var origin = Origin.tunedOn
  var cases: [LabCase]

  enum Origin {
    case tunedOn
    case drawn(UInt64)

    var text: String {
      switch self {
      case .tunedOn: "Tuned on: constants were chosen with these figures in sight."
      case .drawn(let seed):
        "Held out: lines drawn for this run (`--draw \(seed)`), another one for each seed."
      }
    }
  }

  static func fresh(_ seed: UInt64) -> ReportPart {
    ReportPart(title: "Fresh lines", origin: .drawn(seed), cases: LabCase.fresh(seed))
  }

  static let tunedOn: [ReportPart] = [
    ReportPart(title: "One flow", cases: LabCase.single),
    ReportPart(title: "Several flows, and TCP", cases: LabCase.several),
    ReportPart(title: "Whole calls beside TCP, and behind policers", cases: LabCase.otherTraffic),
    ReportPart(title: "Two links of one endpoint", cases: LabCase.links),
    ReportPart(title: "Audio-only fallback", cases: LabCase.fallback),
    ReportPart(title: "RFC 8867 with its own encoder", cases: LabCase.standard),
    ReportPart(title: "The ends of the range", cases: LabCase.extremes),
    ReportPart(title: "Cellular lines made up", cases: LabCase.synthetic),
  ]
}
