/// What an endpoint tells its owner: everything, once, in order (`Endpoint.events()`).
public enum EndpointEvent: Sendable {
  /// Contact with the rendezvous changed; a call that runs is never touched by it.
  case registrationChanged(RegistrationState)
  /// The access token ends in so long: hand a newer one to `Endpoint.renewToken`, or the
  /// registration ends with it. Told once of each token, 30 s before, or at once if less is left.
  case tokenWillExpire(in: Duration)
  /// The rendezvous has accepted a newer access token; nothing was interrupted.
  case tokenRenewed
  /// It did not; the token before holds until its end.
  case tokenRefused(EarshotError)
  /// There is a relay now, or none (`Configuration.relays`).
  case relayChanged(RelayState)
  /// The host's router lets peers in at a port of its own, or no longer does
  /// (`Configuration.mapsPort`). Not told where no router answers.
  case portMappingChanged(PortMappingState)
  /// This host sends over another network, from another address, or from none. Calls go on by
  /// themselves (`CallProgress.pathChanged`).
  case networkChanged(NetworkState)
  /// Somebody calls; answer with `Endpoint.call(_:)` and `Call.accept` or `Call.reject`.
  case incomingCall(IncomingCall)
  /// A call moved to another state, for the reason given.
  case callStateChanged(CallID, CallState, CallStateReason)
  /// A step within a state.
  case callProgress(CallID, CallProgress)
  /// The numbers of a call so far, each 2 s: totals and means since its beginning; the grades and
  /// what names a window are of the last 2 s.
  case statistics(CallID, CallStatistics)
  /// Received audio has become bad, or good again, and why.
  case audioQualityChanged(CallID, AudioQualityChange)
  /// How loud this side is, or the others are (`Endpoint.setVolumeIndication`).
  case volumes(VolumeReport)
  /// Somebody else than before speaks most, of two calls and more; looked at each second while
  /// volumes are told.
  case activeSpeakerChanged(CallID)
  /// Something is not as it should be, and goes on by itself; stands after the event that it is
  /// made of.
  case warning(EndpointWarning)
  /// A command of the application was carried out, or refused (`Endpoint.setTracing`).
  case commandDone(CommandTrace)
  /// Something happened in a channel (`Endpoint.join`).
  case channel(ChannelName, ChannelStep)
  /// A call is over: the last event of that call.
  case callEnded(CallID, CallReport)
}

/// Contact with the rendezvous.
public enum RegistrationState: Sendable, Equatable {
  /// The first handshake is under way.
  case connecting
  /// Registered: others can call by ID, and by name if `name` says so.
  case registered(seenAs: SocketAddress, name: NameStatus)
  /// There is no contact; attempts go on by themselves, for as long as the endpoint is open. The
  /// error says why the last attempt came to nothing: `rendezvousUnreachable`,
  /// `rendezvousNotUnderstood`, or `tokenRefused` of an access token whose time has not begun;
  /// `nil` before one has.
  case reconnecting(EarshotError?)
  /// Final: no attempt is made any more, as none could succeed before the user or the operator
  /// changes something (`identityChanged`, `versionMismatch`, `notAllowed`, `replacedElsewhere`).
  /// After `tokenNeeded`, `tokenRefused` and `tokenExpired` a newer token begins the attempts again
  /// (`Endpoint.renewToken`).
  case failed(EarshotError)

  /// What became of the name that was asked for.
  public enum NameStatus: String, Sendable, Equatable {
    /// No name was asked for.
    case none
    /// The name is ours, for good.
    case granted
    /// Another identity has the name.
    case taken
    /// The name is not one: 1..63 of `A-Z a-z 0-9 . _ -`.
    case malformed
    /// The identity, this address or the rendezvous has as many names as it may.
    case noMore
  }
}

/// One call, the same 16 bytes on both sides; shown as a UUID (RFC 9562).
public struct CallID: Hashable, Sendable, CustomStringConvertible {
  package let bytes: [UInt8]

  package init(bytes: [UInt8]) { self.bytes = bytes }

  /// The UUID, in lower case.
  public var description: String {
    let hex = bytes.map { byte in
      let text = String(byte, radix: 16)
      return text.utf8.count == 1 ? "0" + text : text
    }
    return [hex[0..<4], hex[4..<6], hex[6..<8], hex[8..<10], hex[10..<16]]
      .map { $0.joined() }.joined(separator: "-")
  }
}

