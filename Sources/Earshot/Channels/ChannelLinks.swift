package import Primitives

/// The members of a channel as a mesh sees them: who is to be linked with us, who dials, and what
/// became of it. Hosts are linked with everybody, the audience with hosts alone.
package struct ChannelLinks {
  private struct Link {
    var user: ChannelUser
    var call: CallID?
    /// Its token was checked by us, where it needs one.
    var isChecked: Bool
    /// Its audio has come by the call.
    var isHeard = false
    /// It has no seat at the relay, and says so.
    var isSeatless = false
    /// When we call it although it is to call us: it may not know that we have no seat.
    var overdue: Instant?
    var retry: Instant = .zero
    var failures = 0
  }

  private let own: PeerID
  private let checks: Bool
  private var links: [Link] = []
  /// Calls that fail are made again within 200 ms.
  private var isHurried = false
  /// Members that there were, over all the time.
  package private(set) var metCount = 0

  /// - Parameter checks: Whether members need a token, which we check ourselves.
  package init(own: PeerID, checks: Bool) {
    self.own = own
    self.checks = checks
  }

  package var calls: [CallID] { links.compactMap(\.call) }

  /// Members without us, who came first in front.
  package var users: [ChannelUser] { links.map(\.user) }

  /// Members without us, and the hosts of them.
  package var counts: (members: Int, hosts: Int) {
    (links.count, links.count { $0.user.role == .host })
  }

  /// Who is linked with us, and by which call.
  package var linked: [(user: ChannelUser, call: CallID)] {
    links.compactMap { link in link.call.map { (link.user, $0) } }
  }

  /// Calls of members who have nothing but them: the relay has no room for them.
  package var seatless: [CallID] { links.filter(\.isSeatless).compactMap(\.call) }

  /// Calls with members who need none of us any more.
  package func unwanted(own role: ChannelRole) -> [CallID] {
    links.filter { !isWanted($0, role) }.compactMap(\.call)
  }

  /// Whether everybody is linked who is to be, and hosts are heard.
  package func isComplete(own role: ChannelRole) -> Bool {
    links.allSatisfy { link in
      !isWanted(link, role) || (link.call != nil && (link.isHeard || link.user.role == .audience))
    }
  }

  /// Whether its member is heard by it.
  package func isHeard(_ call: CallID) -> Bool { links.contains { $0.call == call && $0.isHeard } }

  package func uid(of call: CallID) -> UInt32? { links.first { $0.call == call }?.user.uid }

  /// When somebody is to be called, or called again.
  package func nextRetry(own role: ChannelRole) -> Instant? {
    let waiting = links.filter { $0.call == nil && isWanted($0, role) }
    let retries = waiting.filter { $0.failures > 0 && isFirst($0.user.id) }.map(\.retry)
    let overdue = waiting.compactMap { link in link.overdue.map { max($0, link.retry) } }
    return earliest(retries.min(), overdue.min())
  }

  // MARK: - Members

  package mutating func add(_ user: ChannelUser) {
    if let index = index(of: user.uid) {
      links[index].user = user
    } else {
      metCount += 1
      links.append(Link(user: user, isChecked: !checks))
    }
  }

  package mutating func setAudience(_ uid: UInt32) {
    if let index = index(of: uid) { links[index].user.role = .audience }
  }

  package mutating func check(_ uid: UInt32, isGenuine: Bool) {
    if let index = index(of: uid) { links[index].isChecked = isGenuine }
  }

  /// - Returns: The call with it, which is to end.
  package mutating func remove(_ uid: UInt32) -> CallID? {
    guard let index = index(of: uid) else { return nil }
    let (link, own) = (links.remove(at: index), own)
    // What failed may have failed because the other end was still in a call with a former stay.
    retry { link.user.id == own || $0.user.id == link.user.id }
    return link.call
  }

  // MARK: - Calls

  /// Whether those are called as well who are to call us, once they had time to.
  package mutating func setCallsAll(_ callsAll: Bool, now: Instant) {
    for index in links.indices {
      links[index].overdue = callsAll ? links[index].overdue ?? now + Self.patience : nil
    }
  }

  /// Somebody whom we are to call now.
  package func nextToDial(own role: ChannelRole, now: Instant) -> ChannelUser? {
    links.first {
      $0.call == nil && $0.retry <= now && isWanted($0, role)
        && (isFirst($0.user.id) || $0.overdue.map { $0 <= now } ?? false)
    }?.user
  }

  /// The uid of a member who may call us. Of several with one identity it is who came last: the
  /// others may be former stays.
  ///
  /// - Parameter isSeatless: It says that the relay has no room for it: it calls everybody.
  package func caller(_ id: PeerID, own role: ChannelRole, isSeatless: Bool = false) -> UInt32? {
    links.last {
      $0.user.id == id && (isSeatless || !isFirst(id)) && id != own && isWanted($0, role)
    }?.user.uid
  }

  package mutating func begin(_ call: CallID, with uid: UInt32, isSeatless: Bool = false) {
    guard let index = index(of: uid) else { return }
    links[index].call = call
    links[index].isSeatless = isSeatless
  }

  /// The first audio frame of a call has come.
  ///
  /// - Returns: Whether it is one of ours.
  package mutating func hear(_ call: CallID) -> Bool {
    guard let index = links.firstIndex(where: { $0.call == call }) else { return false }
    links[index].isHeard = true
    return true
  }

  /// Both called each other: the call goes on under another ID.
  package mutating func replace(_ old: CallID, by new: CallID) {
    guard let index = links.firstIndex(where: { $0.call == old }) else { return }
    links[index].call = new
  }

  /// The call is over; the member is called again where it is still there.
  package mutating func end(_ call: CallID, now: Instant) {
    guard let index = links.firstIndex(where: { $0.call == call }) else { return }
    links[index].call = nil
    links[index].isHeard = false
    links[index].isSeatless = false
    postpone(index, now: now)
  }

  /// The relay is lost, to some a little earlier than to others: members who are not linked are
  /// called at once, and soon again.
  package mutating func retryAll() {
    isHurried = true
    retry { _ in true }
  }

  private mutating func retry(_ isMeant: (Link) -> Bool) {
    for index in links.indices where links[index].call == nil && isMeant(links[index]) {
      links[index].failures = 0
      links[index].retry = .zero
    }
  }

  package mutating func fail(_ uid: UInt32, now: Instant) {
    if let index = index(of: uid) { postpone(index, now: now) }
  }

  private mutating func postpone(_ index: Int, now: Instant) {
    links[index].failures += 1
    let seconds = min(Self.longestRetry, 1 << max(0, min(links[index].failures - 2, 4)))
    // Of two who come at the same time one may call before the other has heard of it.
    let quickTries = isHurried ? Self.hurriedTries : 1
    let isSoon = links[index].failures <= quickTries
    links[index].retry = now + (isSoon ? .milliseconds(200) : .seconds(Int64(seconds)))
  }

  private func isWanted(_ link: Link, _ role: ChannelRole) -> Bool {
    link.isChecked && (role == .host || link.user.role == .host)
  }

  /// Whether we are to call: of two the one with the lesser ID does. Nobody calls itself.
  private func isFirst(_ other: PeerID) -> Bool {
    own.bytes.lexicographicallyPrecedes(other.bytes)
  }

  private func index(of uid: UInt32) -> Int? { links.firstIndex { $0.user.uid == uid } }

  /// Seconds.
  private static let longestRetry = 10
  private static let hurriedTries = 8
  /// For a member to call us first, so that two without a seat do not call each other.
  private static let patience = Duration.seconds(1)
}
