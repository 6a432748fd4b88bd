package import Calling
package import Channels
package import Congestion
package import Connectivity
package import LastMile
package import Primitives
package import Relay
package import Wire

/// What a peer tells its owner.
package enum PeerEvent: Sendable {
  case registration(RegistrationStep)
  /// The card that the rendezvous showed, verified; worth keeping, to pin the ID and save a round
  /// trip the next time.
  case rendezvousIdentified(PeerID, card: [UInt8])
  /// A newer list of nodes, verified; worth keeping: an older one is not taken any more.
  case rendezvousNodes(NodeList)
  /// The service that a root or a rendezvous stands for says that the own name is ours; worth
  /// keeping: where the service loses that, it gives the name to whoever shows this.
  case nameReceipt(NameReceiptMessage, of: PeerID)
  /// A step of a call's life, as the rules between calls decide it.
  case calling(CallEvent)
  /// What else happens in a call.
  case link(CallID, LinkStep)
  /// A call by name ended before there was anybody to invite.
  case unresolved(CallID, LookUpFailure)
  /// What becomes of the access token of the registration.
  case token(TokenStep)
  /// There is a relay now, or none.
  case relay(RelayEvent)
  /// The rendezvous names TURN servers; their addresses go to `PeerMachine.setOfferedRelays`.
  case relaysOffered(RelayOffer)
  /// What is to be done with a stream to a TURN server; `PeerMachine.relayStreamOpened` and
  /// `relayStreamEnded` say what came of it.
  case relayStream(RelayStreamAction)
  /// Of the probe that runs; ends with `finished`.
  case probe(ProbeProgress)
  /// What happens in a channel.
  case channel(ChannelIdentity, ChannelEvent)
  /// Whether a member of a channel with a key may be there, by our own check of its token; `nil` =
  /// it may.
  case memberChecked(ChannelIdentity, uid: UInt32, TokenFault?)
}

/// Contact with the rendezvous.
package enum RegistrationStep: Sendable, Equatable {
  case connecting
  case registered(seenAs: SocketAddress, name: NameStatus)
  case reconnecting
  /// Why the attempt under way will probably fail; it goes on.
  case doubted(RegistrationFailure)
  case failed(RegistrationFailure)

  package enum NameStatus: UInt8, Sendable, Equatable {
    case none = 0
    case granted = 1
    case taken = 2
    case malformed = 3
    /// The identity, this address or the server has as many names as it may.
    case noMore = 4
  }
}

package enum RegistrationFailure: Sendable, Equatable {
  /// Nothing answered for the whole attempt; attempts go on.
  case noAnswer
  /// Packets of 512 bytes were answered, those of 1200 were not; attempts go on.
  case longPacketsLost
  /// Something answered that does not verify; attempts go on.
  case notUnderstood
  /// It shows another identity than the pinned one; attempts end.
  case identityMismatch(expected: PeerID, found: PeerID)
  /// It speaks other versions only; attempts end.
  case versionMismatch(lowest: UInt8, highest: UInt8)
  /// It does not admit this identity; attempts end.
  case notAllowed
  /// It knows a newer card of this identity, and took no newer one either; attempts end.
  case superseded(knownSerial: UInt64)
  /// It, or this address there, has as many sessions as it may; attempts go on.
  case full
  /// By one's clock the other's card is not valid; attempts go on.
  ///
  /// - Parameter serverTime: What its clock shows in ms since 1970 UTC, if it has said.
  case wrongClock(serverTime: UInt64?)
  /// The list of nodes that the pinned root has signed does not hold by our clock; attempts go on.
  ///
  /// - Parameter isOver: It held once; else it holds later.
  case nodesNotValid(isOver: Bool)
  /// It refused the name on the card, and a card without one as well; attempts go on.
  case nameOnCard
  /// It would tell everybody that this program is online; attempts end.
  case withoutAudience
  /// As many programs of this identity are registered as may be; attempts end.
  case tooManyPrograms
  /// A copy of this program registered in its place; attempts end.
  case replaced
  /// It is a relay, which is none to register with; attempts end.
  case isRelay
  /// It admits only holders of an access token. Attempts end until there is another one.
  ///
  /// - Parameter fault: What is the matter with ours; `nil` = there is none.
  case token(TokenFault?)
}

package enum LookUpFailure: Sendable, Equatable {
  case unknown
  case notOnline
  /// The identity behind the name is not the expected one.
  case identityChanged(expected: PeerID, found: PeerID)
  /// The card does not verify, or is none.
  case badCard
  case tooManyRequests
  /// The rendezvous is one of several nodes, and cannot tell now.
  case unavailable
  /// The rendezvous did not answer in time.
  case noAnswer
  case cancelled
  /// The name is this identity's own.
  case ownID
}

/// What happens in a call besides its states.
package enum LinkStep: Sendable {
  /// The rendezvous answered that nobody is there; it is asked again for a while. Said once.
  case lookingAgain(LookUpFailure)
  /// The name was resolved; the invitation goes out.
  case peerFound(PeerID, card: [UInt8])
  /// What the invitation said; comes before `CallEvent.incoming`.
  case invitation(InvitationNotice)
  /// The other side has accepted, told to the caller; what came with its ACCEPT.
  case answered(userExtension: String?)
  case pathReady(PathKind, remote: SocketAddress)
  case pathChanged(PathKind, remote: SocketAddress)
  /// Six letters to compare by voice (docs/protocol/calling.md §5).
  case shortCode(String)
  /// From here on audio may be sent.
  case mediaMayFlow
  case mediaMustStop
  /// Frames wait for `pollAudio`; said once until they were polled.
  case audioArrived
  /// Frames wait for `pollVideo`; said once until they were polled.
  case videoArrived
  /// What this side sends fell back to audio alone, or returned to video.
  case publishFallback(FallbackMachine.Change)
  /// What this side asks the other to send did.
  ///
  /// - Parameter isSmall: It asks for small pictures from now on.
  case subscribeFallback(FallbackMachine.Change, isSmall: Bool)
  /// What the other side asks this one to send.
  case remoteWants(MediaState)
  case firstFrameSent
  case firstFrameReceived
  /// Of call control: its grades, how its pictures are turned, which small ones it offers.
  case said(CallControlMessage)
  /// - Parameter mediaTime: Of the other side's audio that it goes with, in 10 ms; `nil` = none.
  case messageReceived(stream: UInt8, [UInt8], mediaTime: UInt16?)
  /// Messages of a stream will not come.
  ///
  /// - Parameter cached: That have waited for them.
  case messagesMissed(stream: UInt8, missed: Int, cached: Int)
  case messageFinished(tag: UInt64, isDelivered: Bool)
}

/// An invitation that waits for the user.
package struct InvitationNotice: Sendable {
  package var peer: PeerID
  package var card: [UInt8]
  /// The name on the card, if any: claimed, not proven.
  package var claimedName: String?
  /// The own rendezvous says that it has given the claimed name to the caller.
  package var isNameConfirmed: Bool
  package var userExtension: String?
  package var media: MediaDescription
}
