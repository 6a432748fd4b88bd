internal import Audio
internal import Primitives

/// A call heard again from its arrivals (`CallOptions.arrivals`): bit for bit what its sink was
/// given, or what it would have been given with other settings.
public struct CallReplay: ~Copyable {
  /// What may be otherwise than it was.
  public struct Settings: Sendable, Equatable {
    /// The least delay to aim at beyond the fastest packet, in milliseconds, 0...1000.
    public var leastDelayMs = 0
    /// The greatest, in milliseconds, 0...1000.
    public var mostDelayMs = 1000
    /// Whether copies of frames in later packets are used.
    public var usesCopies = true
    /// Whether frames that were sent again are used.
    public var usesRetransmissions = true

    /// As it was.
    public init() {}
  }

  /// 1 mono, 2 stereo.
  public let channelCount: Int
  /// Sound given out so far.
  public private(set) var milliseconds = 0
  /// Whether the recording ended in the middle of a record, as where its program was killed; what
  /// came before was heard.
  public private(set) var isCutOff = false
  private var replay: ArrivalReplay

  /// - Throws: When `recording` is none, or not of this version.
  public init(
    _ recording: [UInt8], settings: Settings = Settings()
  ) throws(EarshotError) {
    var replay: ArrivalReplay
    do throws(WireError) {
      replay = try ArrivalReplay(recording)
    } catch {
      throw Self.unusable(
        error.field == "version"
          ? "The recording of arrivals was written by another version of Earshot."
          : "That is no recording of arrivals.")
    }
    if settings != Settings() {
      let least = Int64(min(max(settings.leastDelayMs, 0), 1000)) * 1_000_000
      let most = Int64(min(max(settings.mostDelayMs, 0), 1000)) * 1_000_000
      replay.buffer.delayRange = least...max(least, most)
      replay.usesCopies = settings.usesCopies
      replay.usesRetransmissions = settings.usesRetransmissions
    }
    channelCount = replay.buffer.channels
    self.replay = replay
  }

  /// Puts the next 5 ms at the front of `samples`, 240 of them a channel, interleaved.
  ///
  /// - Parameter samples: at least 480 long.
  /// - Returns: `false` at the end, and where a recording was cut off.
  /// - Throws: Where the recording is damaged; what came before was true.
  public mutating func read(into samples: inout [Int16]) throws(EarshotError) -> Bool {
    precondition(samples.count >= 2 * AudioFormat.pullSampleCount, "room for 5 ms of stereo")
    var isThere = false
    do throws(WireError) {
      isThere = try Self.pull(from: &replay, into: &samples)
    } catch {
      guard error.reason == .truncated else {
        throw Self.unusable(
          "The recording of arrivals is damaged after \(milliseconds) ms of sound.")
      }
      isCutOff = true
    }
    if isThere { milliseconds += 5 }
    return isThere
  }

  private static func pull(
    from replay: inout ArrivalReplay, into samples: inout [Int16]
  ) throws(WireError) -> Bool {
    var span = samples.mutableSpan
    return try replay.pull(into: &span)
  }

  /// What was received so far; nothing of what was sent, nor of the way.
  public var statistics: CallStatistics {
    var statistics = CallStatistics(atMs: milliseconds)
    let numbers = AudioNumbers(replay.buffer)
    statistics.received.bytesReceived = Int(clamping: numbers.playout.primaryBytes)
    statistics.received.bitrateBps = Double(numbers.playout.primaryBitsPerSecond ?? 0)
    statistics.complete(with: numbers, bitrate: 32_000, now: nil)
    return statistics
  }

  /// The longest recording that is read, in bytes: 1 GiB.
  public static let maximumByteCount = 1 << 30

  private static func unusable(_ message: String) -> EarshotError {
    EarshotError(.fileUnusable, message, advice: "Give a file that --capture wrote.")
  }
}
