package import Primitives
package import Reactor

/// The lines of `--json` and of `--events`: one object a line, `type` and `ts` first.
///
/// A file that cannot be written on is given up, and remembered: the call must not suffer for it.
package final class JSONLines {
  package static let schema = "earshot/1"

  private var outputs: [OutputFile] = []
  /// What could not be written.
  package private(set) var faults: [CommandFailure] = []
  /// Is given each at once.
  package var onFault: ((CommandFailure) -> Void)?
  private let wallNanoseconds: () -> UInt64
  private let now: () -> Instant
  private var allowance = PeersAllowance.lines

  /// - Parameters:
  ///   - wallNanoseconds: A clock, for `ts`.
  ///   - now: A clock, for the rate of what peers cause.
  package init(
    to outputs: [OutputFile],
    wallNanoseconds: @escaping () -> UInt64 = { SystemClock.wallNanoseconds },
    now: @escaping () -> Instant = { SystemClock.now }
  ) {
    self.outputs = outputs
    self.wallNanoseconds = wallNanoseconds
    self.now = now
    write("schema") { $0.add("schema", Self.schema) }
  }

  package var isEmpty: Bool { outputs.isEmpty }

  /// Writes one object, which `fill` completes.
  package func write(_ type: String, _ fill: (inout JSONObject) -> Void) {
    guard !outputs.isEmpty else { return }
    var object = JSONObject()
    object.add("type", type)
    object.add("ts", Timestamp.text(wallNanoseconds: wallNanoseconds()))
    fill(&object)
    let line = object.value.text + "\n"
    outputs.removeAll { !wasWritten(line, to: $0) }
  }

  /// Whether there may be one more line of what a peer did, which it can do without end: nobody
  /// else may fill a disk. Where lines were left out, says first how many.
  package func admitsPeersLine() -> Bool {
    guard !outputs.isEmpty, allowance.spend(now: now()) else { return false }
    if let count = allowance.takeLeftOut() {
      write("event") { object in
        object.add("name", "eventsLeftOut")
        object.add("count", count)
      }
    }
    return true
  }

  private func wasWritten(_ line: String, to output: OutputFile) -> Bool {
    do throws(ReactorError) {
      try output.write(line)
      return true
    } catch {
      let fault = CommandFailure(unwritten: output.name, error)
      faults.append(fault)
      onFault?(fault)
      return false
    }
  }
}
