internal import Audio
internal import Calling
internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// What an endpoint keeps of one call besides what `PeerMachine` knows: the application's choices,
/// the audio, and what the report will need. Belongs to the endpoint's actor.
final class CallRecord {
  let role: CallRole
  /// The name that this side calls with.
  var ownName: String?
  /// Events of a call that the application has not been told of; `nil` once it was.
  var heldBack: [EndpointEvent]?
  /// What was dialled, or the name on the caller's card.
  var peerName: String?
  var peer: PeerID?
  /// The peer's, when it is known.
  var card: [UInt8] = []
  var trust = Trust.new
  /// The rendezvous says that the caller has the name.
  var isNameConfirmed = false
  /// Of a caller that is known by its ID alone: a name that the rendezvous confirms.
  var newName: String?
  var options: CallOptions
  var audio: CallAudio?
  /// The loop's watch over what the audio's thread has encoded, until the audio ends.
  var audioWatch: EventLoop.Token?
  var video: CallVideo?
  /// The same watch over what the video's threads have put down.
  var videoWatch: EventLoop.Token?
  /// Memory that goes round between the loop and the video's threads.
  var videoBytes: [UInt8] = []
  /// What the application has switched.
  var switches = MediaSwitches()
  /// What the other side has said of itself.
  var news = RemoteNews()
  /// Messages of the application.
  var data = DataStreams()
  /// What state each stream is in.
  var streams: CallStreams
  /// In per cent, of what is captured and of what is heard.
  var volumes = (capture: 100, playback: 100)
  var mixing = MixingDesk()
  var told = Told()
  var network = NetworkHistory()
  var grader = CallGrader()
  var fallbacks: [FallbackChange] = []
  static let mostFallbacks = 1000
  var userExtension: String?
  /// The invitation that came in offers video.
  var offersVideo = false
  /// The zero point, for numbers read while the call runs.
  let began: Instant
  var isOver = false

  /// What was told already.
  struct Told {
    /// Where the call stands.
    var state = CallState.calling
    var mediaStart = false
    /// When the other side's first picture was shown, in milliseconds since the zero point.
    var firstPicture: Int?
    /// When the numbers were told last.
    var numbers = ToldNumbers()
    /// Requests for key frames that a capture has: the other side's, and the own.
    var keyFrameRequests = (theirs: 0, own: 0)
  }

  init(
    _ role: CallRole, _ options: CallOptions, target: String?, began: Instant = SystemClock.now
  ) {
    self.role = role
    self.options = options
    switches = MediaSwitches(options)
    peerName = target.flatMap { PeerID($0) == nil ? $0 : nil }
    peer = target.flatMap { PeerID($0) }
    self.began = began
    streams = CallStreams(now: began)
  }

  /// The call is made or answered with these.
  func applyOptions(_ options: CallOptions) {
    self.options = options
    switches = MediaSwitches(options)
  }

  /// Media time of the own audio now, in nanoseconds; `nil` while none is sent.
  var sentMediaTime: Int64? {
    guard let clock = audio?.rings.sentClock, clock.lastNote != nil, options.sendsAudio else {
      return nil
    }
    return clock.nanoseconds(at: SystemClock.now)
  }

  /// What the name rests on; a name that was dialled was looked up. `nil` without a name.
  var nameTrust: NameTrust? {
    guard peerName != nil else { return nil }
    if trust == .pinned || trust == .verified { return .known }
    return role == .caller || isNameConfirmed ? .rendezvous : .claimed
  }

  /// Whom it is for, in a word.
  var calledName: String { peerName ?? peer?.description ?? "the peer" }

  /// `nil` while nobody is known.
  var publicPeer: CallPeer? {
    peer.map {
      CallPeer(
        id: $0, name: peerName, trust: trust, nameTrust: nameTrust, cardName: cardName,
        userExtension: userExtension)
    }
  }

  /// What the card of whoever was dialled by ID calls it.
  private var cardName: String? {
    guard role == .caller, peerName == nil, !card.isEmpty else { return nil }
    do throws(WireError) {
      return try ContactCard(parsing: card).content.name?.description
    } catch {
      return nil  // Nobody is named by what is no card.
    }
  }
}

/// A call's audio: the pipeline on its own thread, and the rings between that thread and the loop.
final class CallAudio: Sendable {
  let rings: AudioRings
  private let pipeline: Guarded<AudioPipeline>
  private let worker: MediaWorker
  let bitrate: Int

  /// Begins at once: the first tick is due now.
  init(_ options: CallOptions, wake: LoopWake) throws(EarshotError) {
    rings = AudioRings(wake: wake)
    bitrate = options.bitrate
    let sourceChannels = options.source?.channelCount ?? 1
    // Two channels need about half as many bits again as one; below that mono sounds better.
    let channels = sourceChannels == 2 && options.bitrate >= Self.leastStereoBitrate ? 2 : 1
    do {
      let made = try AudioPipeline.make(options, channels: channels, rings: rings)
      let guarded = Guarded(made)
      pipeline = guarded
      worker = try MediaWorker(Self.visits) { tick, ahead in
        let visit = guarded.withLock { $0.visit(now: tick.now, due: tick.due) }
        // What was encoded leaves from here where the loop sleeps.
        if visit.hasToWake { wake.run() }
        ahead = visit.ticksAhead
      }
    } catch {
      throw .systemFailure("starting the audio", detail: "\(error)")
    }
  }

  func setVolume(capture: Int? = nil, playback: Int? = nil) {
    pipeline.withLock { $0.setVolume(capture: capture, playback: playback) }
  }
  /// - Returns: why not, where libopus refuses.
  func setEncoding(bitsPerSecond: Int, frameLength: FrameLength) -> OpusError? {
    pipeline.withLock { pipeline in
      do throws(OpusError) {
        try pipeline.setEncoding(bitsPerSecond: bitsPerSecond, frameLength: frameLength)
        return nil
      } catch {
        return error
      }
    }
  }
  func setPitch(wanted: Bool) { pipeline.withLock { $0.setPitch(wanted: wanted) } }
  var sums: SoundSums { pipeline.withLock { $0.sums } }
  func mix<Result: Sendable>(_ body: @Sendable (inout AudioMixer) -> Result) -> Result {
    pipeline.withLock { $0.mix(body) }
  }
  func setMuted(_ isMuted: Bool) { pipeline.withLock { $0.isMuted = isMuted } }
  func setUnwanted(_ isUnwanted: Bool) { pipeline.withLock { $0.isUnwanted = isUnwanted } }
  func setRemoteMuted(_ isMuted: Bool) { pipeline.withLock { $0.isRemoteMuted = isMuted } }

  var statistics: AudioNumbers { pipeline.withLock { $0.statistics } }

  /// That what is heard has become bad, or good again; once each.
  func takeQualityChange() -> AudioQualityChange? {
    rings.qualityChange.withLock { $0.take() }.map {
      AudioQualityChange($0, jitterMs: Double(statistics.playout.jitterNanoseconds) / 1e6)
    }
  }

  /// Ends the thread and finishes the sinks, which get nothing after that. Harmless when repeated.
  func stop() {
    worker.stop()
    worker.join()
    pipeline.withLock { $0.finish() }
  }

  private static let leastStereoBitrate = 48_000

  /// What comes is heard from the next visit on: each 10 ms would cost 2.5 ms of delay on average
  /// (decisions 0020 and 0030).
  private static var visits: MediaWorker.Options {
    var options = MediaWorker.Options()
    options.period = AudioPipeline.tickLength
    options.catchUpLimit = 20
    return options
  }
}
