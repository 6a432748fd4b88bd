package import Earshot
package import MediaFiles
internal import Synchronization

/// What `--play` names: a file, standard input, or the test tone.
package final class PlayedSource: AudioSource {
  package let channelCount: Int
  /// How much there is, in samples a channel at 48 kHz; `nil` without end or when nobody knows.
  package let length: Int?
  package let meter = LevelMeter()
  private let isLooped: Bool
  private let state: Mutex<State>
  private let played = Atomic<Int>(0)
  private let onEnd: @Sendable () -> Void

  /// One of the three supplies.
  private struct State: ~Copyable {
    var file: AudioFileReader?
    var pipe: SoundInputPipe?
    var tone: TestTone?
    var isAtEnd = false
    var fault: String?

    @_lifetime(room: copy room)
    mutating func read(into room: inout MutableSpan<Int16>) throws(MediaFileError) -> Int {
      if let count = try file?.read(into: &room) { return count }
      if let pipe { return pipe.read(into: &room) }
      tone?.read(into: &room)
      return room.count
    }
  }

  /// Opens it.
  ///
  /// - Parameters:
  ///   - path: A file, `nil` for the test tone.
  ///   - pipe: Is played instead.
  ///   - onEnd: Called once, on the media thread, when there is no more.
  package init(
    _ path: String?, pipe: SoundInputPipe? = nil, isLooped: Bool,
    onEnd: @escaping @Sendable () -> Void
  ) throws(MediaFileError) {
    self.isLooped = isLooped
    self.onEnd = onEnd
    switch (path, pipe) {
    case (_, .some(let pipe)):
      channelCount = pipe.channelCount
      length = nil
      pipe.begin()
      state = Mutex(State(pipe: pipe))
    case (nil, nil):
      channelCount = 1
      length = nil
      state = Mutex(State(tone: TestTone()))
    case (.some(let path), nil):
      let reader = try AudioFileReader(path)
      channelCount = reader.channels
      length = isLooped ? nil : reader.lengthFrames48k
      state = Mutex(State(file: consume reader))
    }
  }

  /// How much was read, in samples a channel.
  package var position: Int { played.load(ordering: .relaxed) }

  /// What stopped it before its end, in a sentence.
  package var fault: String? { state.withLock { $0.fault ?? $0.pipe?.fault } }

  package func read(into samples: inout [Int16], frameCount: Int) -> Int {
    let (count, hasEnded) = state.withLock { state -> (Int, Bool) in
      guard !state.isAtEnd else { return (0, false) }
      let count = Self.fill(
        &samples, frameCount, channels: channelCount, isLooped: isLooped, &state)
      state.isAtEnd = count < frameCount
      return (count, state.isAtEnd)
    }
    meter.append(samples, count: count * channelCount)
    played.add(count, ordering: .relaxed)
    if hasEnded { onEnd() }
    return count
  }

  private static func fill(
    _ samples: inout [Int16], _ frameCount: Int, channels: Int, isLooped: Bool,
    _ state: inout State
  ) -> Int {
    var filled = 0
    var isFresh = false
    while filled < frameCount {
      var span = samples.mutableSpan
      var room = span._mutatingExtracting((filled * channels)..<(frameCount * channels))
      let count: Int
      do throws(MediaFileError) {
        count = try state.read(into: &room)
        if count == 0 {
          // A file that gives nothing right after it was wound back would be read for ever.
          guard isLooped, !isFresh else { break }
          try state.file?.rewind()
        }
        isFresh = count == 0
      } catch {
        state.fault = error.description
        break
      }
      filled += count
    }
    return filled
  }
}
