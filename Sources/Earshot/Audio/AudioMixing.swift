/// What becomes of the music that is mixed into a call (`CallProgress.audioMixingChanged`).
public struct AudioMixingChange: Sendable, Equatable {
  /// Where it stands.
  public enum State: String, Sendable {
    /// It is sent with the own audio.
    case playing
    /// It waits at its place.
    case paused
    /// There is none.
    case stopped
    /// It could not be started.
    case failed
  }

  /// What brought it there.
  public enum Reason: String, Sendable {
    /// `Call.startAudioMixing`.
    case startedByUser
    /// It came to its end, and has more rounds to go.
    case oneLoopCompleted
    /// It began another round.
    case startNewLoop
    /// It came to the end of its last round.
    case allLoopsCompleted
    /// `Call.stopAudioMixing`, or the call ended.
    case stoppedByUser
    /// `Call.pauseAudioMixing`.
    case pausedByUser
    /// `Call.resumeAudioMixing`.
    case resumedByUser
    /// Started twice within 500 ms.
    case tooFrequentCall
  }

  /// Where it stands.
  public var state: State
  /// What brought it there.
  public var reason: Reason

  package init(_ state: State, _ reason: Reason) {
    self.state = state
    self.reason = reason
  }
}

/// How music is mixed into a call.
public struct AudioMixingOptions: Sendable, Equatable {
  /// How often it plays; `nil` without end.
  public var loops: Int?
  /// Whether it is sent instead of the own audio, not with it.
  public var replacesSource: Bool
  /// Whether it also goes to the call's `AudioSink`.
  public var isHeardHere: Bool
  /// Where it begins.
  public var position: Duration
  /// In per cent, 0...400.
  public var volume: Int

  /// Once, from its beginning, with the own audio, heard here as well.
  public init(
    loops: Int? = 1, replacesSource: Bool = false, isHeardHere: Bool = true,
    position: Duration = .zero, volume: Int = 100
  ) {
    self.loops = loops
    self.replacesSource = replacesSource
    self.isHeardHere = isHeardHere
    self.position = position
    self.volume = volume
  }
}

/// What the mixer has to tell.
enum MixerNote: Equatable, Sendable {
  case music(AudioMixingChange)
  case effectEnded(UInt32)
}

/// Music and effects on their way into a call's own audio. Pure; mixing allocates nothing.
struct AudioMixer {
  /// One clip and where it stands.
  private struct Track {
    var clip: AudioClip
    var position = 0
    /// Rounds left, this one included; `nil` without end.
    var loops: Int?
    var volume = 100
    var isPaused = false
  }

  private var music: Track?
  private(set) var options = AudioMixingOptions()
  private var effects: [(id: UInt32, track: Track)] = []
  private(set) var notes: [MixerNote] = []
  /// Samples waiting to be heard here, mono.
  private var heard: [Int32] = []
  /// The lengths of both volumes: of the music as it is sent, and as it is heard here.
  private var sentVolume = 100
  private var heardVolume = 100

  init() {
    heard.reserveCapacity(Self.mostHeard)
    notes.reserveCapacity(16)
  }

  var isIdle: Bool { music == nil && effects.isEmpty && heard.isEmpty }
  var replacesSource: Bool { music.map { !$0.isPaused } ?? false && options.replacesSource }
  var isPlayingMusic: Bool { music != nil }

  mutating func takeNotes() -> [MixerNote] {
    guard !notes.isEmpty else { return [] }
    defer { notes.removeAll(keepingCapacity: true) }
    return notes
  }

  // MARK: - Music

  mutating func start(_ clip: AudioClip, _ options: AudioMixingOptions) {
    self.options = options
    sentVolume = options.volume
    heardVolume = options.volume
    music = Track(
      clip: clip, position: Self.frame(of: options.position, in: clip), loops: options.loops)
    appendChange(.playing, .startedByUser)
  }

  /// Another start within 500 ms is a mistake.
  mutating func refuse() { appendChange(.failed, .tooFrequentCall) }

  mutating func stop() {
    guard music != nil else { return }
    music = nil
    appendChange(.stopped, .stoppedByUser)
  }

  mutating func pause() {
    guard music?.isPaused == false else { return }
    music?.isPaused = true
    appendChange(.paused, .pausedByUser)
  }

  mutating func resume() {
    guard music?.isPaused == true else { return }
    music?.isPaused = false
    appendChange(.playing, .resumedByUser)
  }

  mutating func setVolume(sent: Int?, heard: Int?) {
    sentVolume = sent ?? sentVolume
    heardVolume = heard ?? heardVolume
  }

  /// Of the music, from its beginning; `nil` without any.
  var position: Duration? {
    music.map { .nanoseconds(Int64($0.position) * 1_000_000_000 / 48_000) }
  }

  mutating func seek(to position: Duration) {
    guard let clip = music?.clip else { return }
    music?.position = Self.frame(of: position, in: clip)
  }

  private static func frame(of position: Duration, in clip: AudioClip) -> Int {
    // Within the clip first: a duration may be longer than its nanoseconds can be counted.
    let (seconds, attoseconds) = min(max(.zero, position), clip.duration).components
    let nanoseconds = Int(attoseconds / 1_000_000_000)
    let frame = Int(seconds) * 48_000 + (nanoseconds * 48_000 + 500_000_000) / 1_000_000_000
    return min(frame, clip.frameCount - 1)
  }

