package import Earshot
internal import Primitives
internal import Reactor

/// `--csv` of a probe: one line with the names of the columns, then one for each probe. What was
/// not measured is empty. Decimal points, commas, lines that end as RFC 4180 has it.
package final class ProbeSheet {
  package static let columns = [
    "time", "state", "quality", "rtt_ms", "rtt_p95_ms", "uplink_loss", "downlink_loss",
    "uplink_jitter_p95_ms", "downlink_jitter_p95_ms", "uplink_bps", "downlink_bps",
    "uplink_loaded_rtt_ms", "downlink_loaded_rtt_ms", "mos", "uplink_predicted_residual_loss",
    "downlink_predicted_residual_loss",
  ]

  private let file: OutputFile
  private var isEmpty = true
  /// What could not be written; nothing is tried after that.
  package private(set) var fault: CommandFailure?

  package init(_ path: String, overwrites: Bool) throws(CommandFailure) {
    do throws(ReactorError) {
      file = try OutputFile(try PendingFile(path, overwrites: overwrites))
    } catch {
      throw CommandFailure(file: error)
    }
  }

  package func append(_ report: LineReport, _ rating: LineRating, wallNanoseconds: UInt64) {
    guard fault == nil else { return }
    let head = isEmpty ? Self.columns.joined(separator: ",") + "\r\n" : ""
    let line = Self.line(report, rating, wallNanoseconds: wallNanoseconds)
    do throws(ReactorError) {
      try file.write(head + line + "\r\n")
    } catch {
      fault = CommandFailure(unwritten: file.name, error)
    }
    isEmpty = false
  }

  package static func line(
    _ report: LineReport, _ rating: LineRating, wallNanoseconds: UInt64
  ) -> String {
    let (up, down) = (report.uplink, report.downlink)
    let cells: [String?] = [
      Timestamp.text(wallNanoseconds: wallNanoseconds), report.state.rawValue,
      String(rating.grade.rawValue), number(report.idleRoundTrip?.delay.p50Ms, 1000),
      number(report.idleRoundTrip?.delay.p95Ms, 1000), number(up?.loss?.share, 1e6),
      number(down?.loss?.share, 1e6), number(up?.delayVariation?.p95Ms, 1000),
      number(down?.delayVariation?.p95Ms, 1000), number(up?.bandwidth?.bitsPerSecond, 1),
      number(down?.bandwidth?.bitsPerSecond, 1), number(up?.loadedRoundTrip?.p50Ms, 1000),
      number(down?.loadedRoundTrip?.p50Ms, 1000), number(rating.speech?.mos, 100),
      number(rating.speech?.uplinkResidualLoss, 1e6),
      number(rating.speech?.downlinkResidualLoss, 1e6),
    ]
    return cells.map { $0 ?? "" }.joined(separator: ",")
  }

  /// As JSON writes it: no exponent in the range of these, no comma.
  private static func number(_ value: Double?, _ scale: Double) -> String? {
    value.map { JSONValue.number(($0 * scale).rounded() / scale).text }
  }
}
