internal import Calling
internal import Peer
internal import Primitives
internal import Wire

/// Whom the application means when it dials.
extension Endpoint {
  /// An ID, a contact card, or a name. A name of this host's own means the identity that is pinned
  /// by it: at the rendezvous it may be nobody's, or somebody else's.
  func place(of target: String) throws(EarshotError) -> CallTarget {
    if let id = PeerID(target) { return .id(id) }
    if PeerCard.isCard(target) { return .id(try PeerCard(target).id) }
    guard let name = PeerName(target) else { throw .invalidName(target) }
    return known.id(behindOwn: name).map(CallTarget.id) ?? .name(name)
  }
}

extension CallRecord {
  /// Of a call to somebody: by the name that was dialled, if it was one.
  convenience init(_ options: CallOptions, _ place: CallTarget, dialled target: String) {
    self.init(.caller, options, target: PeerName(target)?.description)
    if case .id(let id) = place { peer = id }
  }
}
