internal import Earshot
internal import MediaFiles
internal import Reactor
internal import Synchronization

/// The sound of a stay in channels as files: what is played, the mix of all who are heard, and a
/// file for each of them where that is wanted.
package final class RoomSound: Sendable {
  private struct Key: Hashable {
    let room: ChannelName
    let uid: UInt32
  }

  private struct State {
    /// Files of members that are open.
    var openFiles = 0
    /// Files that a member had.
    var pieces: [Key: Int] = [:]
    /// Calls with pictures, by their members: their files are counted.
    var pictures: [Key: Int] = [:]
    var fault: String?
  }

  let source: SharedAudioSource
  let mix: ChannelMix
  private let played: PlayedSource
  private let saved: AudioFileSink
  /// A file name with `{uid}` in it; `nil` = none are saved.
  private let each: String?
  private let video: VideoOptions
  private let isLooped: Bool
  private let overwrites: Bool
  private let state = Mutex(State())

  init(_ command: JoinCommand) throws(MediaFileError) {
    played = try PlayedSource(command.play, isLooped: command.isLooped) {}
    source = SharedAudioSource(played)
    each = command.saveEach
    video = command.video
    isLooped = command.isLooped
    overwrites = command.online.overwrites
    // What is in the way of a member's file is told before anybody is heard.
    let rooms = [command.room] + command.also.map(\.room)
    for pattern in [each, video.saveName(call: 1)].compactMap({ $0 }) {
      // Which folders members have is not known yet.
      if pattern.split(separator: "/").dropLast().contains(where: { $0.contains("{uid}") }) {
        continue
      }
      for room in rooms {
        _ = try PendingFile.open(Self.name(pattern, 0, room), overwrites: true)
      }
    }
    saved = try AudioFileSink(command.save, channelCount: 1, overwrites: overwrites)
    mix = ChannelMix(saved, hold: Self.hold)
  }

  /// What is played, in dB below full scale.
  var playedLevel: Double { played.meter.decibels }

  /// What a channel is given: `command` says by which way, and at which rates.
  func options(
    for command: JoinCommand, in room: ChannelName,
    onStep: @escaping @Sendable (ChannelMediaStep) -> Void
  ) -> ChannelMedia.Options {
    var options = ChannelMedia.Options(source: source, mix: mix, onStep: onStep)
    if each != nil { options.makeSink = { self.makeFile($0, in: room) } }
    options.sinkHold = Self.hold
    options.way = command.way
    options.startsMuted = command.startsMuted
    options.bitrate = command.bitrate
    options.loudest = command.loudest
    options.maxVideoBitrate = video.maxBitrate
    options.fallback = video.fallback
    if video.picture != nil { options.makeVideoSource = { self.makePictures() } }
    if video.isWanted { options.makeVideoSink = { self.makeScreen($0, in: room) } }
    options.wantsVideoByRelay = video.save != nil
    return options
  }

  /// The own pictures from their beginning, for one encoder; `nil` where there are none.
  private func makePictures() -> (any VideoSource)? {
    do throws(MediaFileError) {
      return try video.picture.map { picture throws(MediaFileError) in
        try PlayedVideo(picture, isLooped: isLooped) {}
      }
    } catch {
      remember(error.description)
      return nil
    }
  }

  /// Where one member's pictures go that come by one call, or by the relay.
  private func makeScreen(_ uid: UInt32, in room: ChannelName) -> (any VideoSink)? {
    let number = state.withLock { state in
      state.pictures[Key(room: room, uid: uid), default: 0] += 1
      return state.pictures[Key(room: room, uid: uid)] ?? 1
    }
    let name = video.saveName(call: number).map { Self.name($0, uid, room) }
    do throws(MediaFileError) {
      return try VideoFileSink(name, overwrites: overwrites)
    } catch {
      remember(error.description)
      return nil
    }
  }

  private static func name(_ text: String, _ uid: UInt32, _ room: ChannelName) -> String {
    text.replacing("{uid}", with: "\(uid)").replacing("{room}", with: room.shortText)
  }

  func finish() { mix.finish() }

  var fault: String? { played.fault ?? saved.fault ?? state.withLock { $0.fault } }

  /// One member's file; what is in the way of it is told at the end.
  private func makeFile(_ uid: UInt32, in room: ChannelName) -> (any AudioSink)? {
    guard let each else { return nil }
    let key = Key(room: room, uid: uid)
    let piece = state.withLock { state -> Int? in
      guard state.openFiles < Self.mostFiles else { return nil }
      state.openFiles += 1
      state.pieces[key, default: 0] += 1
      return state.pieces[key]
    }
    guard let piece else {
      remember("More than \(Self.mostFiles) members at once: the rest has no files.")
      return nil
    }
    let path = Self.name(each, uid, room)
    do throws(MediaFileError) {
      let file = try AudioFileSink(
        piece > 1 ? SaveName.of(path, call: piece) : path, channelCount: 1, overwrites: overwrites)
      return MemberSink(file) { self.close(file) }
    } catch {
      remember(error.description)
      return nil
    }
  }

  private func close(_ file: AudioFileSink) {
    state.withLock { state in
      state.openFiles -= 1
      state.fault = state.fault ?? file.fault
    }
  }

  private func remember(_ fault: String) { state.withLock { $0.fault = $0.fault ?? fault } }

  /// Four channels with as many hosts as a relay has.
  private static let mostFiles = 256
  /// A file need not be heard at once.
  private static let hold = Duration.milliseconds(300)
}

/// One member's file, which tells when it is finished.
private final class MemberSink: AudioSink {
  let channelCount = 1
  private let file: AudioFileSink
  private let onFinish: @Sendable () -> Void

  init(_ file: AudioFileSink, onFinish: @escaping @Sendable () -> Void) {
    self.file = file
    self.onFinish = onFinish
  }

  func write(_ samples: borrowing [Int16], frameCount: Int) {
    file.write(samples, frameCount: frameCount)
  }

  func finish() {
    file.finish()
    onFinish()
  }
}
