public import Earshot
internal import MediaFiles
internal import Reactor

/// A sound file as what a call sends: WAV, FLAC, Ogg, MP3 and what else libsndfile reads, at any
/// rate.
public final class AudioFileSource: AudioSource {
  /// 1 mono, 2 stereo.
  public let channelCount: Int
  private let loops: Bool
  private let state: Guarded<State>

  private struct State: ~Copyable {
    var reader: AudioFileReader
    var fault: String?
    var hasEnded = false
  }

  /// Opens the file.
  ///
  /// - Parameter loops: It begins again at its end.
  /// - Throws: `fileUnusable` where it cannot be read as sound, with the reason.
  public init(_ path: String, loops: Bool = false) throws(EarshotError) {
    self.loops = loops
    do throws(MediaFileError) {
      let reader = try AudioFileReader(path)
      channelCount = reader.channels
      state = Guarded(State(reader: reader))
    } catch {
      throw EarshotError(file: error)
    }
  }

  /// What stopped it before its end, in a sentence.
  public var fault: String? { state.withLock { $0.fault } }

  /// For the call; see `AudioSource`.
  public func read(into samples: inout [Int16], frameCount: Int) -> Int {
    let channels = channelCount
    return state.withLock { state in
      var filled = 0
      var isFresh = false
      while filled < frameCount, !state.hasEnded {
        var span = samples.mutableSpan
        var room = span._mutatingExtracting((filled * channels)..<(frameCount * channels))
        do throws(MediaFileError) {
          let count = try state.reader.read(into: &room)
          filled += count
          // A file that gives nothing right after it was wound back would be read for ever.
          if count == 0, !loops || isFresh { state.hasEnded = true }
          isFresh = count == 0
          if count == 0, !state.hasEnded { try state.reader.rewind() }
        } catch {
          state.fault = error.description
          state.hasEnded = true
        }
      }
      return filled
    }
  }
}
