internal import Audio
internal import Primitives
internal import Reactor
internal import Synchronization

/// One member as it is heard: by a call, by the relay, or by both while the way of its channel
/// changes. One of them goes into the mix, so that nothing is heard twice. The other takes over
/// where that one ends, or is silent while the other is not.
final class ChannelVoice: Sendable {
  enum Way: Int, Sendable { case mesh, relay }

  private struct State {
    var audible: Way?
    /// When each way last had sound, by its raw value.
    var lastSound: [Instant?] = [nil, nil]
    /// Nothing comes by the relay; its pipeline makes up noise all the same.
    var isRelayDead = false
    /// Where the next samples belong, in the mix and in the own file.
    var place: Int?
    var ownPlace: Int?
    /// When samples last came, and how many there were that are no silence.
    var lastWrite: Instant?
    var soundFrames = 0
  }

  private let mix: ChannelMix?
  /// What is heard of this member alone.
  private let own: ChannelMix?
  private let state = Mutex(State())
  private let meter = LevelMeter()

  init(_ mix: ChannelMix?, own: ChannelMix? = nil) {
    self.mix = mix
    self.own = own
  }

  /// The end of one way.
  func makeSink(_ way: Way) -> any AudioSink { ChannelVoiceEnd(self, way) }

  func write(
    _ samples: borrowing [Int16], frameCount: Int, by way: Way, now: Instant
  ) {
    state.withLock { state in
      let hasSound = Self.hasSound(samples, frameCount)
      choose(&state, way, hasSound: hasSound, now: now)
      guard state.audible == way else { return }
      meter.append(samples, count: frameCount)
      state.lastWrite = now
      if Self.isAudible(samples, frameCount) { state.soundFrames += frameCount }
      if let mix { Self.add(samples, frameCount, to: mix, at: &state.place, now: now) }
      if let own { Self.add(samples, frameCount, to: own, at: &state.ownPlace, now: now) }
    }
  }

  private static func add(
    _ samples: borrowing [Int16], _ frameCount: Int, to mix: ChannelMix, at place: inout Int?,
    now: Instant
  ) {
    let frame = mix.frame(at: now)
    place = mix.add(samples, frameCount: frameCount, at: place ?? frame, now: frame)
  }

  /// How loud it is, in dB below full scale; -90 where nothing comes.
  func level(now: Instant) -> Double {
    let last = state.withLock { $0.lastWrite }
    return last.map { now - $0 < Self.freshness } ?? false ? meter.decibels : Self.silence
  }

  /// How long it was heard, silence apart.
  var heard: Duration {
    .milliseconds(Int64(state.withLock { $0.soundFrames } / 48))
  }

  /// Its member has left, and may come back: from then on it is heard anew.
  func restartHeard() { state.withLock { $0.soundFrames = 0 } }

  /// Whether frames come by the relay at present.
  func setRelayed(_ isRelayed: Bool) {
    state.withLock { state in
      state.isRelayDead = !isRelayed
      if !isRelayed, state.audible == .relay { state.audible = nil }
    }
  }

  /// A way has ended: the other one is heard from its next samples on.
  func end(_ way: Way) {
    state.withLock { state in
      state.lastSound[way.rawValue] = nil
      if state.audible == way { state.audible = nil }
      // Without a call the relay is all there is.
      if way == .mesh { state.isRelayDead = false }
    }
  }

  func finish() { own?.finish() }

  /// See `ChannelMix.catchUp`.
  func catchUp(now: Instant) -> Bool { own?.catchUp(now: now) ?? false }

  private func choose(_ state: inout State, _ way: Way, hasSound: Bool, now: Instant) {
    if way == .relay, state.isRelayDead { return }
    if hasSound { state.lastSound[way.rawValue] = now }
    guard let audible = state.audible else { return state.audible = way }
    guard audible != way, hasSound else { return }
    let last = state.lastSound[audible.rawValue]
    if last.map({ now >= $0 + Self.patience }) ?? true { state.audible = way }
  }

  /// Noise that is made up while nothing comes does not count as heard.
  private static func isAudible(_ samples: borrowing [Int16], _ count: Int) -> Bool {
    for index in 0..<min(count, samples.count) {
      if abs(Int(samples[index])) >= AudioFormat.audible { return true }
    }
    return false
  }

  private static func hasSound(_ samples: borrowing [Int16], _ count: Int) -> Bool {
    for index in 0..<min(count, samples.count) where samples[index] != 0 { return true }
    return false
  }

  /// What a level is while nothing is heard, in dB below full scale.
  static let silence = -90.0
  /// A level is shown for so long after the last samples.
  private static let freshness = Duration.milliseconds(300)

  /// Silence of the way that is heard after which one that has sound takes its place.
  private static let patience = Duration.milliseconds(60)
}

/// One way into a `ChannelVoice`. Mono.
private final class ChannelVoiceEnd: AudioSink {
  let channelCount = 1
  private let voice: ChannelVoice
  private let way: ChannelVoice.Way

  init(_ voice: ChannelVoice, _ way: ChannelVoice.Way) {
    self.voice = voice
    self.way = way
  }

  func write(_ samples: borrowing [Int16], frameCount: Int) {
    voice.write(samples, frameCount: frameCount, by: way, now: SystemClock.now)
  }

  /// The mix goes on without it.
  func finish() { voice.end(way) }
}
