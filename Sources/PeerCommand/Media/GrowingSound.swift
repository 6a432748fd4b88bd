package import Earshot
package import Primitives
internal import Synchronization

/// The two ends of a call's sound, which can become those of a channel while the call goes on: then
/// others hear the same source, and are mixed into the same recording. Nothing of either is lost or
/// moved by it.
package final class GrowingSound: Sendable {
  /// What a channel is made of.
  package struct Mix: Sendable {
    package let source: SharedSource
    package let mixer: RoomMixer
    /// The other end of the call.
    package let first: RoomVoice
  }

  package let source: any AudioSource
  package let sink: any AudioSink
  private let growingSource: GrowingSource
  private let growingSink: GrowingSink
  private let mix = Mutex<Mix?>(nil)

  package init(_ source: any AudioSource, _ sink: AudioFileSink) {
    growingSource = GrowingSource(source)
    growingSink = GrowingSink(sink)
    self.source = growingSource
    self.sink = growingSink
  }

  /// Makes room for others; does nothing more the second time.
  package func grow(now: Instant) -> Mix {
    mix.withLock { mix in
      if let mix { return mix }
      let (mixer, first) = growingSink.grow(now: now)
      let made = Mix(source: growingSource.grow(), mixer: mixer, first: first)
      mix = made
      return made
    }
  }

  /// All have gone.
  package func finish() {
    if let mix = mix.withLock({ $0 }) { mix.mixer.finish() } else { growingSink.finish() }
  }
}

/// Reads by itself until others read as well.
private final class GrowingSource: AudioSource {
  let channelCount: Int
  private let supply: any AudioSource
  private let ear = Mutex<SharedEar?>(nil)

  init(_ supply: any AudioSource) {
    self.supply = supply
    channelCount = supply.channelCount
  }

  func read(into samples: inout [Int16], frameCount: Int) -> Int {
    ear.withLock { ear in
      ear?.read(into: &samples, frameCount: frameCount)
        ?? supply.read(into: &samples, frameCount: frameCount)
    }
  }

  func grow() -> SharedSource {
    let shared = SharedSource(supply)
    ear.withLock { $0 = SharedEar(shared) }
    return shared
  }
}

/// Writes into the file by itself until there are others to be mixed with.
private final class GrowingSink: AudioSink {
  let channelCount: Int
  private let file: AudioFileSink
  private let state = Mutex(State())

  private struct State {
    var voice: RoomVoice?
    var end: (any AudioSink)?
    /// Two channels as one, for the mix.
    var narrow: [Int16] = []
  }

  init(_ file: AudioFileSink) {
    self.file = file
    channelCount = file.channelCount
  }

  func grow(now: Instant) -> (RoomMixer, RoomVoice) {
    state.withLock { state in
      // What comes next follows upon what is in the file.
      let mixer = RoomMixer(file, now: now)
      let voice = RoomVoice(mixer, at: 0)
      (state.voice, state.end) = (voice, voice.makeSink(.mesh))
      return (mixer, voice)
    }
  }

  func write(_ samples: borrowing [Int16], frameCount: Int) {
    state.withLock { state in
      guard let end = state.end else { return file.write(samples, frameCount: frameCount) }
      guard channelCount == 2 else { return end.write(samples, frameCount: frameCount) }
      state.narrow.removeAll(keepingCapacity: true)
      for index in 0..<min(frameCount, samples.count / 2) {
        state.narrow.append(
          Int16((Int32(samples[2 * index]) + Int32(samples[2 * index + 1])) / 2))
      }
      end.write(state.narrow, frameCount: state.narrow.count)
    }
  }

  /// The call is over; the recording goes on where others are in it.
  func finish() {
    let end = state.withLock { $0.end }
    if let end { end.finish() } else { file.finish() }
  }
}
