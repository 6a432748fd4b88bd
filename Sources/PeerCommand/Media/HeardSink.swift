internal import Earshot
package import MediaFiles
internal import Synchronization

/// Where the other side's audio goes: measured always, saved when `--save` names a file.
///
/// A disk that is full ends the saving, not the call.
package final class HeardSink: AudioSink {
  package let channelCount: Int
  package let meter = LevelMeter()
  private let state: Mutex<State>

  private struct State: ~Copyable {
    var writer: AudioFileWriter?
    var fault: String?
  }

  /// Creates the file; `nil` saves nothing.
  package init(_ path: String?, channelCount: Int) throws(MediaFileError) {
    self.channelCount = channelCount
    if let path {
      state = Mutex(State(writer: try AudioFileWriter(path, channels: channelCount)))
    } else {
      state = Mutex(State(writer: nil))
    }
  }

  /// What ended the saving, in a sentence.
  package var fault: String? { state.withLock { $0.fault } }

  package func write(_ samples: borrowing [Int16], frameCount: Int) {
    let count = min(frameCount * channelCount, samples.count)
    meter.take(samples, count: count)
    let span = samples.span.extracting(0..<count)
    state.withLock { state in
      do throws(MediaFileError) {
        try state.writer?.write(span)
      } catch {
        state.fault = error.description
        state.writer = nil
      }
    }
  }

  package func finish() {
    state.withLock { state in
      guard var writer = state.writer.take() else { return }
      do throws(MediaFileError) {
        try writer.close()
      } catch {
        state.fault = error.description
      }
    }
  }
}
