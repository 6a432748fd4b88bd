package import Earshot
package import Primitives
internal import Reactor
internal import Synchronization

/// One sink for the sound of several calls, which come and go. The first call writes through it as
/// if it were alone. What others bring is added to what that one writes; when it ends, or says
/// nothing for a while, the next one that writes takes its place.
package final class SharedSink: Sendable {
  private struct Voice {
    /// Waits for the one that writes.
    var samples: [Int16] = []
    var isPrimed = false
  }

  private struct State {
    var voices: [Int: Voice] = [:]
    var nextNumber = 0
    /// The voice whose pace counts, and when it last wrote.
    var leader: Int?
    var lastWrite = Instant.zero
    var sums: [Int32] = []
    var block: [Int16] = []
    var limiter = PeakLimiter()
  }

  private let sink: any AudioSink
  private let state = Mutex(State())

  /// - Parameter sink: Is finished by its owner, not by the calls.
  package init(_ sink: any AudioSink) { self.sink = sink }

  /// The end of one call; it has the channels of the sink.
  package func makeEnd() -> any AudioSink {
    let number = state.withLock { state in
      state.nextNumber += 1
      state.voices[state.nextNumber] = Voice()
      return state.nextNumber
    }
    return SharedSinkEnd(self, number, channelCount: sink.channelCount)
  }

  package func write(
    _ samples: borrowing [Int16], frameCount: Int, of number: Int, now: Instant
  ) {
    let count = min(frameCount * sink.channelCount, samples.count)
    state.withLock { state in
      guard state.voices[number] != nil else { return }
      if state.leader != number {
        guard state.leader == nil || now >= state.lastWrite + Self.patience else {
          return append(samples, count, to: number, &state)
        }
        state.leader = number
      }
      state.lastWrite = now
      guard state.voices.count > 1 || state.voices[number]?.samples.isEmpty == false else {
        return sink.write(samples, frameCount: frameCount)
      }
      append(samples, count, to: number, &state)
      state.voices[number]?.isPrimed = true
      mix(count, &state)
      sink.write(state.block, frameCount: frameCount)
    }
  }

  /// A call is over.
  package func end(_ number: Int) {
    state.withLock { state in
      state.voices[number] = nil
      if state.leader == number { state.leader = nil }
    }
  }

  private func append(
    _ samples: borrowing [Int16], _ count: Int, to number: Int, _ state: inout State
  ) {
    let most = Self.mostFrames * sink.channelCount
    for index in 0..<count { state.voices[number]?.samples.append(samples[index]) }
    let waiting = state.voices[number]?.samples.count ?? 0
    // Ahead by too much: the oldest goes, so that the rest is heard in time.
    if waiting > most {
      let kept = Self.primedFrames * sink.channelCount
      state.voices[number]?.samples.removeFirst(waiting - kept)
    }
  }

  private func mix(_ count: Int, _ state: inout State) {
    state.sums = Array(repeating: 0, count: count)
    for number in state.voices.keys {
      guard var voice = state.voices[number] else { continue }
      if voice.samples.count >= Self.primedFrames * sink.channelCount { voice.isPrimed = true }
      guard voice.isPrimed else { continue }
      let taken = min(count, voice.samples.count)
      for index in 0..<taken { state.sums[index] += Int32(voice.samples[index]) }
      voice.samples.removeFirst(taken)
      if voice.samples.isEmpty { voice.isPrimed = false }
      state.voices[number] = voice
    }
    for sum in state.sums { state.limiter.look(at: sum) }
    state.limiter.settle()
    state.block = state.sums.map { state.limiter.limited($0) }
  }

  /// Silence of the one whose pace counts after which another one leads; calls write 5 ms at a
  /// time.
  private static let patience = Duration.milliseconds(60)
  /// What waits before a voice is added: calls' media threads are some ms apart.
  private static let primedFrames = 960
  /// 200 ms.
  private static let mostFrames = 9600
}

/// One call's way to a sink that it shares.
private final class SharedSinkEnd: AudioSink {
  let channelCount: Int
  private let shared: SharedSink
  private let number: Int

  init(_ shared: SharedSink, _ number: Int, channelCount: Int) {
    self.shared = shared
    self.number = number
    self.channelCount = channelCount
  }

  func write(_ samples: borrowing [Int16], frameCount: Int) {
    shared.write(samples, frameCount: frameCount, of: number, now: SystemClock.now)
  }

  func finish() { shared.end(number) }
}
