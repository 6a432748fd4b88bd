internal import Peer
public import Primitives
internal import Wire

/// A seat at a relay, as the rendezvous has granted it.
public struct RelayGrant: Sendable, Equatable {
  let grant: ChannelRelayGrant

  init(_ grant: ChannelRelayGrant) { self.grant = grant }

  /// The relay's ID.
  public var relay: PeerID { grant.relay }
}

/// Why a relay gives a member no seat.
public enum RelayRefusal: String, Sendable, CaseIterable {
  /// It has as many members, channels or sessions as may be.
  case relayFull
  /// The grant of the rendezvous has ended; another one is asked for.
  case grantEnded
  /// The relay does not know the grant as one for it; another one is asked for.
  case grantForeign

  init(_ refusal: GrantRefusal) {
    switch refusal {
    case .full: self = .relayFull
    case .ended: self = .grantEnded
    case .foreign: self = .grantForeign
    }
  }
}

/// What a relay sends of others' pictures at the most: what the line from it to this member carries
/// is the reason.
public enum PictureFallback: String, Sendable, CaseIterable {
  /// The usual ones of one host or more.
  case usual
  /// Low streams alone.
  case lowStream
  /// None.
  case audioOnly

  init(_ view: ChannelLowFrame.View) {
    switch view {
    case .usual: self = .usual
    case .low: self = .lowStream
    case .audioOnly: self = .audioOnly
    }
  }
}

/// What happens between a member and the relay of its channel.
public enum ChannelRelayStep: Sendable, Equatable {
  /// The seat is taken.
  case connected
  /// Nothing comes from the relay, or nothing any more; it is being tried.
  case lost
  /// The relay gives no seat; it is being tried. Told once of each reason until there is a seat.
  case refused(RelayRefusal)
  /// A member has lost its seat, or has one again; in channels of up to 17 members.
  case seatChanged(uid: UInt32, isSeated: Bool)
  /// A host hands its key to other members than this endpoint sees: somebody shows the two of them
  /// different rosters. Its sound is played all the same; people compare `ChannelRelay.standing`.
  case rosterDiffers(uid: UInt32)
  /// A host is heard for the first time, or the first after 15 s without; so long after the
  /// `ChannelRelay` was made.
  case firstFrame(uid: UInt32, elapsed: Duration)
  /// A host is seen for the first time; so long after the `ChannelRelay` was made.
  case firstPicture(uid: UInt32, elapsed: Duration)
  /// What a call tells in the same words: of a host, or of this side where there is no uid. Streams
  /// and their states (`streamChanged`), first own frames (`firstFrameSent`,
  /// `firstVideoFrameSent`), pictures and their sizes (`firstLocalVideoFrame`,
  /// `localVideoSizeChanged`, `firstVideoFrameDecoded`, `remoteVideoSizeChanged`), how they are
  /// turned (`localVideoRotated`; `remoteVideoRotated` in channels of up to 17), the own source of
  /// pictures (`videoSourceEnded`), music and effects of this side (`audioMixingChanged`,
  /// `effectEnded`), music of a host and what it has switched off (`remoteAudioMixing`,
  /// `remoteAudioEnabled`, `remoteVideoEnabled`, `remoteAudioCaptureEnabled`,
  /// `remoteVideoCaptureEnabled`, in channels of up to 17).
  case progress(uid: UInt32?, CallProgress)
  /// The numbers of the seat so far, each 2 s.
  case statistics(RelayStatistics)
  /// The sound of a host has become bad, or good again, and why.
  case audioQualityChanged(uid: UInt32, AudioQualityChange)
  /// The seat is given up, by `ChannelRelay.stop` or `rest`, for another relay, or because the
  /// rendezvous forgot us: the numbers of all of it.
  case ended(RelayStatistics)
  /// From this picture on a host's low stream comes, or its usual one again.
  case pictureStreamChanged(uid: UInt32, isLow: Bool)
  /// The line from the relay carries less than the usual pictures, or they come again.
  case subscribeFallback(PictureFallback)
  /// A host keeps its sound back (`ChannelRelay.setAudioMuted`), or lets it go on. Told in channels
  /// of up to 17 members.
  case audioMuted(uid: UInt32, isMuted: Bool)
  /// A host's message to all (`ChannelRelay.send`): those of one stream of a host in their order.
  case message(uid: UInt32, stream: UInt8, [UInt8])
  /// Messages of a host have not come, and are not waited for any longer. Of those before the first
  /// that is heard of a stream nothing is told: they may be from before this member came.
  ///
  /// - Parameter cached: Whole messages in order that have waited for them, and come now.
  case messagesMissed(uid: UInt32, stream: UInt8, missed: Int, cached: Int)
  /// What has become of an own message, by what `ChannelRelay.send` has returned: the relay has all
  /// of it, and passes it on to whoever has a seat; or it is not known to. Who of them got it
  /// nobody tells.
  case messageDelivery(tag: UInt64, delivered: Bool)
  /// How loud this side, or the hosts, have been (`ChannelRelay.setVolumeIndication`).
  case volumes(VolumeReport)
  /// Another host speaks most, of two and more that are heard; while volumes are told.
  case activeSpeakerChanged(uid: UInt32)
  /// The line to the relay does not carry the own pictures, or does again: the direction is
  /// `publish`. Milliseconds count from when the `ChannelRelay` was made.
  case publishFallback(FallbackChange)
  /// A host shows no pictures at present, because its line does not carry them or it keeps them
  /// back (`ChannelRelay.setVideoMuted`); or some again.
  case picturesPaused(uid: UInt32, isPaused: Bool)
  /// Pictures cannot be coded or shown.
  case videoFailed(String)
  /// Audio cannot be coded or played.
  case audioFailed(String)
}

extension ChannelRelayStep {
  /// What is told as the machine of the seat says it; `nil` for what needs more than that.
  init?(_ event: ChannelRelayEvent) {
    switch event {
    case .connected: self = .connected
    case .lost: self = .lost
    case .seatChanged(let uid, let isSeated): self = .seatChanged(uid: uid, isSeated: isSeated)
    case .rosterDiffers(let uid): self = .rosterDiffers(uid: uid)
    case .audioMuted(let uid, let isMuted): self = .audioMuted(uid: uid, isMuted: isMuted)
    case .music(let uid, let isOn): self = .progress(uid: uid, .remoteAudioMixing(isOn))
    case .switched(let uid, let part, let isOn):
      guard let step = CallProgress(switched: part, isOn: isOn) else { return nil }
      self = .progress(uid: uid, step)
    case .message(let uid, let stream, let bytes):
      self = .message(uid: uid, stream: stream, bytes)
    case .messagesMissed(let uid, let stream, let missed, let cached):
      self = .messagesMissed(uid: uid, stream: stream, missed: missed, cached: cached)
    case .messageFinished(let tag, let isDelivered):
      self = .messageDelivery(tag: tag, delivered: isDelivered)
    case .pictureStreamChanged(let uid, let isLow):
      self = .pictureStreamChanged(uid: uid, isLow: isLow)
    case .pictureViewChanged(let view): self = .subscribeFallback(PictureFallback(view))
    case .picturesPaused(let uid, let isPaused):
      self = .picturesPaused(uid: uid, isPaused: isPaused)
    case .publishing, .grantNeeded, .refused, .audioArrived, .audioLeftOut, .firstFrame,
      .pictureArrived, .firstPicture, .publishFallback, .picturesTurned:
      return nil
    }
  }
}
