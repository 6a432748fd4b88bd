package import Earshot
package import MediaFiles
internal import Synchronization

/// Where the other side's video goes: counted always, saved when `--save-video` names a file.
///
/// A disk that is full ends the saving, not the call.
package final class SeenSink: VideoSink {
  private let state: Mutex<State>

  private struct State: ~Copyable {
    var writer: IVFWriter?
    var hasSize = false
    var shown = 0
    var fault: String?
  }

  /// Creates the file; `nil` saves nothing.
  package init(_ path: String?) throws(MediaFileError) {
    if let path {
      state = Mutex(State(writer: try IVFWriter(path, width: 0, height: 0)))
    } else {
      state = Mutex(State(writer: nil))
    }
  }

  /// What ended the saving, in a sentence.
  package var fault: String? { state.withLock { $0.fault } }
  /// Pictures so far.
  package var shownCount: Int { state.withLock { $0.shown } }

  package func show(_ picture: borrowing VideoPicture, _ moment: VideoMoment) {
    state.withLock { $0.shown += 1 }
  }

  package func record(_ frame: borrowing [UInt8], _ moment: VideoMoment) {
    let bytes = frame.span
    let milliseconds = Int64(moment.time / .milliseconds(1))
    state.withLock { state in
      do throws(MediaFileError) {
        if !state.hasSize, moment.width > 0 {
          try state.writer?.setSize(width: moment.width, height: moment.height)
          state.hasSize = true
        }
        try state.writer?.write(bytes, milliseconds: milliseconds)
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

/// The two ends of a call's video, open.
package struct OpenedVideo: Sendable {
  /// `nil` sends none.
  package let source: PlayedVideo?
  package let sink: SeenSink
  /// The file that is written; `nil` when nothing is saved.
  package let saveName: String?

  /// Opens both for call `number`, 1 upwards.
  ///
  /// - Parameter onEnd: Called once, on the video's thread, when a played file ends.
  package init(
    _ options: VideoOptions, isLooped: Bool, call number: Int,
    onEnd: @escaping @Sendable () -> Void
  ) throws(MediaFileError) {
    source = try options.picture.map { picture throws(MediaFileError) in
      try PlayedVideo(picture, isLooped: isLooped, onEnd: onEnd)
    }
    saveName = options.save.map { SaveName.of($0, call: number) }
    sink = try SeenSink(saveName)
  }
}
