internal import Earshot
internal import MediaFiles
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

  private enum Supply: ~Copyable {
    case file(AudioFileReader)
    case raw(RawAudioReader)
    case tone(TestTone)
  }

  private struct State: ~Copyable {
    var supply: Supply
    var isAtEnd = false
    var fault: String?
  }

  /// Opens it.
  ///
  /// - Parameters:
  ///   - path: A file, `-` for standard input, `nil` for the test tone.
  ///   - onEnd: Called once, on the media thread, when there is no more.
  package init(
    _ path: String?, isLooped: Bool, onEnd: @escaping @Sendable () -> Void
  ) throws(MediaFileError) {
    self.isLooped = isLooped
    self.onEnd = onEnd
    switch path {
    case nil:
      channelCount = 1
      length = nil
      state = Mutex(State(supply: .tone(TestTone())))
    case "-":
      channelCount = 1
      length = nil
      state = Mutex(State(supply: .raw(RawAudioReader())))
    case .some(let path):
      let reader = try AudioFileReader(path)
      channelCount = reader.channels
      length = isLooped ? nil : reader.lengthFrames48k
      state = Mutex(State(supply: .file(reader)))
    }
  }

  /// How much was read, in samples a channel.
  package var position: Int { played.load(ordering: .relaxed) }

  /// What stopped it before its end, in a sentence.
  package var fault: String? { state.withLock { $0.fault } }

  package func read(into samples: inout [Int16], frameCount: Int) -> Int {
    let (count, hasEnded) = state.withLock { state -> (Int, Bool) in
      guard !state.isAtEnd else { return (0, false) }
      let count = Self.fill(
        &samples, frameCount, channels: channelCount, isLooped: isLooped, &state)
      state.isAtEnd = count < frameCount
      return (count, state.isAtEnd)
    }
    meter.take(samples, count: count * channelCount)
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
      var room = span.extracting((filled * channels)..<(frameCount * channels))
      let count: Int
      do throws(MediaFileError) {
        count = try state.supply.read(into: &room)
        if count == 0 {
          // A file that gives nothing right after it was wound back would be read for ever.
          guard isLooped, !isFresh else { break }
          try state.supply.rewind()
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

extension PlayedSource.Supply {
  @_lifetime(room: copy room)
  mutating func read(into room: inout MutableSpan<Int16>) throws(MediaFileError) -> Int {
    switch consume self {
    case .file(var reader):
      defer { self = .file(reader) }
      return try reader.read(into: &room)
    case .raw(var reader):
      defer { self = .raw(reader) }
      return try reader.read(into: &room)
    case .tone(var tone):
      tone.read(into: &room)
      self = .tone(tone)
      return room.count
    }
  }

  /// Back to the first sample; only a file can.
  mutating func rewind() throws(MediaFileError) {
    switch consume self {
    case .file(var reader):
      defer { self = .file(reader) }
      try reader.rewind()
    case .raw(let reader): self = .raw(reader)
    case .tone(let tone): self = .tone(tone)
    }
  }
}
