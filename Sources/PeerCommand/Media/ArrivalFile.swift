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
    var fault: String?
  }

  /// Makes the file, for its owner only: it holds what was said.
  package init(_ path: String) throws(ReactorError) {
    state = Mutex(State(file: try OutputFile(creating: path)))
  }

  /// What ended the capture, in a sentence.
  package var fault: String? { state.withLock { $0.fault } }

  package func write(_ bytes: [UInt8]) {
    state.withLock { state in
      guard let file = state.file else { return }
      do throws(ReactorError) {
        try file.write(bytes)
      } catch {
        state.fault = "\(file.name) cannot be written to the end: \(error.reason)."
        state.file = nil
      }
    }
  }

  package func finish() { state.withLock { $0.file = nil } }
}
