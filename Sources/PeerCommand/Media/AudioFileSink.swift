package import Earshot
package import MediaFiles
internal import Reactor
internal import Synchronization

/// Where the other side's audio goes: measured always, saved when `--save` names a file, which gets
/// its name with the first sound (`PendingFile`), or handed on when it is `-`, standard output.
///
/// A disk that is full ends the saving, not the call.
package final class AudioFileSink: AudioSink {
  package let channelCount: Int
  package let meter = LevelMeter()
  private let state: Mutex<State>

  private struct State: ~Copyable {
    var writer: AudioFileWriter?
    var pipe: SoundOutputPipe?
    /// Until the file has its name.
    var pending: PendingFile?
    var isSaved = false
    var fault: String?

    mutating func place() {
      guard let pending = pending.take() else { return }
      isSaved = true
      if let text = pending.placed() { fault = text }
    }
  }

  /// Makes ready to save; `nil` saves nothing.
  package init(
    _ path: String?, channelCount: Int, overwrites: Bool = false
  ) throws(MediaFileError) {
    self.channelCount = channelCount
    guard let path else {
      state = Mutex(State())
      return
    }
    guard path != "-" else {
      state = Mutex(State(pipe: SoundOutputPipe(channels: channelCount)))
      return
    }
    let pending = try PendingFile.open(path, overwrites: overwrites)
    let writer = try AudioFileWriter(
      path, channels: channelCount, owning: try pending.descriptor())
    state = Mutex(State(writer: writer, pending: pending))
  }

  /// What ended the saving, in a sentence.
  package var fault: String? { state.withLock { $0.fault } }
  /// Whether there is a file.
  package var isSaved: Bool { state.withLock { $0.isSaved } }

  /// The other side is heard from now on, be it silence: the file is worth its name.
  package func begin() {
    state.withLock { state in
      if state.writer != nil { state.place() }
    }
  }

  package func write(_ samples: borrowing [Int16], frameCount: Int) {
    let count = min(frameCount * channelCount, samples.count)
    meter.append(samples, count: count)
    let span = samples.span.extracting(0..<count)
    state.withLock { state in
      if state.pipe != nil { return Self.pass(span, frameCount: frameCount, &state) }
      guard state.writer != nil else { return }
      do throws(MediaFileError) {
        try state.writer?.write(span)
      } catch {
        state.fault = error.description
        state.writer = nil
      }
      if state.pending != nil, Self.hasSound(span) { state.place() }
    }
  }

  /// A reader that went away ends the handing on, not the call.
  private static func pass(_ samples: Span<Int16>, frameCount: Int, _ state: inout State) {
    do throws(ReactorError) {
      try state.pipe?.write(samples, frameCount: frameCount)
    } catch {
      state.fault = "Standard output takes no more sound: \(error.reason)."
      state.pipe = nil
    }
  }

  private static func hasSound(_ samples: Span<Int16>) -> Bool {
    for index in samples.indices where samples[index] != 0 { return true }
    return false
  }

  package func finish() {
    state.withLock { state in
      defer { state.pending = nil }
      state.pipe = nil
      guard var writer = state.writer.take() else { return }
      do throws(MediaFileError) {
        try writer.close()
      } catch {
        state.fault = error.description
      }
    }
  }
}
