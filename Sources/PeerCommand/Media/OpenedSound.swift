internal import Earshot
package import MediaFiles
internal import Reactor

/// The two ends of a call's sound, and of its picture where it has one, open.
package struct OpenedSound: Sendable {
  package let source: PlayedSource
  package let sink: AudioFileSink
  /// The same for several calls at once: each hears all of the source, and all are saved as one.
  let sharedSource: SharedAudioSource
  let sharedSink: SharedSink
  /// What arrives is taken down here; `nil` without `--capture`.
  package let arrivals: ArrivalFile?
  /// The file that is written; `nil` when nothing is saved.
  package let saveName: String?
  /// `nil` for a call without video.
  package let video: OpenedVideo?
  private let end: SourceEnd

  /// Opens both for call `number`, 1 upwards.
  ///
  /// - Parameters:
  ///   - input: What `--play -` reads.
  ///   - overwrites: Whether what is saved may replace files that are there.
  package init(
    _ options: SoundOptions, call number: Int, input: SoundInputPipe? = nil,
    overwrites: Bool = false
  ) throws(MediaFileError) {
    let end = SourceEnd()
    self.end = end
    source = try PlayedSource(
      options.play, pipe: input, isLooped: options.isLooped
    ) { end.report() }
    do throws(ReactorError) {
      arrivals = try options.captureName(call: number).map { path throws(ReactorError) in
        try ArrivalFile(path, overwrites: overwrites)
      }
    } catch {
      throw MediaFileError.cannotCreate(error.subject, errorNumber: error.errno)
    }
    saveName = options.saveName(call: number)
    // Two channels are heard where two are sent: nobody knows what the other side sends.
    // Whoever reads standard output knows one format.
    let isStereo =
      source.channelCount == 2 && options.bitrate >= 48_000 && !options.savesToOutput
    sink = try AudioFileSink(saveName, channelCount: isStereo ? 2 : 1, overwrites: overwrites)
    sharedSource = SharedAudioSource(source)
    sharedSink = SharedSink(sink)
    guard options.video.isWanted else {
      video = nil
      return
    }
    // A file of pictures ends the call where no file of sound does: the test tone has no end.
    let endsCall = options.play == nil
    video = try OpenedVideo(
      options.video, isLooped: options.isLooped,
      saveName: options.video.saveName(call: number), overwrites: overwrites
    ) {
      if endsCall { end.report() }
    }
  }

  /// From here on the end of the source is told.
  package func connect(to inbox: Inbox) { end.connect(to: inbox.feed) }
}
