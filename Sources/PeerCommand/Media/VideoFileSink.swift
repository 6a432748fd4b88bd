package import Earshot
package import MediaFiles
internal import Reactor
internal import Synchronization

/// Where the other side's video goes: counted always, saved when `--save-video` names a file, which
/// gets its name with the first picture (`PendingFile`).
///
/// A disk that is full ends the saving, not the call.
package final class VideoFileSink: VideoSink {
  private let state: Mutex<State>

  private struct State: ~Copyable {
    var writer: IVFWriter?
    /// Until the file has its name.
    var pending: PendingFile?
    var hasSize = false
    var shown = 0
    var fault: String?
  }

  /// Makes ready to save; `nil` saves nothing.
  package init(_ path: String?, overwrites: Bool = false) throws(MediaFileError) {
    guard let path else {
      state = Mutex(State())
      return
    }
    let pending = try PendingFile.open(path, overwrites: overwrites)
    let writer = try IVFWriter(owning: try pending.descriptor(), path, width: 0, height: 0)
    state = Mutex(State(writer: writer, pending: pending))
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
        if state.writer != nil, let text = state.pending.take()?.placed() { state.fault = text }
      } catch {
        state.fault = error.description
        state.writer = nil
      }
    }
  }

  package func finish() {
    state.withLock { state in
      defer { state.pending = nil }
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
  package let sink: VideoFileSink
  /// The file that is written; `nil` when nothing is saved.
  package let saveName: String?

  /// Opens both.
  ///
  /// - Parameters:
  ///   - saveName: The file to write; `nil` saves nothing.
  ///   - overwrites: Whether it may replace one that is there.
  ///   - onEnd: Called once, on the video's thread, when a played file ends.
  package init(
    _ options: VideoOptions, isLooped: Bool, saveName: String?, overwrites: Bool,
    onEnd: @escaping @Sendable () -> Void
  ) throws(MediaFileError) {
    source = try options.picture.map { picture throws(MediaFileError) in
      try PlayedVideo(picture, isLooped: isLooped, onEnd: onEnd)
    }
    self.saveName = saveName
    sink = try VideoFileSink(saveName, overwrites: overwrites)
  }
}
