public import Earshot
internal import MediaFiles
internal import Reactor

/// A sound file of what the other side says: WAV or Ogg Opus, by the end of its name.
///
/// The file gets its name with the first samples, so that a call that comes to nothing costs no
/// file that is there. A disk that is full ends the saving, not the call.
public final class AudioFileSink: AudioSink {
  /// 1 mono, 2 stereo.
  public let channelCount: Int
  private let state: Guarded<State>

  private struct State: ~Copyable {
    var writer: AudioFileWriter?
    var pending: PendingFile?
    var fault: String?
  }

  /// Makes ready to write.
  ///
  /// - Parameter overwrites: A file of this name is replaced; else it is an error.
  /// - Throws: `fileUnusable` where the file is there already, or cannot be written.
  public init(
    _ path: String, channels: Int = 1, overwrites: Bool = false
  ) throws(EarshotError) {
    guard (1...2).contains(channels) else {
      throw EarshotError(
        .invalidArgument, "There is no sound of \(channels) channels.", advice: "Give 1 or 2.")
    }
    channelCount = channels
    do throws(MediaFileError) {
      state = Guarded(try Self.open(path, channels, overwrites))
    } catch {
      throw EarshotError(file: error)
    }
  }

  private static func open(
    _ path: String, _ channels: Int, _ overwrites: Bool
  ) throws(MediaFileError) -> State {
    let pending: PendingFile
    let descriptor: Int32
    do throws(ReactorError) {
      pending = try PendingFile(path, overwrites: overwrites)
      descriptor = try pending.duplicate()
    } catch {
      throw MediaFileError.cannotCreate(path, errorNumber: error.errno)
    }
    let writer = try AudioFileWriter(path, channels: channels, owning: descriptor)
    return State(writer: writer, pending: pending)
  }

  /// What ended the writing, in a sentence.
  public var fault: String? { state.withLock { $0.fault } }

  /// For the call; see `AudioSink`.
  public func write(_ samples: borrowing [Int16], frameCount: Int) {
    let count = min(frameCount * channelCount, samples.count)
    let span = samples.span.extracting(0..<count)
    state.withLock { state in
      guard state.writer != nil else { return }
      do throws(MediaFileError) {
        try state.writer?.write(span)
      } catch {
        state.fault = error.description
        state.writer = nil
      }
      if let pending = state.pending.take() { state.fault = Self.place(pending) ?? state.fault }
    }
  }

  /// What went wrong, in a sentence.
  private static func place(_ pending: PendingFile) -> String? {
    do throws(ReactorError) {
      try pending.place()
      return nil
    } catch {
      return "\(pending.path) cannot be created: \(error.reason)."
    }
  }

  /// For the call: the file is whole.
  public func finish() {
    state.withLock { state in
      state.pending = nil
      guard var writer = state.writer.take() else { return }
      do throws(MediaFileError) {
        try writer.close()
      } catch {
        state.fault = error.description
      }
    }
  }
}
