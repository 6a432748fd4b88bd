internal import Primitives
internal import Reactor
internal import Synchronization

/// All members of a channel as they are heard.
final class ChannelVoices: Sendable {
  private struct State {
    var voices: [UInt32: ChannelVoice] = [:]
    /// Voices with sinks of their own whose members are gone, the one that left first in front.
    var departed: [UInt32] = []
    /// Writes silence while nobody is heard.
    var keeper: PromptWorker?
  }

  private let mix: ChannelMix?
  private let makeOwn: (@Sendable (UInt32) -> (any AudioSink)?)?
  private let hold: Duration
  private let state = Mutex(State())

  init(_ options: ChannelMedia.Options) {
    mix = options.mix
    makeOwn = options.makeSink
    hold = options.sinkHold
    guard mix != nil || makeOwn != nil else { return }
    do throws(ReactorError) {
      let keeper = try PromptWorker(named: "earshot-silence") { [weak self] now in
        self?.writeSilence(now: now)
      }
      state.withLock { $0.keeper = keeper }
    } catch {
      // No thread to be had: whoever is heard next writes the silence before.
    }
  }

  deinit { stopKeeper() }

  /// Where one member's sound goes that comes by one way.
  func makeSink(_ uid: UInt32, by way: ChannelVoice.Way) -> any AudioSink {
    state.withLock { state in
      state.departed.removeAll { $0 == uid }
      if let voice = state.voices[uid] { return voice.makeSink(way) }
      makeRoom(&state)
      // One that is not kept would never be finished.
      let sink = state.voices.count < Self.most ? makeOwn?(uid) : nil
      let voice = ChannelVoice(
        mix, own: sink.map { ChannelMix($0, hold: hold, now: SystemClock.now) })
      if state.voices.count < Self.most { state.voices[uid] = voice }
      return voice.makeSink(way)
    }
  }

  /// How loud a member is, in dB below full scale.
  func level(of uid: UInt32, now: Instant) -> Double {
    state.withLock { $0.voices[uid]?.level(now: now) } ?? ChannelVoice.silence
  }

  /// How long a member was heard since it came.
  func heard(_ uid: UInt32) -> Duration { state.withLock { $0.voices[uid]?.heard ?? .zero } }

  /// A member has left. With a sink of its own it is kept for a while: whoever comes back goes on
  /// in it.
  func remove(_ uid: UInt32) {
    state.withLock { state in
      state.voices[uid]?.end(.mesh)
      state.voices[uid]?.restartHeard()
      if makeOwn == nil {
        state.voices[uid] = nil
      } else if state.voices[uid] != nil {
        state.departed.removeAll { $0 == uid }
        state.departed.append(uid)
      }
    }
  }

  /// A call with a member is over, also one that never had sound: from now on the relay is heard.
  func endCall(with uid: UInt32) { state.withLock { $0.voices[uid] }?.end(.mesh) }

  /// Whether a member's frames come by the relay at present.
  func setRelayed(_ isRelayed: Bool, _ uid: UInt32) {
    state.withLock { $0.voices[uid] }?.setRelayed(isRelayed)
  }

  /// Finishes the sinks of single members.
  func finish() {
    stopKeeper()
    for voice in state.withLock({ Array($0.voices.values) }) { voice.finish() }
  }

  private func stopKeeper() { state.withLock { $0.keeper.take() }?.stop() }

  /// What the thread does each time.
  ///
  /// - Returns: When there is more to write.
  @discardableResult
  func writeSilence(now: Instant) -> Instant? {
    var isBehind = mix?.catchUp(now: now) ?? false
    // Who has left may never come back: then the file ends where it was heard last.
    let present = state.withLock { state in
      state.voices.filter { !state.departed.contains($0.key) }.map(\.value)
    }
    for voice in present where voice.catchUp(now: now) { isBehind = true }
    return now + (isBehind ? Self.catchingPace : Self.silencePace)
  }

  /// Finishes the sink of whoever is gone longest, where another one needs its place.
  private func makeRoom(_ state: inout State) {
    while state.voices.count >= Self.most, !state.departed.isEmpty {
      state.voices.removeValue(forKey: state.departed.removeFirst())?.finish()
    }
  }

  /// Four times as many as a relay has hosts in a channel of the usual size.
  private static let most = 256
  /// From one look for silence to the next, and while much of it is to be written.
  private static let silencePace = Duration.milliseconds(250)
  private static let catchingPace = Duration.milliseconds(5)
}
