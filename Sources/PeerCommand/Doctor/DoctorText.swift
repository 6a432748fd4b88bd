package import Earshot
internal import Primitives

/// A diagnosis for people: a sentence, then one line for each finding, each remedy below its line.
package enum DoctorText {
  /// The longest line where no terminal is narrower.
  private static let mostColumns = 100

  /// - Parameter columns: Of the terminal; `nil` where there is none.
  package static func text(_ diagnosis: NetworkDiagnosis, columns: Int? = nil) -> String {
    let width = min(columns ?? mostColumns, mostColumns)
    let lines = diagnosis.findings.flatMap { Self.lines($0, width) }
    return Printable.lines(
      (wrapped(diagnosis.sentence, to: width) + [""] + lines).joined(separator: "\n"))
  }

  private static func lines(_ finding: Finding, _ width: Int) -> [String] {
    let head = "  " + padded(word(finding.verdict), 7) + padded(name(finding.subject), 12)
    let indent = String(repeating: " ", count: head.count)
    let found = wrapped(finding.text, to: width - head.count)
    let remedy = finding.remedy.map { wrapped("-> " + $0, to: width - head.count) } ?? []
    return (found + remedy).enumerated().map { ($0 == 0 ? head : indent) + $1 }
  }

  private static func word(_ verdict: Finding.Verdict) -> String {
    switch verdict {
    case .good: "ok"
    case .weak: "weak"
    case .bad: "BAD"
    case .unknown: "?"
    }
  }

  private static func name(_ subject: Finding.Subject) -> String {
    switch subject {
    case .addresses: "addresses"
    case .families: "families"
    case .rendezvous: "rendezvous"
    case .translator: "translator"
    case .filtering: "filtering"
    case .portMapping: "ports"
    case .hairpin: "hairpin"
    case .lifetime: "lifetime"
    case .packetSize: "packet size"
    case .relay: "relay"
    case .clock: "clock"
    case .ecn: "ECN"
    case .realTime: "real time"
    case .lockedMemory: "keys"
    case .buffers: "buffers"
    case .versions: "versions"
    }
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  /// Broken at spaces; a longer word has a line of its own.
  static func wrapped(_ text: String, to width: Int) -> [String] {
    var lines: [String] = []
    for word in text.split(separator: " ") {
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] += " " + word
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}
