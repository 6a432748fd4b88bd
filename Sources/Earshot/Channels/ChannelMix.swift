package import Primitives
internal import Reactor
internal import Synchronization

/// One sound made of all that is heard in a channel, or in several (`ChannelMedia.Options.mix`).
/// Whoever is heard is added in the order of this host's clock, and a limiter keeps the sum below
/// the greatest value. Mono, 48 kHz.
public final class ChannelMix: Sendable {
  /// Samples that can wait: 1.4 s, a second more than any `hold`.
  private static let ringFrames = 1 << 16

  private struct State {
    var sums = [Int32](repeating: 0, count: ChannelMix.ringFrames)
    /// The frame that is written next, and the one after the last that was heard.
    var written = 0
    var end = 0
    var limiter = PeakLimiter()
    var block = [Int16](repeating: 0, count: 240)
    var isFinished = false
  }

  private let sink: any AudioSink
  private let began: Instant
  private let holdFrames: Int
  private let state = Mutex(State())

  /// Begins now.
  ///
  /// - Parameters:
  ///   - sink: Gets the mix on the media threads of those who are heard, 240 samples at a time.
  ///     While nobody is heard it gets silence as time goes by, about a second late, on a thread of
  ///     the channel. While no channel has the mix it gets nothing. That time follows as silence
  ///     once one has it; who is heard before all of it is written is left out. What the sink gets
  ///     of two channels is the same mono sound.
  ///   - hold: How long a sample waits for others of its time, 0...400 ms. The media threads are
  ///     some ms apart, and a file may wait for longer than a person who listens.
  public convenience init(_ sink: any AudioSink, hold: Duration = .milliseconds(60)) {
    self.init(sink, hold: hold, now: SystemClock.now)
  }

  package init(_ sink: any AudioSink, hold: Duration, now: Instant) {
    self.sink = sink
    began = now
    let milliseconds = Int(clamping: hold.milliseconds)
    holdFrames = min(max(0, milliseconds), Self.longestHold) * 48
  }

  /// Writes what waits, and finishes the sink. Call it once, after `ChannelMedia.leave`: nothing is
  /// added from then on.
  public func finish() {
    let isFirst = state.withLock { state in
      guard !state.isFinished else { return false }
      flush(&state, to: state.end)
      state.isFinished = true
      return true
    }
    if isFirst { sink.finish() }
  }

  /// The frame of a moment.
  func frame(at now: Instant) -> Int { Int(now.nanoseconds(since: began) / 1000 * 48 / 1000) }

  /// Adds samples of one member.
  ///
  /// - Parameter position: Where they belong, by the member's own count.
  /// - Returns: Where the next ones belong.
  func add(
    _ samples: borrowing [Int16], frameCount: Int, at position: Int, now: Int
  ) -> Int {
    state.withLock { state in
      guard !state.isFinished else { return position + frameCount }
      flush(&state, to: min(now - holdFrames, state.written + Self.mostAtOnce))
      // One that has fallen behind goes on from here; one that runs ahead waits for its clock.
      let start =
        position < state.written || position > now + Self.longestLead
        ? max(state.written, now) : position
      guard start + frameCount - state.written <= Self.ringFrames else { return start }
      for index in 0..<frameCount {
        state.sums[(start + index) % Self.ringFrames] += Int32(samples[index])
      }
      state.end = max(state.end, start + frameCount)
      return start + frameCount
    }
  }

  /// Writes the silence of a time in which nobody was heard, a second at the most.
  ///
  /// - Returns: Whether there is more of it.
  func catchUp(now: Instant) -> Bool {
    let end = frame(at: now) - holdFrames - Self.patience
    return state.withLock { state in
      guard !state.isFinished else { return false }
      flush(&state, to: min(end, state.written + Self.mostAtOnce))
      return state.written + state.block.count <= end
    }
  }

  private func flush(_ state: inout State, to end: Int) {
    while state.written + state.block.count <= end {
      for index in state.block.indices {
        let place = (state.written + index) % Self.ringFrames
        state.block[index] = 0
        // The limiter sees the whole block first, so that nothing is cut.
        state.limiter.look(at: state.sums[place])
      }
      state.limiter.settle()
      for index in state.block.indices {
        let place = (state.written + index) % Self.ringFrames
        state.block[index] = state.limiter.limited(state.sums[place])
        state.sums[place] = 0
      }
      write(state.block)
      state.written += state.block.count
    }
  }

  private func write(_ mono: [Int16]) {
    guard sink.channelCount == 2 else { return sink.write(mono, frameCount: mono.count) }
    sink.write(mono.flatMap { [$0, $0] }, frameCount: mono.count)
  }

  /// Milliseconds.
  private static let longestHold = 400
  /// A second: what is written under the lock, which a media thread may wait for.
  private static let mostAtOnce = 48_000
  /// Half a second: who is heard writes sooner.
  private static let patience = 24_000
  /// 300 ms: what is further ahead of the clock is another stream.
  private static let longestLead = 14_400
}

/// Lowers what is too loud at once, and lets it rise again within half a second.
package struct PeakLimiter {
  /// −0.2 dBFS.
  private static let most: Float = 32_000
  /// A block of 5 ms: 100 of them from silence to full.
  private static let rise: Float = 0.01

  private var peak: Int32 = 0
  private var gain: Float = 1

  package init() {}

  /// One sample of the block that comes.
  package mutating func look(at sum: Int32) { peak = max(peak, Int32(clamping: sum.magnitude)) }

  /// The block was seen.
  package mutating func settle() {
    let allowed = peak > Int32(Self.most) ? Self.most / Float(peak) : 1
    gain = min(allowed, min(1, gain + Self.rise))
    peak = 0
  }

  package func limited(_ sum: Int32) -> Int16 { Int16(clamping: Int(Float(sum) * gain)) }
}
