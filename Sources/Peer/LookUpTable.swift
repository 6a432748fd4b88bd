import Calling
import Primitives
import Wire

/// A call by name or ID whose card has not come yet.
struct PendingLookUp {
  let callID: CallID
  var request: UInt32
  let target: CallTarget
  var options: InviteOptions
  let began: Instant
  var expires: Instant { began + (isPatient ? Self.patientLife : Self.life) }
  /// Whether whom it is for may be on the way from one node to another.
  var isPatient = false
  /// Known and not online: whom it is about, and when to ask again.
  var offline: PeerID?
  var again: Instant?
  /// Whether it was told that it goes on.
  var isToldOf = false

  /// Whether it is `peer` that is wanted, as far as that is known.
  ///
  /// - Parameter name: whose the rendezvous says that it is: it would answer the look-up so.
  func isFor(_ peer: PeerID, named name: PeerName?) -> Bool {
    if target == .id(peer) || offline == peer { return true }
    return name.map { target == .name($0) } ?? false && options.expectedID ?? peer == peer
  }

  /// Whether it may be `peer` that is wanted, as nothing says otherwise.
  func mayBeFor(_ peer: PeerID) -> Bool {
    if case .id(let id) = target { return id == peer }
    return options.expectedID.map { $0 == peer } ?? true
  }

  private static let life = Duration.seconds(8)
  /// Longer than those ask who wait for another node (`LookUpTable.movedPatience`).
  private static let patientLife = Duration.seconds(16)
}

/// The look-ups of calls that are under way, oldest first.
package struct LookUpTable {
  private(set) var pending: [PendingLookUp] = []

  var isEmpty: Bool { pending.isEmpty }
  var count: Int { pending.count }

  mutating func append(_ lookup: PendingLookUp) { pending.append(lookup) }

  /// The one that an answer is for; it is no longer under way.
  mutating func remove(request: UInt32) -> PendingLookUp? {
    pending.firstIndex { $0.request == request }.map { pending.remove(at: $0) }
  }

  /// - Returns: Whether there was one.
  mutating func remove(_ callID: CallID) -> Bool {
    guard let index = pending.firstIndex(where: { $0.callID == callID }) else { return false }
    pending.remove(at: index)
    return true
  }

  mutating func removeAll() -> [CallID] {
    defer { pending = [] }
    return pending.map(\.callID)
  }

  /// The one that would find whose call a link is, in the same mesh.
  func first(
    for link: CallLink, named name: PeerName?, _ channels: PeerChannels
  ) -> PendingLookUp? {
    let mesh = channels.mesh(of: link.words.theirs)
    return pending.first {
      $0.isFor(link.peer, named: name) && channels.mesh(of: $0.options.userExtension) == mesh
    }
  }

  func mayFind(_ peer: PeerID) -> Bool { pending.contains { $0.mayBeFor(peer) } }

  /// - Returns: Whether the call is one whose card has not come.
  mutating func setAudioMuted(_ callID: CallID, _ isMuted: Bool) -> Bool {
    guard let index = pending.firstIndex(where: { $0.callID == callID }) else { return false }
    pending[index].options.sendsAudio = !isMuted
    return true
  }

  /// Keeps one that was answered in vain, to be asked again.
  ///
  /// - Parameter hasNodes: Whether clients of a node that dies go to another one by themselves.
  /// - Returns: Whether nobody was told of it before; `nil` if it is too late for that.
  mutating func retry(
    _ lookup: PendingLookUp, after failure: LookUpFailure, hasNodes: Bool = false, now: Instant
  ) -> Bool? {
    let end = lookup.began + Self.patience(after: failure, hasNodes: hasNodes)
    guard now < end else { return nil }
    let isToldOf = lookup.isToldOf
    var lookup = lookup
    if failure == .unavailable, hasNodes { lookup.isPatient = true }
    lookup.again = min(now + Self.offlinePace, end)
    lookup.isToldOf = true
    pending.append(lookup)
    return !isToldOf
  }

  /// Another node is there: what the one before was asked may have been lost with it.
  mutating func askAgain(now: Instant) {
    for index in pending.indices where pending[index].began < now { pending[index].again = now }
  }

  /// Those that are to be asked again now, each under a new number.
  mutating func takeRetries(
    random: inout RandomSource, now: Instant
  ) -> [(target: CallTarget, request: UInt32)] {
    var due: [(CallTarget, UInt32)] = []
    for index in pending.indices {
      guard let again = pending[index].again, again <= now else { continue }
      pending[index].again = nil
      pending[index].request = UInt32(truncatingIfNeeded: random.next())
      due.append((pending[index].target, pending[index].request))
    }
    return due
  }

  /// One that was not answered in time; it is no longer under way.
  mutating func takeExpired(now: Instant) -> CallID? {
    pending.firstIndex { $0.expires <= now }.map { pending.remove(at: $0).callID }
  }

  var nextDeadline: Instant? {
    pending.reduce(nil) { earliest($0, earliest($1.expires, $1.again)) }
  }

  private static func patience(after failure: LookUpFailure, hasNodes: Bool) -> Duration {
    switch failure {
    case .unknown: unknownPatience
    case .unavailable where hasNodes: movedPatience
    default: offlinePatience
    }
  }

  private static let offlinePace = Duration.milliseconds(500)
  /// How long a program that makes a call looks for somebody who is not there.
  package static let offlinePatience = Duration.milliseconds(1500)
  /// The same for somebody who may be a client of a node that has just died, and is at another one
  /// after 12 s: two PINGs, and a round over the nodes.
  package static let movedPatience = Duration.seconds(14)
  /// The same for a name or an ID that nobody has: mostly a slip of the pen, whose command ends
  /// within a second of its start.
  package static let unknownPatience = Duration.milliseconds(700)
}
