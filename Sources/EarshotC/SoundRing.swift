internal import Earshot
internal import Reactor

/// What was heard in a call until C takes it: a second at the most, of more the oldest is dropped.
final class SoundRing: AudioSink {
  let channelCount: Int
  private let state: Guarded<State>

  private struct State: ~Copyable {
    var samples: [Int16]
    var first = 0
    var count = 0

    mutating func append(_ new: Span<Int16>) {
      for index in new.indices {
        if count == samples.count {
          first = (first + 1) % samples.count
          count -= 1
        }
        samples[(first + count) % samples.count] = new[index]
        count += 1
      }
    }

    @_lifetime(room: copy room)
    mutating func moveSamples(to room: inout MutableSpan<Int16>) -> Int {
      let taken = min(room.count, count)
      for index in 0..<taken { room[index] = samples[(first + index) % samples.count] }
      first = (first + taken) % samples.count
      count -= taken
      return taken
    }
  }

  init(channels: Int) {
    channelCount = channels
    state = Guarded(State(samples: Array(repeating: 0, count: 48_000 * channels)))
  }

  func write(_ samples: borrowing [Int16], frameCount: Int) {
    let span = samples.span.extracting(0..<min(frameCount * channelCount, samples.count))
    state.withLock { $0.append(span) }
  }

  /// Moves what there is to `room`; how many samples that were.
  @_lifetime(room: copy room)
  func read(into room: inout MutableSpan<Int16>) -> Int {
    state.withLock { $0.moveSamples(to: &room) }
  }

  func finish() {}
}
