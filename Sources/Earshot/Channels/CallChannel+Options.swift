internal import Primitives
internal import Reactor

extension CallChannel {
  /// Members at the most, this one included: a mesh has no more.
  public static let mostMembers = 8

  /// How this side behaves.
  public struct Options: Sendable {
    /// What a call with a further member sends, and where what it brings goes; made for each.
    public var makeCall: @Sendable () -> CallOptions
    /// A person is there who can be asked whether others may come (`CallChannelStep.question`).
    /// Without one they may, as far as `admits` says so.
    public var asks = true
    /// The person knew of others when it took the call: about the other end's channel it is not
    /// asked.
    public var hasAgreed = false
    /// A person is there to talk with the others. Without one this side leaves with the other end
    /// of the first call: two of that kind would hold each other for ever.
    public var isAttended = true
    /// Whether somebody is talked with who was not invited from here.
    public var admits: @Sendable (PeerID) -> Bool = { _ in true }
    /// What somebody is called here; `nil` = nothing yet.
    public var name: @Sendable (PeerID) -> String? = { _ in nil }
    /// The own sound is kept back in further calls until `setAudioMuted`.
    public var startsMuted = false
    /// Told on the endpoint's loop; must return at once.
    public var onStep: @Sendable (CallChannelStep) -> Void
    /// A call has begun with what `makeCall` has made.
    package var onCall: @Sendable (CallID, CallOptions) -> Void = { _, _ in }

    /// What is not set here may be set after.
    public init(
      makeCall: @escaping @Sendable () -> CallOptions,
      onStep: @escaping @Sendable (CallChannelStep) -> Void = { _ in }
    ) {
      self.makeCall = makeCall
      self.onStep = onStep
    }
  }

  /// Somebody in the channel, or on the way into it.
  public struct Member: Sendable, Equatable {
    /// The call with it.
    public var call: CallID
    /// Known once it has answered.
    public var id: PeerID?
    /// As it is known here (`Options.name`), was dialled, or calls itself; otherwise the first
    /// letters of its ID.
    public var name: String
    /// In the channel; `nil` before it is there.
    public var uid: UInt32?
    /// It was invited from here, and has no token yet.
    public var isInvited: Bool

    package init(call: CallID, id: PeerID?, name: String, uid: UInt32?, isInvited: Bool) {
      (self.call, self.id, self.name, self.uid) = (call, id, name, uid)
      self.isInvited = isInvited
    }
  }

  /// What the person at this end is to decide.
  public struct Question: Sendable, Equatable {
    /// The member who wants somebody in; `nil` = the other end of the first call makes a channel.
    public var asker: Member?
    /// Who is to come in, as far as that was said.
    public var guest: PeerID?
    /// What the asker calls it; anybody could say that.
    public var guestName: String?

    package init(asker: Member? = nil, guest: PeerID? = nil, guestName: String? = nil) {
      (self.asker, self.guest, self.guestName) = (asker, guest, guestName)
    }
  }

  /// For whose sake something was tried that has failed.
  public enum Sake: Sendable {
    /// The own program's, which had asked for it.
    case own
    /// Another member's: how often that happens is up to it.
    case other
    /// The channel's: a token that was to be renewed, or somebody who was to be removed.
    case upkeep
    /// Of no consequence at present: it is tried again, or is over.
    case minor
  }

  /// How things stand.
  public struct Standing: Sendable {
    /// Whether there is a channel, or somebody is being invited.
    public var isOpen = false
    /// The channel was left.
    public var isLeft = false
    /// The channel, with its key; `nil` while the call is one of two.
    public var channel: ChannelName?
    /// The own uid; `nil` before the rendezvous has let this side in.
    public var uid: UInt32?
    /// How long this side is in the channel.
    public var stay: Duration?
    /// The channel has ended, and calls that there are go on.
    public var hasFailed = false
    /// All with whom there is a call, the other end of the first one in front.
    public var members: [Member] = []
    /// How many members there were in the channel, over all the time, without this one.
    public var metCount = 0
    /// What the person at this end is asked now.
    public var question: Question?

    package init() {}
  }
}

extension CallChannel.Member {
  /// Whoever a call is with; `nil` for one of nobody.
  init?(_ call: CallID, _ people: CallChannelPeople, _ links: ChannelLinks) {
    guard let name = people.name(of: call) else { return nil }
    self.init(
      call: call, id: people.id(of: call), name: name, uid: links.uid(of: call),
      isInvited: people.stage(of: call) == .invited)
  }
}

extension CallChannel.Standing {
  static func of(
    _ room: isolated CallChannel, _ stay: (uid: UInt32, since: Instant)?, isOpen: Bool
  ) -> Self {
    var now = Self()
    (now.isOpen, now.isLeft, now.channel, now.uid) = (
      isOpen, room.isLeft, room.channel?.name, stay?.uid
    )
    now.stay = stay.map { SystemClock.now - $0.since }
    now.hasFailed = room.hasFailed
    now.members = room.people.calls.compactMap { room.member(of: $0) }
    now.metCount = room.links.metCount
    now.question = room.question
    return now
  }
}
