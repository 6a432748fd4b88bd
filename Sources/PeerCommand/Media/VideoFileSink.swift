package import Earshot
package import MediaFiles
internal import Reactor
internal import Synchronization
internal import Video

/// Where the other side's video goes: counted always, saved when `--save-video` names a file, which
/// gets its name with the first picture (`PendingFile`).
///
/// The file holds the frames as they came. Pictures that are to be turned are encoded anew and
/// upright, from the first of them to the next key frame that stands upright: IVF has no place for
/// a rotation.
///
/// A disk that is full ends the saving, not the call.
package final class VideoFileSink: VideoSink {
  private let state: Mutex<State>

  private struct State: ~Copyable {
    var writer: IVFWriter?
    /// Until the file has its name.
    var pending: PendingFile?
    /// Names the file when its first frame comes.
    var naming: Naming?
    var hasSize = false
    var shown = 0
    /// The frames that come cannot be saved as they are.
    var isTurning = false
    /// Since the first turned picture.
    var turned: TurnedPictures?
    var fault: String?

    var isSaving: Bool { writer != nil || naming != nil }
  }

  private struct Naming {
    var overwrites: Bool
    var name: @Sendable () -> String
  }

  /// Makes ready to save; `nil` saves nothing.
  package init(_ path: String?, overwrites: Bool = false) throws(MediaFileError) {
    guard let path else {
      state = Mutex(State())
      return
    }
    var ready = State()
    try Self.open(path, overwrites, &ready)
    state = Mutex(ready)
  }

  private static func open(
    _ path: String, _ overwrites: Bool, _ state: inout State
  ) throws(MediaFileError) {
    let pending = try PendingFile.open(path, overwrites: overwrites)
    state.writer = try IVFWriter(owning: try pending.descriptor(), path, width: 0, height: 0)
    state.pending = pending
  }

  /// Saves to a file that is named and made ready only when its first frame comes: for calls of
  /// which some never come about.
  package init(overwrites: Bool, naming: @escaping @Sendable () -> String) {
    state = Mutex(State(naming: Naming(overwrites: overwrites, name: naming)))
  }

  /// What ended the saving, in a sentence.
  package var fault: String? { state.withLock { $0.fault } }
  /// Pictures so far.
  package var shownCount: Int { state.withLock { $0.shown } }

  package func show(_ picture: borrowing VideoPicture, _ moment: VideoMoment) {
    state.withLock { state in
      state.shown += 1
      // What stood upright before the first turned picture is in the file as it came.
      guard state.isSaving, state.isTurning, state.turned != nil || moment.rotation != .none
      else { return }
      Self.saveUpright(picture, moment, &state)
    }
  }

  private static func saveUpright(
    _ picture: borrowing VideoPicture, _ moment: VideoMoment, _ state: inout State
  ) {
    do throws(MediaFileError) {
      let milliseconds = Int64(moment.time / .milliseconds(1))
      if state.turned == nil { state.turned = TurnedPictures() }
      guard let size = state.turned?.encode(picture, milliseconds: milliseconds) else { return }
      try append(state.turned?.bytes ?? [], milliseconds, size, &state)
    } catch {
      state.fault = error.description
      state.writer = nil
    }
  }

  private static func append(
    _ bytes: [UInt8], _ milliseconds: Int64, _ size: PictureSize?, _ state: inout State
  ) throws(MediaFileError) {
    if let naming = state.naming.take() { try open(naming.name(), naming.overwrites, &state) }
    if !state.hasSize, let size {
      try state.writer?.setSize(width: size.width, height: size.height)
      state.hasSize = true
    }
    try state.writer?.write(bytes.span, milliseconds: milliseconds)
    if state.writer != nil, let text = state.pending.take()?.placed() { state.fault = text }
  }

  package func record(_ frame: borrowing [UInt8], _ moment: VideoMoment) {
    let bytes = copy frame
    state.withLock { state in
      if moment.rotation != .none { state.isTurning = true }
      if state.isTurning {
        guard moment.rotation == .none, moment.isKeyFrame else { return }
        state.isTurning = false
        state.turned = nil
      }
      do throws(MediaFileError) {
        try Self.append(
          bytes, Int64(moment.time / .milliseconds(1)),
          PictureSize(width: moment.width, height: moment.height), &state)
      } catch {
        state.fault = error.description
        state.writer = nil
      }
    }
  }

  package func finish() {
    state.withLock { state in
      defer { state.pending = nil }
      state.naming = nil
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
