package import Primitives

/// What crossed a line, datagram by datagram, as text: the emulator and the simulation write the
/// same, so one reader gets the figures of both.
///
///     zero,NANOSECONDS
///     NANOSECONDS,up|down,BYTES,WAIT,DEPARTURE,arrives|lost|full|dark[,udp|tcp|other]
///
/// Times in nanoseconds of one clock; bytes with IP and UDP headers; wait and departure are empty
/// for what the queue did not take.
package final class LineJournal {
  private var text = ""
  private let write: (String) -> Void
  private static let writtenAtOnce = 1 << 16

  /// - Parameter write: takes a part of the text, some lines at a time.
  package init(_ write: @escaping (String) -> Void) { self.write = write }

  /// The moment from which the line's course counts.
  package func noteZero(at now: Instant) { add("zero,\(now.nanoseconds)\n") }

  /// - Parameter kind: The protocol, where the line carries several.
  package func note(
    _ passage: SimulatedLink.Passage, _ direction: LineDirection, byteCount: Int, at now: Instant,
    kind: String? = nil
  ) {
    let size = byteCount + SimulatedLink.headerByteCount
    let isQueued = passage.fate == .arrives || passage.fate == .lost
    let times = isQueued ? "\(passage.wait.nanoseconds),\(passage.departure.nanoseconds)" : ","
    let end = Self.word(passage.fate) + (kind.map { "," + $0 } ?? "")
    add("\(now.nanoseconds),\(direction),\(size),\(times),\(end)\n")
  }

  /// Hands over what is left.
  package func finish() {
    if !text.isEmpty { write(text) }
    text = ""
  }

  private func add(_ line: String) {
    text += line
    if text.utf8.count >= Self.writtenAtOnce { finish() }
  }

  private static func word(_ fate: SimulatedLink.Passage.Fate) -> String {
    switch fate {
    case .arrives: "arrives"
    case .lost: "lost"
    case .queueFull: "full"
    case .blackedOut: "dark"
    }
  }
}