/// An invitation that waits for an answer.
public struct IncomingCall: Sendable {
  /// The call.
  public let id: CallID
  /// Who calls: proven, for as long as the call is not accepted only by its static key.
  public let peer: PeerID
  /// The name on the caller's card, if it has one; what it claims, not what is proven. Who is known
  /// has the name that it is pinned by, if there is one, and no other.
  public let name: String?
  /// What this host knew about the caller before.
  public let trust: Trust
  /// What the name rests on; `nil` without a name.
  public let nameTrust: NameTrust?
  /// Of a caller that is known by its ID alone: the name that the rendezvous has given to it, which
  /// accepting pins, unless the caller was verified.
  public let newName: String?
  /// The caller's user data, JSON as it was sent.
  public let userExtension: String?
  /// Whether the caller offers video: it sends video, or shows it if this side sends some.
  public let offersVideo: Bool
}

/// The other side of a call (`CallProgress.answered`, `Call.peer`).
public struct CallPeer: Sendable, Equatable {
  /// Its identity, proven by the handshake of the call.
  public var id: PeerID
  /// The name that was dialled, or the one on the caller's card: what it claims.
  public var name: String?
  /// What this host knew about it before.
  public var trust: Trust
  /// What the name rests on; `nil` without a name.
  public var nameTrust: NameTrust?
  /// The name on the card of whoever was dialled by ID: what it claims. `nil` where there is
  /// `name`.
  public var cardName: String?
  /// Its user data, JSON as it was sent.
  public var userExtension: String?

  package init(
    id: PeerID, name: String?, trust: Trust, nameTrust: NameTrust? = nil, cardName: String? = nil,
    userExtension: String?
  ) {
    self.id = id
    self.name = name
    self.trust = trust
    self.nameTrust = nameTrust
    self.cardName = cardName
    self.userExtension = userExtension
  }
}

/// How far an identity is known (docs/protocol/README.md §3).
public enum Trust: String, Sendable, Equatable {
  /// Its card was imported, or its short code compared.
  case verified
  /// The same identity as the first time.
  case pinned
  /// Not known: what the name is worth says `NameTrust`. Dialling pins it, and so does accepting:
  /// with the name, if the rendezvous confirms it.
  case new
  /// The name belongs to another identity than before: the call is blocked.
  case changed
}

/// What a name of the other side rests on.
public enum NameTrust: String, Sendable, Equatable {
  /// The caller says so; anybody can.
  case claimed
  /// The rendezvous has given the name to that identity: as good as the rendezvous is.
  case rendezvous
  /// The name is pinned to that identity on this host.
  case known
}

/// Where a call stands. Caller and callee go through the same states.
public enum CallState: String, Sendable, Equatable {
  /// Invited, ringing.
  case calling
  /// Accepted; the path and the first frame are awaited.
  case connecting
  /// Both hear each other.
  case connected
  /// Over.
  case ended
}

/// Why a call moved to its state.
public enum CallStateReason: String, Sendable, Equatable {
  /// This side invited.
  case localInvite
  /// The other side invited.
  case remoteInvite
  /// This side accepted.
  case localAccepted
  /// The other side accepted.
  case remoteAccepted
  /// The first frame of the other side was heard.
  case firstFrameReceived
  /// This side said no.
  case localRejected
  /// The other side said no.
  case remoteRejected
  /// The other side is in a call.
  case remoteBusy
  /// This side cancelled before an answer.
  case localCancelled
  /// The other side cancelled before an answer.
  case remoteCancelled
  /// Another program of this identity accepted the call.
  case answeredElsewhere
  /// The call was declined at another program of this identity.
  case declinedElsewhere
  /// This side's ring timeout.
  case callingTimeout
  /// The other side's ring timeout.
  case remoteCallingTimeout
  /// This side hung up.
  case localHangUp
  /// The other side hung up.
  case remoteHangUp
  /// The other side cannot be reached, or no path between the two was found.
  case unreachable
  /// Nothing was heard of the other side for 20 s.
  case remoteLost
  /// Both called each other; the other call stands.
  case superseded
  /// The identity behind the name changed.
  case identityChanged
  /// Something inside failed; the report's text says what.
  case failed
}

