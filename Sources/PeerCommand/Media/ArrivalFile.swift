internal import Earshot
package import Reactor
internal import Synchronization

/// Where `--capture` puts what arrived, for `earshot replay`.
///
/// A disk that is full ends the capture, not the call.
package final class ArrivalFile: ArrivalSink {
  private let state: Mutex<State>

  private struct State {
    var file: OutputFile?
    var fault: CommandFailure?
  }

  /// Makes the file ready, for its owner only: it holds what was said.
  package init(_ path: String, overwrites: Bool = false) throws(ReactorError) {
    let pending = try PendingFile(path, overwrites: overwrites)
    state = Mutex(State(file: try OutputFile(pending)))
  }

  /// What ended the capture.
  package var fault: CommandFailure? { state.withLock { $0.fault } }

  package func write(_ bytes: [UInt8]) {
    state.withLock { state in
      guard let file = state.file, !bytes.isEmpty else { return }
      do throws(ReactorError) {
        try file.write(bytes)
      } catch {
        state.fault = CommandFailure(unwritten: file.name, error)
        state.file = nil
      }
    }
  }

  package func finish() { state.withLock { $0.file = nil } }
}
