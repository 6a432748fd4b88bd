internal import Earshot
package import Plotting
internal import Primitives

/// The history of predictions as a table, as a page, and in figures.
package enum HistoryText {
  /// - Parameters:
  ///   - target: Whose calls alone are wanted.
  ///   - all: Those of everybody.
  package static func text(
    _ pairs: [ProbeHistory.Pair], of target: String? = nil, among all: [ProbeHistory.Pair] = []
  ) -> String {
    guard !pairs.isEmpty else {
      if let target, !all.isEmpty { return missing(target, among: all) }
      return "No call was made within a day of a probe of the same peer yet.\n"
        + "  Probe a peer (earshot probe NAME), then call it."
    }
    return (pairs.map(line) + [""] + summary(pairs)).joined(separator: "\n")
  }

  /// Somebody else is there: it may be a slip, or another word for the same peer.
  private static func missing(_ target: String, among all: [ProbeHistory.Pair]) -> String {
    var names: [String] = []
    for pair in all.reversed() where !names.contains(pair.target) { names.append(pair.target) }
    let shown = names.prefix(8).map { Printable.only($0) }.joined(separator: ", ")
    return "No call with '\(Printable.only(target))' was made within a day of a probe of it.\n"
      + "  There are calls with \(shown)\(names.count > 8 ? " and others" : ""). A peer stands here"
      + " as it was probed, by name or by ID."
  }

  /// `2026-11-25 19:40  bob  3 min after its probe: MOS 4.3, was 4.4; ...`.
  private static func line(_ pair: ProbeHistory.Pair) -> String {
    let time = Timestamp.text(wallNanoseconds: min(pair.at, 9_000_000_000) * 1_000_000_000)
    let figures = ProbeHistory.Figure.allCases.compactMap { figure -> String? in
      guard let predicted = pair.predicted[figure], let actual = pair.actual[figure] else {
        return nil
      }
      return "\(figure.title) \(figure.text(predicted)), was \(figure.text(actual))"
    }
    let moment = String(time.prefix(16).map { $0 == "T" ? " " : $0 })
    return "\(moment)  \(Printable.only(pair.target))  "
      + figures.joined(separator: "; ")
  }

  /// For each figure: how many calls, and how far off the prediction was.
  package static func summary(_ pairs: [ProbeHistory.Pair]) -> [String] {
    ProbeHistory.Figure.allCases.compactMap { figure in
      let errors = pairs.compactMap { pair -> Double? in
        guard let predicted = pair.predicted[figure], let actual = pair.actual[figure] else {
          return nil
        }
        return predicted - actual
      }
      guard !errors.isEmpty else { return nil }
      let mean = errors.reduce(0, +) / Double(errors.count)
      let sizes = errors.map { abs($0) }.sorted()
      let middle = sizes[sizes.count / 2]
      let most = sizes[Int((Double(sizes.count - 1) * 0.95).rounded())]
      return "\(figure.title): \(errors.count) \(errors.count == 1 ? "call" : "calls"), "
        + "off by \(figure.text(middle)) (median), \(figure.text(most)) (95 %); "
        + average(mean, figure)
    }
  }

  private static func average(_ mean: Double, _ figure: ProbeHistory.Figure) -> String {
    let size = figure.text(abs(mean))
    if size == figure.text(0) { return "on average right" }
    return "on average \(size) too \(mean < 0 ? "low" : "high")"
  }

  package static func page(_ pairs: [ProbeHistory.Pair], origin: PageOrigin? = nil) -> String {
    let drawings = scatters(pairs).map(\.svg).joined()
    return Page.html(
      title: "Earshot: predicted and actual", heading: "Predicted by probes, and had by calls",
      origin: origin,
      (drawings.isEmpty ? "" : "<p>On the line, a prediction was right.</p>\n") + drawings
        + "<pre>\(Markup.escaped(text(pairs)))</pre>\n")
  }

  package static func scatters(_ pairs: [ProbeHistory.Pair]) -> [Scatter] {
    ProbeHistory.Figure.allCases.map { figure in
      let scale = figure.isShare ? 100.0 : 1
      let unit = figure.isShare ? "%" : figure == .rttMs ? "ms" : "of 5"
      return Scatter(
        figure.title, unit: unit,
        pairs.compactMap { pair in
          guard let predicted = pair.predicted[figure], let actual = pair.actual[figure] else {
            return nil
          }
          return (predicted * scale, actual * scale, pair.target)
        })
    }
  }
}
