internal import Peer

/// How an endpoint is set up. Everything has a default but the rendezvous.
public struct Configuration: Sendable {
  /// `HOST:PORT`, or `HOST:PORT#ID` to insist on that identity.
  public var rendezvous: String
  /// The identity file; `nil` means `$XDG_CONFIG_HOME/earshot/identity`. Made on first use, mode
  /// 0600.
  public var identityFile: String?
  /// The identity is made anew and, with whom it has met, lives in memory alone: no file is read or
  /// written, and `identityFile` counts for nothing.
  public var isEphemeral = false
  /// The name to be called by; `nil` for none.
  public var name: String?
  /// The access token to register with, where the rendezvous wants one; `Endpoint.renewToken`
  /// replaces it. `nil` for none.
  public var token: String?
  /// The local UDP address, `host:port`; port 0 lets the system choose. `[::]:0` unless set: every
  /// address of both families, or of IPv4 on a host without IPv6.
  public var bind: String
  /// When paths are checked for calls that come in.
  public var pathPolicy: PathPolicy
  /// What this program is there for. Several programs may have one identity at the same time; each
  /// that answers calls rings.
  public var presence: Presence
  /// Who may learn from the rendezvous that this program is online, and reach it. Everybody unless
  /// set.
  public var visibility = Visibility.everybody
  /// TURN servers (RFC 8656), at most 4, the preferred one first: where no direct path is found, a
  /// call goes by one. It sees who sends how much to whom, and nothing of what is said. Empty:
  /// those that the rendezvous names, if it does.
  public var relays: [RelayOptions] = []
  /// PEM file with the authorities that may have signed the certificate of a TURN server over TLS;
  /// `nil` for those of the system.
  public var relayAuthorities: String?
  /// Whether the host's router is asked to open a port for this endpoint (UPnP-IGD, NAT-PMP), so
  /// that peers behind strict translators reach it without a relay. The port is given back by
  /// `Endpoint.close`, and lapses after an hour if that never comes. Nothing is asked where the
  /// rendezvous is this host itself, or where the host's own address is a public one. `true` unless
  /// set.
  public var mapsPort = true
  /// Calls at once, 1...32, each with another peer; one more is answered "busy". They share the
  /// uplink by `CallOptions.uplinkWeight`. 1 unless set.
  public var maximumCalls: Int
  /// Whether the thread that sends and receives asks for real-time scheduling (`SCHED_FIFO`), as
  /// the thread of the sound does: on a busy host packets then leave when they are due. Where the
  /// system does not allow it (`RLIMIT_RTPRIO`, `CAP_SYS_NICE`) the thread is an ordinary one. It
  /// gives its core up when it uses more than half of it (`Endpoint.hasRealTimeScheduling`).
  public var usesRealTimeScheduling: Bool

  /// The differentiated services code point of all that is sent, 0...63 (RFC 2474): what a line may
  /// sort packets by. 0 unless set. What the other side sends has its own.
  public var dscp: UInt8 = 0

  /// Told in a line of each event, in their order, from the endpoint's own thread of execution: it
  /// must not wait. `nil`: the endpoint says nothing, and never writes to standard error.
  public var logHandler: (@Sendable (LogEntry) -> Void)?

  /// Whether it only examines what the rendezvous offers.
  var isExaminer = false

  /// Whether a program is called.
  public enum Presence: Sendable {
    /// It answers calls, and may make some.
    case answering
    /// It makes a call: it hears only of a call of the one that it calls itself, and is busy for
    /// others. Alone it cannot be reached.
    case calling
    /// It is not called: it probes the line.
    case guest
  }

  /// Who may learn that a program is online.
  public enum Visibility: Sendable {
    /// Whoever knows the ID or the name.
    case everybody
    /// Who is pinned, at most 512, and whom this program calls. For others it is as if it were not
    /// there. A rendezvous that cannot keep it so is left before it has told anybody
    /// (`versionMismatch`).
    case contacts
  }

  /// When a callee lets paths be checked.
  public enum PathPolicy: Sendable {
    /// While it rings: media flows one one-way delay after accept; the caller learns addresses.
    case prepareOnRinging
    /// After accept: nobody learns an address without consent; slower by about one round trip.
    case prepareOnAccept
    /// While it rings if the caller is pinned, or was called before; else after accept: a stranger
    /// learns no address without consent.
    case prepareForFamiliars
  }

  /// What `Endpoint.setStatisticsInterval` takes.
  public static let statisticsIntervals = Duration.milliseconds(200)...Duration.seconds(10)
  /// What `maximumCalls` may be.
  public static let callCounts = 1...32

  /// A configuration with the defaults.
  public init(rendezvous: String) {
    self.rendezvous = rendezvous
    bind = "[::]:0"
    pathPolicy = .prepareForFamiliars
    presence = .answering
    maximumCalls = 1
    usesRealTimeScheduling = true
  }
}

