import CongestionLab
import Foundation

/// One figure over all seeds.
struct FigureResult {
  var measure: Measure
  var values: [Double?]

  /// Only of seeds in which it came about.
  var interval: SeedInterval? { SeedInterval(values.compactMap { $0 }) }

  var hasGoal: Bool {
    if case .shown = measure.goal { return false }
    return true
  }

  /// By the unfavourable end of the interval; a seed in which it never came about misses.
  var isMet: Bool {
    guard let interval, !values.contains(where: { $0 == nil }) else { return false }
    return interval.meets(measure.goal)
  }

  /// Seeds that meet the goal by themselves.
  var goodSeeds: Int { values.count { value in value.map(isGood) ?? false } }

  var worst: Double? {
    let all = values.compactMap { $0 }
    if case .atLeast = measure.goal { return all.min() }
    return all.max()
  }

  var goalText: String {
    switch measure.goal {
    case .atLeast(let goal): "≥ " + Self.text(goal)
    case .atMost(let goal): "≤ " + Self.text(goal)
    case .shown: ""
    }
  }

  private func isGood(_ value: Double) -> Bool {
    switch measure.goal {
    case .atLeast(let goal): value >= goal
    case .atMost(let goal): value <= goal
    case .shown: true
    }
  }

  /// Mean and half the width of the interval.
  var text: String {
    guard let interval else { return "never" }
    return Self.text(interval.mean) + (interval.halfWidth.map { " ± " + Self.text($0) } ?? "")
  }

  static func text(_ value: Double?) -> String {
    guard let value else { return "never" }
    if value != 0, abs(value) < 10 { return String(format: "%.3g", value) }
    return String(format: "%.1f", value)
  }
}

/// A case, run with several seeds.
struct CaseResult {
  let lab: LabCase
  let figures: [FigureResult]

  init(_ lab: LabCase, seeds: Range<UInt64>) {
    self.lab = lab
    var figures = lab.measures.map { FigureResult(measure: $0, values: []) }
    if lab.missing == nil {
      for seed in seeds {
        let line = lab.drawn(by: seed)
        let world = line.run(seed: seed)
        for index in figures.indices {
          figures[index].values.append(figures[index].measure.read(line, world))
        }
      }
    } else {
      figures = []
    }
    self.figures = figures
  }

  /// One line for people who watch.
  var line: String {
    if let missing = lab.missing { return "\(lab.name): SKIPPED, \(missing) is not here" }
    let parts = figures.map { figure in
      let mark = figure.hasGoal ? (figure.isMet ? " ok" : " MISSED \(figure.goalText)") : ""
      return "\(figure.measure.name) \(figure.text)\(mark)"
    }
    return "\(lab.name): " + parts.joined(separator: ", ")
  }
}
