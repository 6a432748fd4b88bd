package import Earshot
internal import MediaFiles
internal import Primitives
internal import Reactor
internal import Synchronization

/// The sound of a stay in a channel: one source that goes to everybody at the same time, and one
/// mix of all who are heard, which is saved.
package final class RoomSound: Sendable {
  private let source: SharedSource
  private let mixer: RoomMixer

  init(_ command: JoinCommand) throws(MediaFileError) {
    let played = try PlayedSource(command.play, isLooped: command.isLooped) {}
    source = SharedSource(played)
    mixer = RoomMixer(
      try AudioFileSink(command.save, channelCount: 1, overwrites: command.online.overwrites),
      now: SystemClock.now)
  }

  func makeSource() -> any AudioSource { SharedEar(source) }
  func makeSink() -> any AudioSink { RoomVoice(mixer) }
  func finish() { mixer.finish() }
  var fault: String? { source.fault ?? mixer.fault }
}

/// What is played, read once and given to each call as it is needed. Who comes later hears what the
/// others hear then.
package final class SharedSource: Sendable {
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

  package init(_ supply: any AudioSource) {
    self.supply = supply
    state = Mutex(
      State(ring: Array(repeating: 0, count: Self.ringFrames * supply.channelCount)))
  }

  package var channelCount: Int { supply.channelCount }
  var fault: String? { (supply as? PlayedSource)?.fault }

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
package final class SharedEar: AudioSource {
  package let channelCount: Int
  private let source: SharedSource
  private let position: Mutex<Int?>

  package init(_ source: SharedSource) {
    self.source = source
    channelCount = source.channelCount
    position = Mutex(nil)
  }

  package func read(into samples: inout [Int16], frameCount: Int) -> Int {
    position.withLock { position in
      let result = source.read(
        into: &samples, from: position ?? source.lead, frameCount: frameCount)
      position = result.start + result.count
      return result.count
    }
  }
}
