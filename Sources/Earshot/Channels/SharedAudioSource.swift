internal import Synchronization

/// One source for all calls and relays of a channel, or of several: it is read once, and all get
/// the same at the same time. Who comes later hears what the others hear then.
public final class SharedAudioSource: Sendable {
  /// 2.7 s: the calls of one program read within some ms of each other.
  private static let ringFrames = 1 << 17

  private struct State {
    var ring: [Int16]
    /// Frames that were read, over all the time.
    var produced = 0
    var isAtEnd = false
    var block: [Int16] = []
  }

  private let supply: any AudioSource
  private let state: Mutex<State>

  /// Reads nothing before somebody hears it.
  ///
  /// - Parameter supply: Is given to nobody else.
  public init(_ supply: any AudioSource) {
    self.supply = supply
    state = Mutex(
      State(ring: Array(repeating: 0, count: Self.ringFrames * supply.channelCount)))
  }

  /// One call's way to it.
  public func makeEar() -> any AudioSource { SharedEar(self) }

  /// 1 mono, 2 stereo.
  package var channelCount: Int { supply.channelCount }

  /// Where somebody who comes now begins.
  package var lead: Int { state.withLock { $0.produced } }

  /// - Returns: How many frames there were, and where they begin: later than `position` for one
  ///   that has slept for too long.
  package func read(
    into samples: inout [Int16], from position: Int, frameCount: Int
  ) -> (count: Int, start: Int) {
    state.withLock { state in
      let start = max(position, state.produced - Self.ringFrames + frameCount)
      while state.produced < start + frameCount, !state.isAtEnd {
        produce(start + frameCount - state.produced, &state)
      }
      let count = max(0, min(frameCount, state.produced - start))
      let channels = channelCount
      for index in 0..<(count * channels) {
        samples[index] = state.ring[(start * channels + index) % state.ring.count]
      }
      return (count, start)
    }
  }

  private func produce(_ frameCount: Int, _ state: inout State) {
    let wanted = min(frameCount, 4800)
    let channels = channelCount
    if state.block.count < wanted * channels {
      state.block = Array(repeating: 0, count: wanted * channels)
    }
    let count = supply.read(into: &state.block, frameCount: wanted)
    for index in 0..<(count * channels) {
      state.ring[(state.produced * channels + index) % state.ring.count] = state.block[index]
    }
    state.produced += count
    state.isAtEnd = count < wanted
  }
}

/// One call's way to the source.
private final class SharedEar: AudioSource {
  let channelCount: Int
  private let source: SharedAudioSource
  private let position: Mutex<Int?>

  init(_ source: SharedAudioSource) {
    self.source = source
    channelCount = source.channelCount
    position = Mutex(nil)
  }

  func read(into samples: inout [Int16], frameCount: Int) -> Int {
    position.withLock { position in
      let result = source.read(
        into: &samples, from: position ?? source.lead, frameCount: frameCount)
      position = result.start + result.count
      return result.count
    }
  }
}
