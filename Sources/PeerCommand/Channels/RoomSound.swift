package import Earshot
internal import MediaFiles
internal import Primitives
internal import Reactor
internal import Synchronization

/// The sound of a stay in channels: one source that goes to everybody at the same time, one mix of
/// all who are heard, and a file for each of them where that is wanted.
package final class RoomSound: Sendable {
  private struct Key: Hashable {
    let room: ChannelName
    let uid: UInt32
  }

  private struct State {
    var voices: [Key: RoomVoice] = [:]
    /// Voices with files whose members are gone, the one that left first in front.
    var departed: [Key] = []
    /// Files of members that were closed, and so many more they had.
    var pieces: [Key: Int] = [:]
    /// Calls with pictures, by their members: their files are counted.
    var pictures: [Key: Int] = [:]
    var fault: String?
  }

  private let source: SharedSource
  private let meter: LevelMeter
  private let mixer: RoomMixer
  /// A file name with `{uid}` in it; `nil` = none are saved.
  private let each: String?
  private let video: VideoOptions
  private let isLooped: Bool
  private let overwrites: Bool
  private let state = Mutex(State())

  init(_ command: JoinCommand) throws(MediaFileError) {
    let played = try PlayedSource(command.play, isLooped: command.isLooped) {}
    source = SharedSource(played)
    meter = played.meter
    each = command.saveEach
    video = command.video
    isLooped = command.isLooped
    overwrites = command.online.overwrites
    mixer = RoomMixer(
      try AudioFileSink(command.save, channelCount: 1, overwrites: overwrites),
      now: SystemClock.now)
  }

  func makeSource() -> any AudioSource { SharedEar(source) }

  /// Where one member's sound goes that comes by one way.
  func makeSink(_ uid: UInt32, in room: ChannelName, by way: RoomVoice.Way) -> any AudioSink {
    state.withLock { state in
      let key = Key(room: room, uid: uid)
      state.departed.removeAll { $0 == key }
      if let voice = state.voices[key] { return voice.makeSink(way) }
      makeRoom(&state)
      let voice = RoomVoice(mixer, own: own(key, &state))
      if state.voices.count < Self.mostVoices { state.voices[key] = voice }
      return voice.makeSink(way)
    }
  }

  /// What is played, in dB below full scale.
  var playedLevel: Double { meter.decibels }

  /// How loud each member is who is heard in a channel, in dB below full scale.
  func levels(in room: ChannelName, now: Instant) -> [UInt32: Double] {
    state.withLock { state in
      var levels: [UInt32: Double] = [:]
      for (key, voice) in state.voices where key.room == room {
        levels[key.uid] = voice.level(now: now)
      }
      return levels
    }
  }

  /// How long a member was heard.
  func heard(_ uid: UInt32, in room: ChannelName) -> Duration {
    state.withLock { $0.voices[Key(room: room, uid: uid)]?.heard ?? .zero }
  }

  /// A member has left. With a file of its own it is kept for a while: whoever comes back goes on
  /// in it.
  func remove(_ uid: UInt32, in room: ChannelName) {
    state.withLock { state in
      let key = Key(room: room, uid: uid)
      state.voices[key]?.end(.mesh)
      state.voices[key]?.restartHeard()
      if each == nil {
        state.voices[key] = nil
      } else if state.voices[key] != nil {
        state.departed.append(key)
      }
    }
  }

  /// Closes the file of whoever is gone longest, where another one needs its place.
  private func makeRoom(_ state: inout State) {
    guard state.voices.count >= Self.mostVoices, !state.departed.isEmpty else { return }
    let key = state.departed.removeFirst()
    guard let voice = state.voices.removeValue(forKey: key) else { return }
    voice.finish()
    state.fault = state.fault ?? voice.fault
    state.pieces[key, default: 0] += 1
  }

  /// A call with a member is over, also one that never had sound: from now on the relay is heard.
  func endCall(with uid: UInt32, in room: ChannelName) {
    state.withLock { $0.voices[Key(room: room, uid: uid)] }?.end(.mesh)
  }

  /// Whether a member's frames come by the relay at present.
  func setRelayed(_ isRelayed: Bool, _ uid: UInt32, in room: ChannelName) {
    state.withLock { $0.voices[Key(room: room, uid: uid)] }?.setRelayed(isRelayed)
  }

  /// Pictures for one call, which has an encoder and a file of its own.
  func addPictures(to options: inout CallOptions, with uid: UInt32, in room: ChannelName) {
    guard video.isWanted else { return }
    options.maxVideoBitrate = video.maxBitrate
    options.fallback = video.fallback
    options.videoSource = makePictures()
    options.videoSink = makeScreen(uid, in: room)
  }

  /// The own pictures from their beginning, for one encoder; `nil` where there are none.
  func makePictures() -> (any VideoSource)? {
    do throws(MediaFileError) {
      return try video.picture.map { picture throws(MediaFileError) in
        try PlayedVideo(picture, isLooped: isLooped) {}
      }
    } catch {
      state.withLock { $0.fault = $0.fault ?? error.description }
      return nil
    }
  }

  /// Where one member's pictures go that come by one call, or by the relay.
  func makeScreen(_ uid: UInt32, in room: ChannelName) -> (any VideoSink)? {
    let number = state.withLock { state in
      state.pictures[Key(room: room, uid: uid), default: 0] += 1
      return state.pictures[Key(room: room, uid: uid)] ?? 1
    }
    let name = video.saveName(call: number).map { Self.name($0, uid, room) }
    do throws(MediaFileError) {
      return try VideoFileSink(name, overwrites: overwrites)
    } catch {
      state.withLock { $0.fault = $0.fault ?? error.description }
      return nil
    }
  }

  private static func name(_ text: String, _ uid: UInt32, _ room: ChannelName) -> String {
    text.replacing("{uid}", with: "\(uid)").replacing("{room}", with: room.shortText)
  }

  func finish() {
    mixer.finish()
    for voice in state.withLock({ Array($0.voices.values) }) { voice.finish() }
  }

  var fault: String? {
    source.fault ?? mixer.fault
      ?? state.withLock { state in
        state.fault ?? state.voices.values.lazy.compactMap(\.fault).first
      }
  }

  /// The mixer of one member's file; what is in the way of it is told at the end.
  private func own(_ key: Key, _ state: inout State) -> RoomMixer? {
    guard let each else { return nil }
    guard state.voices.count < Self.mostVoices else {
      state.fault =
        state.fault ?? "More than \(Self.mostVoices) members at once: the rest has no files."
      return nil
    }
    var path = Self.name(each, key.uid, key.room)
    if let piece = state.pieces[key] { path = SaveName.of(path, call: piece + 1) }
    do throws(MediaFileError) {
      return RoomMixer(
        try AudioFileSink(path, channelCount: 1, overwrites: overwrites), now: SystemClock.now)
    } catch {
      state.fault = state.fault ?? error.description
      return nil
    }
  }

  /// Four channels with as many hosts as a relay has.
  private static let mostVoices = 256
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