  private mutating func appendChange(
    _ state: AudioMixingChange.State, _ reason: AudioMixingChange.Reason
  ) {
    if notes.count < Self.mostNotes { notes.append(.music(AudioMixingChange(state, reason))) }
  }

  // MARK: - Effects

  /// - Returns: `false` when as many play as may.
  mutating func play(effect id: UInt32, _ clip: AudioClip, loops: Int?, volume: Int) -> Bool {
    stop(effect: id)
    guard effects.count < Self.mostEffects else { return false }
    effects.append((id, Track(clip: clip, loops: loops, volume: volume)))
    return true
  }

  mutating func stop(effect id: UInt32) { effects.removeAll { $0.id == id } }

  mutating func stopEffects() { effects.removeAll() }

  // MARK: - Mixing

  /// Adds what plays to `frameCount` samples of each channel.
  ///
  /// - Parameter channels: of `samples`, 1 or 2.
  mutating func mix(into samples: inout [Int16], frameCount: Int, channels: Int) {
    guard music != nil || !effects.isEmpty else { return }
    if replacesSource {
      for index in 0..<(frameCount * channels) { samples[index] = 0 }
    }
    let start = heard.count
    let isHeard = start + frameCount <= Self.mostHeard
    if isHeard { for _ in 0..<frameCount { heard.append(0) } }
    let room = Room(frameCount: frameCount, channels: channels, heardAt: isHeard ? start : nil)
    mixMusic(into: &samples, room)
    mixEffects(into: &samples, room)
    effects.removeAll { $0.track.position < 0 }
  }

  /// What one call of `mix` fills.
  private struct Room {
    let frameCount: Int
    /// Of the samples, 1 or 2.
    let channels: Int
    /// The place in `heard` of the first frame; `nil` where there is none.
    let heardAt: Int?
  }

  private mutating func mixMusic(into samples: inout [Int16], _ room: Room) {
    let isHeard = options.isHeardHere
    var frame = 0
    while frame < room.frameCount, music?.isPaused == false {
      frame += Self.add(
        &music!, sentVolume, to: &samples, heard: &heard, isHeard ? heardVolume : nil, frame, room)
      guard music!.position == 0 else { continue }
      if let loops = music!.loops, loops <= 0 {
        music = nil
        appendChange(.stopped, .allLoopsCompleted)
      } else {
        appendChange(.playing, .oneLoopCompleted)
        appendChange(.playing, .startNewLoop)
      }
    }
  }

  private mutating func mixEffects(into samples: inout [Int16], _ room: Room) {
    for index in effects.indices {
      let volume = effects[index].track.volume
      var frame = 0
      while frame < room.frameCount, effects[index].track.position >= 0 {
        frame += Self.add(
          &effects[index].track, volume, to: &samples, heard: &heard, volume, frame, room)
        guard effects[index].track.position == 0, let loops = effects[index].track.loops,
          loops <= 0
        else { continue }
        effects[index].track.position = -1
        if notes.count < Self.mostNotes { notes.append(.effectEnded(effects[index].id)) }
      }
    }
  }

  /// Adds a track's frames up to the end of the room or of its round, and moves it on; a round that
  /// ends leaves it at its beginning.
  ///
  /// - Parameter heardVolume: `nil` where it is not heard here.
  /// - Returns: how many frames.
  private static func add(
    _ track: inout Track, _ volume: Int, to samples: inout [Int16], heard: inout [Int32],
    _ heardVolume: Int?, _ frame: Int, _ room: Room
  ) -> Int {
    let (clip, from) = (track.clip, track.position)
    let count = min(room.frameCount - frame, clip.frameCount - from)
    for step in 0..<count {
      let mono = mono(clip, from + step)
      for channel in 0..<room.channels {
        let value =
          clip.channelCount == room.channels
          ? Int(clip.samples[(from + step) * room.channels + channel]) : mono
        let index = (frame + step) * room.channels + channel
        samples[index] = Int16(clamping: Int(samples[index]) + value * volume / 100)
      }
      guard let heardVolume, let place = room.heardAt else { continue }
      heard[place + frame + step] += Int32(mono * heardVolume / 100)
    }
    track.position += count
    if track.position >= clip.frameCount {
      track.position = 0
      track.loops = track.loops.map { $0 - 1 }
    }
    return count
  }

  private static func mono(_ clip: AudioClip, _ position: Int) -> Int {
    guard clip.channelCount == 2 else { return Int(clip.samples[position]) }
    return (Int(clip.samples[2 * position]) + Int(clip.samples[2 * position + 1])) / 2
  }

  /// Adds to what is heard here; what was mixed since goes first.
  mutating func mixHeard(into samples: inout [Int16], frameCount: Int, channels: Int) {
    guard !heard.isEmpty else { return }
    let count = min(frameCount, heard.count)
    for frame in 0..<count {
      for channel in 0..<channels {
        let index = frame * channels + channel
        samples[index] = Int16(clamping: Int(samples[index]) + Int(heard[frame]))
      }
    }
    heard.removeFirst(count)
  }

  static let mostEffects = 16
  private static let mostNotes = 64
  /// 200 ms: what the sink does not take, nobody hears.
  private static let mostHeard = 9600
}

extension CallProgress {
  init(_ note: MixerNote) {
    switch note {
    case .music(let change): self = .audioMixingChanged(change)
    case .effectEnded(let number): self = .effectEnded(number)
    }
  }
}
