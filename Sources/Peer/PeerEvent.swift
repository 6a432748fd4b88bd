package import Primitives
package import Wire

/// What a peer tells its owner.
package enum PeerEvent: Sendable {
  case registration(RegistrationStep)
  /// The card that the rendezvous showed, verified; worth keeping, to pin the ID and save a round
  /// trip the next time.
  case rendezvousIdentified(PeerID, card: [UInt8])
  case call(CallID, CallStep)
}

/// Contact with the rendezvous.
package enum RegistrationStep: Sendable, Equatable {
  case connecting
  case registered(seenAs: SocketAddress, name: NameStatus)
  case reconnecting
  /// Attempts go on, except after `identityMismatch`, `versionMismatch` and `notAllowed`.
  case failed(RegistrationFailure)

  package enum NameStatus: UInt8, Sendable, Equatable {
    case none = 0
    case granted = 1
    case taken = 2
    case malformed = 3
  }
}

package enum RegistrationFailure: Sendable, Equatable {
  /// Nothing answered for the whole attempt.
  case noAnswer
  /// Something answered that does not verify.
  case notUnderstood
  case identityMismatch(expected: PeerID, found: PeerID)
  case versionMismatch(lowest: UInt8, highest: UInt8)
  case notAllowed
}

/// What happens in a call, in order; `ended` is the last and comes exactly once.
package enum CallStep: Sendable {
  case incoming(IncomingInvitationNotice)
  /// The name was resolved.
  case peerFound(PeerID, card: [UInt8])
  /// RINGING came: the callee's device opened the invitation.
  case delivered
  case accepted(Side, userExtension: String?)
  case pathReady(CallPathKind, remote: SocketAddress)
  case pathChanged(CallPathKind, remote: SocketAddress)
  case shortCode(String)
  /// From here on audio may be sent.
  case mediaMayFlow
  case firstFrameSent
  case firstFrameReceived
  case connected
  case interrupted
  case resumed
  case remoteAudioMuted(Bool)
  case messageReceived(stream: UInt8, [UInt8])
  case messageFinished(tag: UInt64, isDelivered: Bool)
  case ended(CallEnd)
}

package enum Side: Sendable, Equatable { case local, remote }

package enum CallPathKind: Sendable, Equatable { case direct, holePunched, relayed }

/// An invitation that waits for the user.
package struct IncomingInvitationNotice: Sendable {
  package var peer: PeerID
  package var card: [UInt8]
  /// The name on the card, if any: claimed, not proven.
  package var claimedName: String?
  package var userExtension: String?
  package var media: MediaDescription
}
