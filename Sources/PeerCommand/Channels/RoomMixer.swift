internal import Earshot
package import Primitives
internal import Reactor
internal import Synchronization

/// Adds up what is heard of all members, in the order of this host's clock, and keeps the sum below
/// the greatest value by a limiter. Mono, 48 kHz.
package final class RoomMixer: Sendable {
  /// How long a sample waits for others of its time: the calls' media threads are some ms apart.
  private static let holdFrames = 14_400
  /// A second more than that.
  private static let ringFrames = 1 << 16

  private struct State {
    var sums = [Int32](repeating: 0, count: RoomMixer.ringFrames)
    /// The frame that is written next, and the one after the last that was heard.
    var written = 0
    var end = 0
    var limiter = PeakLimiter()
    var block = [Int16](repeating: 0, count: 240)
  }

  private let sink: AudioFileSink
  private let began: Instant
  private let state = Mutex(State())

  package init(_ sink: AudioFileSink, now: Instant) {
    self.sink = sink
    began = now
  }

  package var fault: String? { sink.fault }

  /// The frame of a moment.
  package func frame(at now: Instant) -> Int {
    Int(now.nanoseconds(since: began) / 1000 * 48 / 1000)
  }

  /// Adds samples of one member.
  ///
  /// - Parameter position: Where they belong, by the member's own count.
  /// - Returns: Where the next ones belong.
  package func add(
    _ samples: borrowing [Int16], channels: Int, frameCount: Int, at position: Int, now: Int
  ) -> Int {
    state.withLock { state in
      flush(&state, to: now - Self.holdFrames)
      // One that has fallen behind goes on from here; one that runs ahead waits for its clock.
      let start =
        position < state.written || position > now + Self.holdFrames
        ? max(state.written, now) : position
      guard start + frameCount - state.written <= Self.ringFrames else { return start }
      for index in 0..<frameCount {
        state.sums[(start + index) % Self.ringFrames] += Int32(samples[index * channels])
      }
      state.end = max(state.end, start + frameCount)
      return start + frameCount
    }
  }

  package func finish() {
    state.withLock { flush(&$0, to: $0.end) }
    sink.finish()
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
      sink.write(state.block, frameCount: state.block.count)
      state.written += state.block.count
    }
  }
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
