package import Earshot
package import MediaFiles
internal import Synchronization
internal import Video

/// What `--video` names: a file, or the test picture.
package final class PlayedVideo: VideoSource {
  package let framesPerSecond: Double
  private let isLooped: Bool
  private let state: Mutex<State>
  private let onEnd: @Sendable () -> Void

  /// One of the two supplies.
  private struct State: ~Copyable {
    var file: Y4MReader?
    var test: TestPicture?
    /// Pictures given so far, also those of earlier rounds.
    var given = 0
    /// Pictures of the rounds before this one.
    var before = 0
    var isAtEnd = false
    var fault: String?
  }

  /// Opens it.
  ///
  /// - Parameter onEnd: Called once, on the video's thread, when there is no more.
  package init(
    _ picture: VideoOptions.Picture, isLooped: Bool, onEnd: @escaping @Sendable () -> Void
  ) throws(MediaFileError) {
    self.isLooped = isLooped
    self.onEnd = onEnd
    switch picture {
    case .test:
      framesPerSecond = 30
      state = Mutex(State(test: TestPicture(VideoLadder.usual.box)))
    case .file(let path):
      let reader = try Y4MReader(path)
      // More are not sent: of those of a faster file the nearest ones are taken.
      framesPerSecond = min(60, reader.header.framesPerSecond)
      state = Mutex(State(file: consume reader))
    }
  }

  /// What stopped it before its end, in a sentence.
  package var fault: String? { state.withLock { $0.fault } }

  package func read(into picture: inout VideoPicture, at mediaTime: Duration) -> VideoSupply {
    let (supply, hasEnded) = state.withLock { state -> (VideoSupply, Bool) in
      guard !state.isAtEnd else { return (.ended, false) }
      if let test = state.test {
        Self.draw(test, number: state.given, at: mediaTime, into: &picture)
        state.given += 1
        return (.picture, false)
      }
      let supply = Self.read(&state, into: &picture, at: mediaTime, isLooped: isLooped)
      if case .ended = supply { state.isAtEnd = true }
      return (supply, state.isAtEnd)
    }
    if hasEnded { onEnd() }
    return supply
  }

  private static func draw(
    _ test: TestPicture, number: Int, at mediaTime: Duration, into picture: inout VideoPicture
  ) {
    if picture.i420.size != test.size { picture = VideoPicture(I420Picture(test.size)) }
    let clock = UInt32(truncatingIfNeeded: Int64(mediaTime / .milliseconds(1)))
    test.draw(
      TestPicture.Stamp(number: UInt16(truncatingIfNeeded: number), clock: clock),
      into: &picture.i420)
  }

  /// The picture of this moment; those before it are passed by.
  private static func read(
    _ state: inout State, into picture: inout VideoPicture, at mediaTime: Duration, isLooped: Bool
  ) -> VideoSupply {
    guard let header = state.file?.header,
      let size = PictureSize(width: header.width, height: header.height)
    else { return .ended }
    if picture.i420.size != size { picture = VideoPicture(I420Picture(size)) }
    let wanted = Int(((mediaTime / .seconds(1)) * header.framesPerSecond).rounded()) + 1
    guard wanted > state.given else { return .nothingNew }
    var isFresh = false
    let before = state.given
    while state.given < wanted {
      // Of standard input only what has come: the other program may be late.
      guard state.file?.isReady == true else {
        return state.given > before ? .picture : .nothingNew
      }
      do throws(MediaFileError) {
        if try state.file?.read(into: &picture.i420.bytes) == true {
          state.given += 1
          isFresh = false
          continue
        }
        // A file without a picture would be wound back for ever.
        guard isLooped, !isFresh else { return .ended }
        try state.file?.rewind()
        isFresh = true
      } catch {
        state.fault = error.description
        return .ended
      }
    }
    return .picture
  }
}
