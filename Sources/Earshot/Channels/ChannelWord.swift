internal import Peer
public import Primitives
internal import Wire

/// What two in a call say about the channel that it becomes, besides `Call.invite`
/// (docs/protocol/channels.md §10): `Call.send` says it, and `CallProgress.channelWord` tells it.
public enum ChannelWord: Sendable, Equatable, CustomStringConvertible {
  /// The person there does not want others in the call.
  case declined
  /// The same, as nobody answered.
  case unanswered
  /// Who is brought in; said ahead of the invitation. The name is what its sender calls it.
  case guest(PeerID, name: String?)
  /// Whoever made the channel is asked to let somebody in.
  case wish(PeerID, name: String?)
  /// It does: the token for that one (`ChannelInvitation.token`). Keep it to yourself.
  case entry(PeerID, token: String)
  /// It does not.
  case refused(PeerID)
  /// Who was let in has been let go before it came.
  case withdrawn(PeerID)
  /// The person there is being asked whether it wants that; an answer follows, or nothing for 30 s.
  case asked

  /// The word and whom it is about; the token stays out of logs.
  public var description: String { peer.map { "\(name) \($0)" } ?? name }

  /// The word alone.
  package var name: String {
    switch self {
    case .declined: "declined"
    case .unanswered: "unanswered"
    case .guest: "guest"
    case .wish: "wish"
    case .entry: "entry"
    case .refused: "refused"
    case .withdrawn: "withdrawn"
    case .asked: "asked"
    }
  }

  /// Whom it is about, where that is a third.
  package var peer: PeerID? {
    switch self {
    case .declined, .unanswered, .asked: nil
    case .guest(let id, _), .wish(let id, _), .entry(let id, _), .refused(let id),
      .withdrawn(let id):
      id
    }
  }

  init(_ remark: ChannelRemark) {
    self =
      switch remark {
      case .declined: .declined
      case .unanswered: .unanswered
      case .guest(let id, let name): .guest(id, name: name?.description)
      case .wish(let id, let name): .wish(id, name: name?.description)
      case .entry(let id, let token): .entry(id, token: String(decoding: token, as: UTF8.self))
      case .refused(let id): .refused(id)
      case .withdrawn(let id): .withdrawn(id)
      case .asked: .asked
      }
  }

  /// A name that is none stays out.
  var remark: ChannelRemark {
    switch self {
    case .declined: .declined
    case .unanswered: .unanswered
    case .guest(let id, let name): .guest(id, name.flatMap { PeerName($0) })
    case .wish(let id, let name): .wish(id, name.flatMap { PeerName($0) })
    case .entry(let id, let token): .entry(id, token: Array(token.utf8))
    case .refused(let id): .refused(id)
    case .withdrawn(let id): .withdrawn(id)
    case .asked: .asked
    }
  }
}

extension Call {
  /// Says something about the channel that the call becomes, or is to become.
  ///
  /// - Throws: `callState` when the call is not connected, or the other side would not follow
  ///   (`canBecomeChannel`); `invalidArgument` for a token that is none.
  public func send(_ word: ChannelWord) async throws(EarshotError) {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      if case .entry(_, let token) = word { try EarshotError.check(token: token) }
      try Self.send(endpoint, id, .channelRemark(word.remark))
    }
  }
}
