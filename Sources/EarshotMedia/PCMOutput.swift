public import Earshot
internal import Reactor

/// The other side's sound, for the application to take: 48 kHz, 16 bits, interleaved, without a gap
/// from the first second to the last. Each element is what came at once, 5 ms as a rule.
///
///     let heard = try PCMOutput()
///     let call = try await endpoint.call("bob", options: CallOptions(sink: heard))
///     for await samples in heard { … }
///
/// For one reader. Two seconds wait at the most; of more than that the oldest are dropped.
public final class PCMOutput: AudioSink, AsyncSequence {
  /// What came at once, interleaved.
  public typealias Element = [Int16]
  /// Of the stream below.
  public typealias AsyncIterator = AsyncStream<[Int16]>.Iterator
  /// It ends with the call, and fails never.
  public typealias Failure = Never

  /// 1 mono, 2 stereo.
  public let channelCount: Int
  private let blocks: AsyncStream<[Int16]>
  private let continuation: AsyncStream<[Int16]>.Continuation
  private let dropped = FailureCount()

  /// - Throws: `invalidArgument` for other than one or two channels.
  public init(channels: Int = 1) throws(EarshotError) {
    guard (1...2).contains(channels) else {
      throw EarshotError(
        .invalidArgument, "There is no sound of \(channels) channels.", advice: "Give 1 or 2.")
    }
    channelCount = channels
    (blocks, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(400))
  }

  /// Samples that were dropped because nobody took them in time.
  public var droppedSampleCount: Int { Int(clamping: dropped.value) }

  /// For one reader.
  public func makeAsyncIterator() -> AsyncStream<[Int16]>.Iterator { blocks.makeAsyncIterator() }

  /// For the call; see `AudioSink`.
  public func write(_ samples: borrowing [Int16], frameCount: Int) {
    let count = Swift.min(frameCount * channelCount, samples.count)
    if case .dropped(let old) = continuation.yield(Array(samples[0..<count])) {
      dropped.add(UInt64(old.count))
    }
  }

  /// For the call: the sequence ends.
  public func finish() { continuation.finish() }
}
