package import Calling
package import Messaging
package import Primitives
package import Relay
package import Wire

/// What a peer is told once, when it is made.
package struct PeerConfiguration: Sendable {
  /// Where the rendezvous listens.
  package var rendezvous: SocketAddress
  /// Where else it is reached: the same server in another family.
  package var otherRendezvousAddresses: [SocketAddress] = []
  /// The identity that the rendezvous must show; `nil` takes the one on its card and reports it.
  package var rendezvousID: PeerID?
  /// The rendezvous' card from an earlier time, which saves a round trip; empty for none.
  package var rendezvousCard: [UInt8] = []
  /// The list of nodes that was kept of the root that `rendezvousID` is; empty for none.
  package var rendezvousNodes: [UInt8] = []
  /// Whether `rendezvousID` may be that of a root, whose nodes are used.
  package var followsNodes = true
  /// After how long the next node of a list is asked while one says nothing; `nil` = one is given
  /// up before the next is asked.
  package var nodeGap: Duration? = NodeScout.gap
  /// What the program is there for: whether it is called.
  package var presence = PresenceKind.answering
  /// Whether only familiar peers may learn from the rendezvous that the program is online.
  package var isForFamiliars = false
  /// The name to ask for.
  package var name: PeerName?
  /// What the service that `rendezvousID` is, or is the root of, gave for the name; empty for none.
  package var nameReceipt: [UInt8] = []
  /// The access token to register with.
  package var token: [UInt8]?
  /// Own addresses that a peer on the same network could use, with our port; at most 7 are told,
  /// or 6 beside a mapped or relayed address, 5 beside both.
  package var hostCandidates: [SocketAddress] = []
  /// Where a router of this host lets everybody in, by its own word; `nil` = it does not.
  package var mappedAddress: SocketAddress?
  /// Addresses on other interfaces than the one that the routes choose.
  package var alternates: [AlternateSource] = []
  /// TURN servers that the user has named, the preferred one first; of others the rendezvous is
  /// not asked then.
  package var relays: [RelayServer] = []
  /// Whether a program that is in no calls wants to hear of TURN servers too.
  package var asksForRelays = false
  /// Whether this is a member of a channel, and the rendezvous its relay.
  package var isMember = false
  /// How many of the loudest hosts that member wants, 1...64; 0 = as many as is usual.
  package var loudest: UInt8 = 0
  /// Wall-clock time at `Instant.zero`, in ms since 1970 UTC; for cards and the age of invitations.
  package var wallClockAtZero: Int64
  /// Times and choices of calls.
  package var policy = CallPolicy.standard
  package var limits = PeerLimits()
  /// Whether peers may probe the line to this one.
  package var allowsProbes = true

  package init(rendezvous: SocketAddress, wallClockAtZero: Int64) {
    self.rendezvous = rendezvous
    self.wallClockAtZero = wallClockAtZero
  }
}

/// The most of everything that a peer holds, each with its reason.
package struct PeerLimits: Sendable {
  /// Calls at once, the ones that linger to deliver their hang-up included.
  package var calls = 8
  /// Encoded frames that wait for the packet to leave: more than this is late anyway.
  package var audioToSend = 16
  /// Received frames that wait for the media thread: 1.28 s of 20 ms frames.
  package var receivedAudio = 64
  /// Signalling bodies that wait for the rendezvous to come back.
  package var waitingForwards = 32
  /// Events not yet polled. When full, new ones are dropped.
  package var events = 1024
  /// Messages of one call that its owner holds until `ApplicationMessage.countRead`; 0 = they count
  /// as read when their event is polled.
  package var unreadMessages = 0

  package init() {}
}

/// Whom to call.
package enum CallTarget: Sendable, Equatable {
  case name(PeerName)
  case id(PeerID)
}

/// How to invite.
package struct InviteOptions: Sendable {
  /// The identity that a name had the last time; another one ends the call, `identityChanged`.
  package var expectedID: PeerID?
  /// `nil` = rings until somebody ends it.
  package var ringTimeout: Duration? = .seconds(15)
  package var userExtension: String?
  package var media = MediaDescription([.init(.opus, stream: 0)])
  /// `nil` = audio alone, both ways.
  package var video: VideoSettings?
  /// Whether audio is sent from the beginning; without it the other side is told of the mute.
  package var sendsAudio = true
  /// The call's part of the uplink against that of other calls of the same time: 0.1...10.
  package var uplinkWeight = 1.0
  /// How long the other side may be away before the call ends, where it allows the same.
  package var absence = Duration.zero
  /// What the other side is told that this one understands.
  package var abilities = CallAbilities.moreWords

  package init() {}
}

/// How to answer.
package struct AnswerOptions: Sendable {
  package var userExtension: String?
  package var media = MediaDescription([.init(.opus, stream: 0)])
  /// `nil` = audio alone, both ways.
  package var video: VideoSettings?
  /// Whether audio is sent from the beginning; without it the other side is told of the mute.
  package var sendsAudio = true
  /// The call's part of the uplink against that of other calls of the same time: 0.1...10.
  package var uplinkWeight = 1.0
  /// How long the other side may be away before the call ends, where it allows the same.
  package var absence = Duration.zero
  /// What the other side is told that this one understands.
  package var abilities = CallAbilities.moreWords

  package init() {}

  /// What an invitation wants holds for the answer when both call each other.
  init(_ options: InviteOptions) {
    userExtension = options.userExtension
    media = options.media
    video = options.video
    sendsAudio = options.sendsAudio
    uplinkWeight = options.uplinkWeight
    absence = options.absence
    abilities = options.abilities
  }
}

extension Duration {
  /// Whole seconds, for the TLV `rejoin`.
  var wireSeconds: UInt16 {
    UInt16(clamping: min(nanoseconds, CallPolicy.longestRejoin.nanoseconds) / 1_000_000_000)
  }
}

/// Why a command cannot be carried out; nothing changed.
package enum PeerRefusal: Error, Equatable, Sendable {
  case call(CallRefusal)
  case tooManyCalls
  case extensionTooLong
  /// No session stands yet, or no longer.
  case noSession
  /// A probe runs already.
  case probing
  /// A probe cannot have such a plan.
  case badPlan
  case message(MessageError)
}
