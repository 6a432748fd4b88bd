/// How loud one side, or the others, have been since the report before
/// (`Endpoint.setVolumeIndication`, `ChannelRelay.setVolumeIndication`).
public struct VolumeReport: Sendable, Equatable {
  /// Whether it is about this side; there is one such report each time while this side sends
  /// audio, and one of the others while somebody else does.
  public var isLocal: Bool
  /// The three loudest, the loudest first; one entry in the local report. Empty when nobody sends.
  public var speakers: [SpeakerVolume]
  /// Of all together, 0...255.
  public var totalVolume: Int

  package init(isLocal: Bool, speakers: [SpeakerVolume], totalVolume: Int) {
    self.isLocal = isLocal
    self.speakers = speakers
    self.totalVolume = totalVolume
  }
}

/// How loud one side of a call is, or a host that is heard by a relay.
public struct SpeakerVolume: Sendable, Equatable {
  /// Whose call it is; `nil` for this side, and by a relay.
  public var call: CallID?
  /// Who it is in a channel by a relay; `nil` for this side, and in calls.
  public var uid: UInt32?
  /// 0 (60 dB below full scale, or silent) ... 255 (a sine at full scale).
  public var volume: Int
  /// Whether it is a voice; always `true` for others.
  public var isVoice: Bool
  /// Pitch of the own voice in hertz, 60...500; 0 for others, and where there is none.
  public var pitchHz: Double

  package init(
    call: CallID?, uid: UInt32? = nil, volume: Int, isVoice: Bool, pitchHz: Double = 0
  ) {
    self.call = call
    self.uid = uid
    self.volume = volume
    self.isVoice = isVoice
    self.pitchHz = pitchHz
  }
}

/// How volumes are told (`Endpoint.setVolumeIndication`).
public struct VolumeIndication: Sendable, Equatable {
  /// From one report to the next, 10 ms to 10 s; 200 ms and more are advised.
  public var interval: Duration
  /// 0...10: how far reports are smoothed; 3 is advised.
  public var smoothing: Int
  /// Whether the pitch of the own voice is looked for.
  public var reportsPitch: Bool

  /// Each 200 ms, smoothed by 3.
  public init(
    interval: Duration = .milliseconds(200), smoothing: Int = 3, reportsPitch: Bool = false
  ) {
    self.interval = interval
    self.smoothing = smoothing
    self.reportsPitch = reportsPitch
  }

  /// What `interval` may be.
  public static let intervals = Duration.milliseconds(10)...Duration.seconds(10)
  /// What `smoothing` may be.
  public static let smoothings = 0...10
}
