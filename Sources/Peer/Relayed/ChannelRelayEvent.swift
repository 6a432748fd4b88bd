package import Channels
package import Congestion
package import GroupKeys
import Primitives
package import Wire

/// What happens between a member and the relay of its channel.
package enum ChannelRelayEvent: Sendable, Equatable {
  /// The seat is taken: audio goes by the relay from here on.
  case connected
  /// A host's frames leave from here on.
  case publishing
  /// Nothing comes from the relay; attempts go on.
  case lost
  /// A newer grant is wanted, from the rendezvous.
  case grantNeeded
  /// The relay gives no seat (docs/protocol/relay.md §2); told once of each answer that says so.
  case refused(GrantRefusal)
  /// Frames of a host wait for `pollAudio`.
  case audioArrived(uid: UInt32)
  /// The relay leaves out a host's sound from now on: others are louder, or the line is narrow.
  case audioLeftOut(uid: UInt32)
  /// The first frame of a host that has opened.
  case firstFrame(uid: UInt32)
  /// Pictures of a host may wait for `pollPicture`.
  case pictureArrived(uid: UInt32)
  /// The first picture of a host that has opened.
  case firstPicture(uid: UInt32)
  /// From this picture on a host's low stream comes, or its usual one again.
  case pictureStreamChanged(uid: UInt32, isLow: Bool)
  /// A member has lost its seat at the relay, or has one again. Told in small channels.
  case seatChanged(uid: UInt32, isSeated: Bool)
  /// A host hands its key to other members than this one sees (docs/protocol/sframe.md §5).
  case rosterDiffers(uid: UInt32)
  /// A host keeps its sound back, by its own word, or lets it go on. Told in small channels.
  case audioMuted(uid: UInt32, isMuted: Bool)
  /// Music plays in a host's sound, by its own word, or not any more. Told in small channels.
  case music(uid: UInt32, isOn: Bool)
  /// A host has switched a part of its media, by its own word. Told in small channels.
  case switched(uid: UInt32, SwitchedOff, isOn: Bool)
  /// A host's pictures are to be turned like that, from one of them on, by its own word. Told in
  /// small channels.
  case picturesTurned(uid: UInt32, PictureRotation, mediaTime: UInt32)
  /// A host's message to all.
  case message(uid: UInt32, stream: UInt8, [UInt8])
  /// Messages of a host have not come, and are not waited for any longer.
  case messagesMissed(uid: UInt32, stream: UInt8, missed: Int, cached: Int)
  /// Whether the relay has all of an own message.
  case messageFinished(tag: UInt64, isDelivered: Bool)
  /// The way to the relay carries no own pictures, or does again.
  case publishFallback(FallbackMachine.Change)
  /// A host shows no pictures at present, or shows some again.
  case picturesPaused(uid: UInt32, isPaused: Bool)
  /// The most that the relay sends of others' pictures, by what the line from it carries.
  case pictureViewChanged(ChannelLowFrame.View)
}

/// Why a relay gives a member no seat.
package enum GrantRefusal: Sendable, Equatable {
  /// It has no room; attempts go on.
  case full
  /// The grant is worth nothing any more; attempts end until there is another one.
  case ended
  /// The grant is not for this relay, or none of its rendezvous; as with `ended`.
  case foreign

  init(_ failure: RegistrationFailure) {
    switch failure {
    case .full, .tooManyPrograms: self = .full
    case .token(.expired), .token(nil): self = .ended
    default: self = .foreign
    }
  }
}

extension ChannelRelayMachine {
  /// What it is told once.
  package struct Settings: Sendable {
    package var channel: ChannelIdentity
    /// Ourselves, as the roster has us.
    package var own: ChannelMember
    /// The own token, in a channel with a key.
    package var token: [UInt8]
    package var grant: ChannelRelayGrant
    package var wallClockAtZero: Int64
    /// Of the first own key: above all that this stay had (`ChannelRelayMachine.nextGeneration`).
    package var generation: UInt32 = 0
    /// `nil` = neither sends pictures nor wants any.
    package var pictures: PictureSettings?
    /// Of more hosts who speak at once as many of the loudest are wanted, 1...64; `nil` = as many
    /// as the relay thinks good.
    package var loudest: Int?

    package init(
      channel: ChannelIdentity, own: ChannelMember, token: [UInt8], grant: ChannelRelayGrant,
      wallClockAtZero: Int64
    ) {
      self.channel = channel
      self.own = own
      self.token = token
      self.grant = grant
      self.wallClockAtZero = wallClockAtZero
    }
  }
}