/// How one call is made or answered.
public struct CallOptions: Sendable {
  /// Where the own audio comes from; `nil` sends none: this side listens, and the other side is
  /// told that it is muted.
  public var source: (any AudioSource)?
  /// Where the other side's audio goes; `nil` drops it.
  public var sink: (any AudioSink)?
  /// Where what arrives is taken down for `CallReplay`; `nil` takes down nothing.
  public var arrivals: (any ArrivalSink)?
  /// Bits a second of Opus, 6 000...510 000; 32 000 is transparent for speech.
  public var bitrate: Int
  /// Audio in a packet: 10, 20, 40 or 60 ms.
  public var frameLength: Duration {
    get { .milliseconds(frameMilliseconds) }
    set { frameMilliseconds = newValue.wholeMilliseconds }
  }
  /// The same in milliseconds; 0 for what is not whole.
  package var frameMilliseconds: Int
  /// Whether packets carry copies of earlier frames while the other side reports loss.
  public var usesFEC: Bool
  /// Whether the other side is asked for frames that are missing and would still come in time.
  public var usesNACK: Bool
  /// Whether accepting a caller pins the name that the rendezvous confirms to its identity, or else
  /// the identity alone; and whether dialling an ID pins that. Say `false` where no person decides.
  public var remembersPeer = true
  /// Whether the own audio starts muted; the other side is told before anything is heard.
  public var startsMuted: Bool
  /// User data for the other side, JSON, at most 1024 bytes.
  public var userExtension: String?
  /// How long it may ring; `nil` without end. 15 s unless set.
  public var ringTimeout: Duration?
  /// Where the own video comes from; `nil` sends none.
  public var videoSource: (any VideoSource)?
  /// Where the other side's video goes; `nil` asks for none.
  public var videoSink: (any VideoSink)?
  /// Bits a second of video at the most, 30 000...20 000 000; 8 000 000 unless set. What is sent
  /// follows the line below that.
  public var maxVideoBitrate: Int
  /// What happens where the line does not hold video.
  public var fallback: VideoFallback
  /// What happens where the way here does not hold the other side's video; `nil` = as `fallback`
  /// says.
  public var subscribeFallback: SubscribeFallback?
  /// What the own pictures are made to fit into; `nil` = no limit but the line's.
  public var maxVideoSize: VideoSize?
  /// Own pictures a second at the most, 1...60; `nil` = as many as the source gives.
  public var maxVideoFrameRate: Int?
  /// What the other side may have in place of the usual pictures; `nil` = nothing.
  public var lowVideoStream: LowVideoStream?
  /// Which of the other side's pictures are to come.
  public var remoteVideoStream = VideoStreamKind.high
  /// Whether the own video starts muted.
  public var startsVideoMuted: Bool
  /// The call's part of the uplink against that of other calls of the same endpoint at the same
  /// time, 0.1...10: with 2 it gets twice what one with 1 gets, where both can use it. 1 unless
  /// set.
  public var uplinkWeight: Double
  /// What a probe found a moment ago that the way out carries, in bit/s: the call then need not
  /// find it again (`LineReport`).
  public var knownUplinkBitrate: Int?
  /// How long the call waits for the other side that is heard no more, where that side allows the
  /// same: the shorter of the two times holds, 20 minutes at the most. `nil`: the call ends after
  /// 20 s, as it does whenever the other side did not set it. Counted from the last sign of it.
  public var rejoin: Duration?
  /// Whether this side follows where the other one makes a channel of the call
  /// (`CallProgress.invitedToChannel`): the application then joins it, and makes and answers the
  /// calls of its members. `false` unless set: nobody is invited who would not come.
  public var followsChannels = false

  /// Whether a relay may leave out the other side's sound, and says so only then.
  var mayBeLeftOut = false

  /// What happens where the line does not hold audio and video.
  public enum VideoFallback: String, Sendable, CaseIterable {
    /// Video gives way, and returns when it fits again.
    case audioOnly
    /// Video goes on as badly as it must; the audio comes first all the same.
    case disabled
  }

  /// What gives way where the way here does not hold the other side's video.
  public enum SubscribeFallback: String, Sendable, CaseIterable {
    /// Low pictures where the other side offers them, then none; they return when they fit again.
    case audioOnly
    /// Low pictures where the other side offers them, and nothing else.
    case lowStream
    /// Nothing; the audio comes first all the same.
    case disabled
  }

  /// What a volume may be, in per cent.
  public static let volumes = 0...400
  /// What `uplinkWeight` may be.
  public static let uplinkWeights = 0.1...10
  /// What `rejoin` may be.
  public static let rejoins = Duration.seconds(20)...Duration.seconds(1200)
  /// What `maxVideoBitrate` may be.
  public static let videoBitrates = 30_000...20_000_000

  /// Audio of 32 kbit/s in 20 ms packets with FEC.
  public init(source: (any AudioSource)? = nil, sink: (any AudioSink)? = nil) {
    self.source = source
    self.sink = sink
    bitrate = 32_000
    frameMilliseconds = 20
    usesFEC = true
    usesNACK = true
    startsMuted = false
    ringTimeout = .seconds(15)
    maxVideoBitrate = VideoSettings.usualMost
    fallback = .audioOnly
    startsVideoMuted = false
    uplinkWeight = 1
  }

  /// What the streams of the call begin with.
  var streams: CallStreams.Beginning {
    CallStreams.Beginning(
      hasAudioSource: source != nil, isAudioMuted: startsMuted, hasVideoSource: videoSource != nil,
      isVideoMuted: startsVideoMuted, hasVideoSink: videoSink != nil)
  }

  /// Whether audio goes out from the beginning.
  var sendsAudio: Bool { source != nil && !startsMuted }
}
