public import Earshot
internal import MediaFiles
internal import Reactor

/// Sound that the application gives by itself, as it comes: from a microphone, a synthesizer,
/// another call. Push from any thread; a call takes it at its own pace, and follows the clock of
/// whoever pushes.
///
///     let microphone = try PCMInput(rate: 44_100)
///     let call = try await endpoint.call("bob", options: CallOptions(source: microphone))
///     microphone.push(samples)
///
/// Three seconds wait at the most. Where nothing has come, silence is sent; what is older than the
/// call is dropped at its beginning. That holds for each call that it is used for: what is pushed
/// between two of them is heard in neither. Of what is pushed faster than it is said, a file or the
/// sound of a synthesizer, nothing is dropped.
public final class PCMInput: AudioSource {
  /// Samples a second and channel of what is pushed: 8000...192000.
  public let rate: Int
  /// 1 mono, 2 stereo, interleaved.
  public let channelCount: Int
  private let sound: Guarded<PipedInput>

  /// - Throws: `invalidArgument` for a rate or a number of channels out of its range.
  public init(rate: Int = 48_000, channels: Int = 1) throws(EarshotError) {
    guard let format = RawFormat("\(rate)/\(channels)"), let sound = PipedInput(format) else {
      throw EarshotError(
        .invalidArgument, "Sound of \(rate) Hz in \(channels) channels cannot be taken.",
        advice: "Give 8000 to 192000 Hz, and one or two channels.")
    }
    self.rate = rate
    self.channelCount = channels
    self.sound = Guarded(sound)
  }

  /// Appends samples of 16 bits, interleaved.
  ///
  /// - Returns: How many samples were taken, a multiple of the number of channels: fewer than given
  ///   where three seconds wait already.
  @discardableResult
  public func push(_ samples: [Int16]) -> Int { push(samples.span) }

  /// The same without an array.
  @discardableResult
  public func push(_ samples: Span<Int16>) -> Int {
    let now = SystemClock.now
    return sound.withLock { $0.append(samples, now: now) }
  }

  /// Appends samples of -1 to 1; what is beyond is clipped, and what is no number is silence.
  @discardableResult
  public func push(_ samples: [Float]) -> Int {
    push(samples.map { Int16(max(-32_768, min(32_767, ($0.isNaN ? 0 : $0) * 32_768))) })
  }

  /// Nothing more comes: the call ends its sound once what waits has been said.
  public func end() { sound.withLock { $0.end() } }

  /// Times that a call had to send silence because nothing had come.
  public var gapCount: Int { sound.withLock { $0.gapCount } }

  /// For the call; see `AudioSource`.
  public func read(into samples: inout [Int16], frameCount: Int) -> Int {
    let now = SystemClock.now
    let count = min(frameCount * channelCount, samples.count)
    return sound.withLock { sound in
      var span = samples.mutableSpan
      var room = span._mutatingExtracting(0..<count)
      return sound.read(into: &room, now: now)
    }
  }
}
