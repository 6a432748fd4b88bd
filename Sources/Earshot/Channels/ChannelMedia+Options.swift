extension ChannelMedia {
  /// Members that calls of each with each are for, without a relay.
  public static let mostWithoutRelay = 17

  /// By which way the audio of a channel goes (docs/protocol/channels.md §9).
  public enum Way: String, Sendable, CaseIterable {
    /// By calls of each with each up to 4 hosts and 8 members, by a relay beyond, and back once the
    /// channel is smaller for 10 s.
    case auto
    /// By calls alone.
    case mesh
    /// By a relay; calls are made only while it is lost. Where the rendezvous knows of none at the
    /// beginning, it is over (`ChannelMediaEnd.noRelay`).
    case relay
    /// By the relay or not at all: no member learns the own addresses. While there is no relay it
    /// is waited for (`ChannelStep.relayUnavailable`). Set
    /// `Configuration.pathPolicy` to `prepareOnAccept` with it: calls that ring tell none then.
    case relayOnly

    var isByRelay: Bool { self == .relay || self == .relayOnly }
  }

  /// What is sent, and where what comes goes.
  public struct Options: Sendable {
    /// What a host says; `nil` = nothing. One source may be that of several channels.
    public var source: SharedAudioSource?
    /// All who are heard, as one sound; `nil` = none is made. Several channels may share it. Its
    /// owner finishes it.
    public var mix: ChannelMix?
    /// A sink for one member alone, by its uid; `nil` = none. Made when the first way to the member
    /// is, and again for whoever comes back after 256 others. Finished by `leave`.
    public var makeSink: (@Sendable (UInt32) -> (any AudioSink)?)?
    /// How long a sample waits for those before it on its way to a sink of one member, 0...400 ms.
    public var sinkHold = Duration.milliseconds(60)
    /// The own pictures, made for each call and for the relay; `nil` = none.
    public var makeVideoSource: (@Sendable () -> (any VideoSource)?)?
    /// What shows a member's pictures, by its uid, made for each call and for the relay; `nil` =
    /// none are wanted.
    public var makeVideoSink: (@Sendable (UInt32) -> (any VideoSink)?)?
    /// Whether pictures are wanted by a relay too, where those of all hosts come by one line.
    public var wantsVideoByRelay = true
    /// Bits a second of the own pictures to one member, or to the relay, at the most;
    /// 30 000...20 000 000.
    public var maxVideoBitrate = 2_500_000
    /// What happens where a way does not hold pictures.
    public var fallback = CallOptions.VideoFallback.audioOnly
    /// Bits a second of Opus, 6 000...510 000, by each way.
    public var bitrate = 32_000
    /// Of more hosts who speak at once a relay passes on as many of the loudest, 1...64; `nil` = as
    /// many as it thinks good, usually 3. By calls all are heard.
    public var loudest: Int?
    /// Which way is used.
    public var way = Way.auto
    /// Whether the own sound is kept back at first (`setAudioMuted`).
    public var startsMuted = false
    /// Told on the endpoint's loop; must return at once.
    public var onStep: @Sendable (ChannelMediaStep) -> Void

    /// What is not set here may be set after.
    public init(
      source: SharedAudioSource? = nil, mix: ChannelMix? = nil,
      onStep: @escaping @Sendable (ChannelMediaStep) -> Void = { _ in }
    ) {
      self.source = source
      self.mix = mix
      self.onStep = onStep
    }
  }
}

extension ChannelMedia.Options {
  /// What a call with a member is made of.
  func call(_ voices: ChannelVoices, with uid: UInt32) -> CallOptions {
    var settings = CallOptions(source: source?.makeEar(), sink: voices.makeSink(uid, by: .mesh))
    settings.bitrate = bitrate
    settings.maxVideoBitrate = maxVideoBitrate
    settings.fallback = fallback
    settings.videoSource = makeVideoSource?()
    settings.videoSink = makeVideoSink?(uid)
    settings.remembersPeer = false
    return settings
  }

  /// What the part of the relay is made of.
  func relayed(
    _ voices: ChannelVoices, _ onStep: @escaping @Sendable (ChannelRelayStep) -> Void
  ) -> ChannelRelay.Options {
    var settings = ChannelRelay.Options(
      makeSource: nil, makeSink: { voices.makeSink($0, by: .relay) }, onStep: onStep)
    if let source { settings.makeSource = { source.makeEar() } }
    settings.bitrate = bitrate
    settings.loudest = loudest
    settings.maxVideoBitrate = maxVideoBitrate
    settings.fallback = fallback
    settings.makeVideoSource = makeVideoSource
    if wantsVideoByRelay { settings.makeVideoSink = makeVideoSink }
    return settings
  }
}
