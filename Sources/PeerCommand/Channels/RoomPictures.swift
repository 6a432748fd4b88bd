internal import Earshot
internal import Glibc
internal import MediaFiles
internal import Synchronization

/// The pictures of further members of a call's channel: for each call with one an encoder and a
/// file of its own, as in any channel of a mesh. The own pictures begin at their beginning. The
/// calls share the line.
///
/// A file has its number when its first picture is there: members call before the other one knows
/// of the channel, or both at once, and calls that came to nothing have no number.
final class RoomPictures: Sendable {
  private struct State {
    var sources: [PlayedVideo] = []
    var sinks: [VideoFileSink] = []
    /// Files of members so far.
    var count = 0
    var files: [CallID: MemberFile] = [:]
    /// Of sinks whose call has not begun yet.
    var waiting: [ObjectIdentifier: MemberFile] = [:]
    var fault: String?

    /// For their faults. Calls of members that come and go have no end: the oldest are forgotten.
    mutating func keep(_ source: PlayedVideo?, _ sink: VideoFileSink) {
      sinks.append(sink)
      if let source { sources.append(source) }
      if sinks.count > RoomPictures.mostKept { sinks.removeFirst() }
      if sources.count > RoomPictures.mostKept { sources.removeFirst() }
    }
  }

  private let video: VideoOptions
  private let isLooped: Bool
  /// The name of the first call's file.
  private let saveName: String?
  private let overwrites: Bool
  private let state = Mutex(State())

  init(_ sound: SoundOptions, saveName: String?, overwrites: Bool) {
    video = sound.video
    isLooped = sound.isLooped
    self.saveName = saveName
    self.overwrites = overwrites
  }

  /// What a call with a further member has: the same sound, and pictures of its own.
  func callOptions(_ sound: SoundOptions, _ ends: OpenedSound) -> CallOptions {
    var options = sound.callOptions(ends)
    options.arrivals = nil
    let file = add(to: &options)
    guard let file, let sink = options.videoSink else { return options }
    state.withLock { state in
      if state.waiting.count < Self.mostKept { state.waiting[ObjectIdentifier(sink)] = file }
    }
    return options
  }

  /// - Returns: The file that gets what is seen; `nil` where nothing is saved.
  func add(to options: inout CallOptions) -> MemberFile? {
    options.videoSource = nil
    options.videoSink = nil
    guard video.isWanted else { return nil }
    let file = saveName.map { name in MemberFile { self.nextName(name) } }
    do throws(MediaFileError) {
      let source = try picture.map { picture throws(MediaFileError) in
        try PlayedVideo(picture, isLooped: isLooped) {}
      }
      let sink =
        if let file { VideoFileSink(overwrites: overwrites) { file.name } } else {
          try VideoFileSink(nil)
        }
      options.videoSource = source
      options.videoSink = sink
      state.withLock { $0.keep(source, sink) }
      return file
    } catch {
      state.withLock { $0.fault = $0.fault ?? error.description }
      return nil
    }
  }

  /// The file of a call, for its member to be known by.
  func assign(_ file: MemberFile?, to call: CallID) {
    guard let file else { return }
    state.withLock { state in
      if state.files.count < Self.mostKept { state.files[call] = file }
    }
  }

  /// A call has begun with what `callOptions` gave.
  func assign(_ options: CallOptions, to call: CallID) {
    guard let sink = options.videoSink else { return }
    assign(state.withLock { $0.waiting.removeValue(forKey: ObjectIdentifier(sink)) }, to: call)
  }

  /// The call goes on as another one.
  func replace(_ call: CallID, by new: CallID) {
    state.withLock { state in
      if let file = state.files.removeValue(forKey: call) { state.files[new] = file }
    }
  }

  func handleEnd(of call: CallID) {
    _ = state.withLock { $0.files.removeValue(forKey: call) }
  }

  /// The file of a call that has pictures.
  func saveName(of call: CallID) -> String? {
    let file = state.withLock { $0.files[call] }
    return file?.name
  }

  var fault: String? {
    // A sink that gets its first picture asks for its name meanwhile.
    let (fault, sources, sinks) = state.withLock { ($0.fault, $0.sources, $0.sinks) }
    return fault ?? sources.lazy.compactMap(\.fault).first ?? sinks.lazy.compactMap(\.fault).first
  }

  /// Standard input can be read once, for the first call.
  private var picture: VideoOptions.Picture? {
    video.picture == .file("-") ? nil : video.picture
  }

  /// `NAME-member-2.ivf` of the second call with a further member; none that is somebody's already.
  private func nextName(_ name: String) -> String {
    state.withLock { state in
      for _ in 0..<Self.mostTaken {
        state.count += 1
        let next = SaveName.of(name, member: state.count)
        let isTaken = unsafe access(next, F_OK) == 0
        if overwrites || !isTaken { return next }
      }
      return SaveName.of(name, member: state.count)
    }
  }

  /// Files of that name that are passed over; then the error says that it is there.
  private static let mostTaken = 1000

  /// A channel that was a call has 8 members at a time.
  private static let mostKept = 64
}

/// The file of a call's pictures, which is named when it is asked for first.
final class MemberFile: Sendable {
  private let number: @Sendable () -> String
  private let known = Mutex<String?>(nil)

  init(_ number: @escaping @Sendable () -> String) { self.number = number }

  var name: String {
    known.withLock { known in
      let name = known ?? number()
      known = name
      return name
    }
  }
}