/// A step within a state.
public enum CallProgress: Sendable, Equatable {
  /// Who is called is not there, and why, in a sentence. Both may just be starting their calls: one
  /// whose presence is `calling` asks the rendezvous again for 1.5 s. Then the call ends, or rings.
  case lookingAgain(String)
  /// The invitation was opened by the callee's device.
  case delivered
  /// The other side accepted the own invitation, or both called each other: who it is.
  case answered(CallPeer)
  /// A path was proven: its kind and the other side's address.
  case pathReady(PathKind, remote: SocketAddress)
  /// Media moved to another path.
  case pathChanged(PathKind, remote: SocketAddress)
  /// Six letters that both sides can compare by voice (docs/protocol/calling.md §5).
  case shortCode(String)
  /// The first own frame left; again after each unmuting.
  case firstFrameSent
  /// The first frame of the other side arrived, or the first that is heard after 15 s without any.
  case firstFrameReceived
  /// Nothing was heard for 4 s.
  case interrupted
  /// Nothing was heard for 10 s; tries to reach the other side go on until 20 s.
  case connectionLost
  /// Nothing was heard for 20 s; the call goes on all the same, because both sides set
  /// `CallOptions.rejoin`. It ends when there was no sign for so long, counted from the last one.
  case away(for: Duration)
  /// It is heard again.
  case resumed
  /// It is heard again after `away`: so long after the last sign of it.
  case rejoined(after: Duration)
  /// The other side muted or unmuted its audio.
  case remoteAudioMuted(Bool)
  /// A message of the application (`Call.send`).
  case message(stream: UInt8, [UInt8])
  /// Messages of a stream that will not come, as the other side has given them up; and how many
  /// have waited for them, which come now.
  case messagesMissed(stream: UInt8, missed: Int, cached: Int)
  /// Both called each other: the call goes on, accepted by itself, under the other's ID.
  case replaced(by: CallID)
  /// The audio of this side could not be started; the call goes on without it.
  case audioFailed(String)
  /// The other side muted or unmuted its video, or fell back to audio alone and returned.
  case remoteVideoMuted(Bool)
  /// The other side has switched its audio off as a whole, or on: off, it neither sends nor plays.
  case remoteAudioEnabled(Bool)
  /// The same of video.
  case remoteVideoEnabled(Bool)
  /// The other side takes nothing from its source of audio, or takes from it again.
  case remoteAudioCaptureEnabled(Bool)
  /// The same of video.
  case remoteVideoCaptureEnabled(Bool)
  /// The other side sends its low pictures from now on, or the usual ones.
  case remoteVideoStreamChanged(VideoStreamKind)
  /// The other side offers low pictures in place of the usual ones, or none any more
  /// (`Call.setRemoteVideoStream`).
  case remoteLowVideoOffered(LowVideoStream?)
  /// The own pictures are turned from now on.
  case localVideoRotated(VideoRotation)
  /// The other side's pictures are turned, from the one on that is shown now.
  case remoteVideoRotated(VideoRotation)
  /// A stream moved to another state: the own audio or video, the other side's, or whether one of
  /// them is sent or received. Stands before the event that names what happened.
  case streamChanged(StreamChange)
  /// Music that is mixed into the own audio plays, pauses, or has come to an end.
  case audioMixingChanged(AudioMixingChange)
  /// The other side mixes music into its audio, or no longer.
  case remoteAudioMixing(Bool)
  /// An effect has come to its end (`Call.playEffect`).
  case effectEnded(UInt32)
  /// The source of the own video gave its first picture.
  case firstLocalVideoFrame(width: Int, height: Int)
  /// The source's pictures have another size.
  case localVideoSizeChanged(width: Int, height: Int)
  /// The first picture of the other side was shown, or the first after 15 s without any.
  case firstVideoFrameDecoded(width: Int, height: Int)
  /// The other side's pictures have another size.
  case remoteVideoSizeChanged(width: Int, height: Int)
  /// Audio and video have begun here: the moment, in nanoseconds since 1970 UTC, of the first own
  /// sample, which is media time 0, and of the first sample that the sinks get.
  case mediaStarted(wallNanoseconds: UInt64)
  /// The first own video frame left; again after each unmuting and after a fallback.
  case firstVideoFrameSent
  /// The own video's source has no more pictures; the call goes on without.
  case videoSourceEnded
  /// The own video, or a part of it, does not work; the call goes on.
  case videoFailed(String)
  /// The other side asks for no video, or for it again.
  case remoteWantsVideo(Bool)
  /// Video gave way to audio, or returned.
  case fallback(FallbackChange)
  /// A message was delivered, or given up.
  case messageDelivery(tag: UInt64, delivered: Bool)
  /// The other side makes a channel of the call (`Call.invite`), or hands over a newer token.
  case invitedToChannel(ChannelInvitation)
  /// It says something about that channel (`Call.send`).
  case channelWord(ChannelWord)
}

/// How two peers reach each other.
public enum PathKind: String, Sendable, Equatable {
  /// A host address of the other side answers.
  case direct
  /// Through the address translation of one side or both.
  case holePunched
  /// Through a relay.
  case relayed
}
