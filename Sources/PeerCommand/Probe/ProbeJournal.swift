package import Earshot
internal import Reactor

/// `--packets` of a probe: one line with the names of the columns, then one for each test packet.
/// What is not known is empty. Lines end as RFC 4180 has it.
package final class ProbeJournal {
  package static let columns = [
    "direction", "sequence", "sent_us", "arrived_us", "bytes", "ecn", "part",
  ]

  private let file: OutputFile
  /// What could not be written.
  package private(set) var fault: CommandFailure?

  package init(_ path: String, overwrites: Bool) throws(CommandFailure) {
    do throws(ReactorError) {
      file = try OutputFile(try PendingFile(path, overwrites: overwrites))
    } catch {
      throw CommandFailure(file: error)
    }
  }

  /// Writes all of a report; nothing where nothing was sent.
  package func write(_ report: LineReport) {
    guard !report.packets.isEmpty else { return }
    do throws(ReactorError) {
      try file.write(Self.text(report.packets))
    } catch {
      fault = CommandFailure(unwritten: file.name, error)
    }
  }

  package static func text(_ packets: [ProbedPacket]) -> String {
    var text = columns.joined(separator: ",") + "\r\n"
    for packet in packets {
      text += packet.direction.word + ",\(packet.sequence),"
      text += (packet.sentUs.map { String($0) } ?? "") + ","
      text += (packet.arrivedUs.map { String($0) } ?? "") + ","
      text += (packet.byteCount.map { String($0) } ?? "") + ","
      text += (packet.ecn.map(ecn) ?? "") + "," + packet.part + "\r\n"
    }
    return text
  }

  /// In the words of RFC 3168 §5.
  private static func ecn(_ bits: UInt8) -> String {
    ["not-ECT", "ECT(1)", "ECT(0)", "CE"][Int(bits & 3)]
  }
}
