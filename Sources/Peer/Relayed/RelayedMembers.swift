import Channels
import GroupKeys
import Primitives
import SecureSession
import Wire

/// Who is in a channel whose media goes by a relay: whom the roster names, and whom of them we have
/// verified (docs/protocol/sframe.md §3). Cards come from the relay and prove themselves.
struct RelayedMembers {
  /// A member that has not been verified.
  private struct Stranger {
    var member: ChannelMember
    var card: ContactCard?
    var nextQuestion: Instant
    var lastQuestion: Instant?
    var questionCount = 0
    /// One that it has shown and that is no good: a newer one is waited for.
    var refusedToken: [UInt8]?

    /// It shows that its card is there: who is asked for each second is asked for at once, but as
    /// often as others at the most.
    mutating func hurry(now: Instant) {
      guard let lastQuestion else { return }
      nextQuestion = min(nextQuestion, max(now, lastQuestion + RelayedMembers.quickPause))
    }
  }

  /// One whose card, and token where the channel has a key, we have checked.
  private struct Acquaintance {
    let member: ChannelMember
    let card: ContactCard
  }

  private let rule: MembershipRule
  private let own: UInt32
  private var strangers: [Stranger] = []
  private var acquaintances: [Acquaintance] = []
  /// Tokens that members have shown, by uid.
  private var tokens: [UInt32: (joinNumber: UInt64, token: [UInt8])] = [:]
  /// Messages about keys of hosts that could not be verified yet, by uid: of each the newest.
  private var messages: [UInt32: [UInt8]] = [:]
  /// Others of the audience are left out.
  private(set) var isPartial = false
  /// The roster is that of its revision, and nobody is on it who may come back.
  var isExact = true
  /// Members whose card or token was no good.
  private(set) var refusedCount: UInt64 = 0

  init(_ channel: ChannelIdentity, own: UInt32) {
    self.own = own
    if let host = channel.rule(for: .host), let audience = channel.rule(for: .audience) {
      rule = .token(host: host, audience: audience)
    } else {
      rule = .open
    }
  }

  /// Whether all of the roster's revision are verified.
  var isComplete: Bool { isExact && !isPartial && strangers.isEmpty }

  /// Those who are verified.
  var known: [ChannelMember] { acquaintances.map(\.member) }

  /// The roster has changed. Who has another role keeps the one before until its token was checked
  /// for the new one: the card that we have is good for both.
  ///
  /// Who only listens hands its key to nobody: of a large audience it verifies nobody but hosts.
  ///
  /// - Returns: Those who were verified and are gone, or are there anew.
  mutating func handleRoster(
    _ members: [ChannelMember], as role: MemberRole = .host, now: Instant
  ) -> [UInt32] {
    let audienceCount = members.count { $0.role == .audience }
    isPartial = role == .audience && audienceCount > Self.largeAudience
    let present = Dictionary(members.map { ($0.uid, $0) }) { first, _ in first }
    let gone = known.filter { old in
      guard let present = present[old.uid], Self.isSameStay(present, old) else { return true }
      // Of a large audience nobody is verified, nor is who was while a host.
      return isPartial && old.role == .host && present.role == .audience
    }.map(\.uid)
    let absent = Set(gone)
    acquaintances.removeAll { absent.contains($0.member.uid) }
    strangers.removeAll { present[$0.member.uid] != $0.member }
    tokens = tokens.filter { present[$0.key] != nil }
    messages = messages.filter { present[$0.key] != nil && !absent.contains($0.key) }
    let asked = Set(strangers.map(\.member.uid))
    let verified = Dictionary(acquaintances.map { ($0.member.uid, $0) }) { first, _ in first }
    for member in members where member.uid != own && !asked.contains(member.uid) {
      let former = verified[member.uid]
      if former?.member == member || (isPartial && member.role == .audience) { continue }
      strangers.append(Stranger(member: member, card: former?.card, nextQuestion: now))
    }
    return gone
  }

  mutating func handleToken(_ token: [UInt8], of uid: UInt32, joinNumber: UInt64) {
    tokens[uid] = (joinNumber, token)
  }

  /// A message about keys has come of a member before it was verified. Of a host's nothing is done
  /// with it until then. Whoever sends one has its seat, so its card is there.
  mutating func keepMessage(_ bytes: [UInt8], of uid: UInt32, now: Instant) {
    guard let index = strangers.firstIndex(where: { $0.member.uid == uid }) else { return }
    strangers[index].hurry(now: now)
    guard strangers[index].member.role == .host,
      messages[uid] != nil || messages.count < Self.mostMessages
    else { return }
    if messages[uid] == nil {
      strangers[index].nextQuestion = now
      strangers[index].questionCount = 0
    }
    messages[uid] = bytes
  }

  /// Cards to ask for, in a packet of its own.
  ///
  /// - Returns: Whether there is one.
  @_lifetime(packet: copy packet)
  mutating func writeFirstQuestions(
    into packet: inout OutputSpan<UInt8>, on association: Association, now: Instant
  ) -> Bool {
    guard !association.isClosing else { return false }
    Session.beginPacket(&packet)
    let start = packet.count
    for _ in 0..<Self.questionsAtOnce {
      guard let uid = popQuestion(now: now) else { break }
      ChannelWordFrame.writeQuestion(uid: uid, to: &packet)
    }
    if packet.count > start,
      association.seal(&packet, elicits: false, hasMessages: false, now: now)
    {
      return true
    }
    packet.removeAll()
    return false
  }

  /// What was kept of a member that is verified now.
  mutating func popMessage(of uid: UInt32) -> [UInt8]? { messages.removeValue(forKey: uid) }

  /// The relay says that this is a member's card; only that of the roster's ID is believed.
  mutating func handleCard(_ bytes: [UInt8], of uid: UInt32) {
    guard let index = strangers.firstIndex(where: { $0.member.uid == uid }),
      strangers[index].card == nil
    else { return }
    do throws(WireError) {
      let card = try ContactCard(parsing: bytes)
      guard card.id == strangers[index].member.id else { return refusedCount &+= 1 }
      strangers[index].card = card
    } catch {
      refusedCount &+= 1
    }
  }

  /// The next member that can be verified now; call until `nil`.
  mutating func popVerified(unixMilliseconds: UInt64) -> VerifiedMember? {
    for index in strangers.indices {
      let stranger = strangers[index]
      guard let card = stranger.card, let token = token(of: stranger.member),
        token != stranger.refusedToken
      else { continue }
      let claim = MemberClaim(
        uid: stranger.member.uid, role: stranger.member.role,
        joinNumber: stranger.member.joinNumber, card: card, token: token)
      do throws(MembershipFault) {
        let member = try VerifiedMember(
          verifying: claim, by: rule, unixMilliseconds: unixMilliseconds)
        acquaintances.removeAll { $0.member.uid == stranger.member.uid }
        acquaintances.append(Acquaintance(member: stranger.member, card: card))
        strangers.remove(at: index)
        return member
      } catch {
        // It gets nothing; another card may come, or another token.
        refusedCount &+= 1
        if case .token = error {
          strangers[index].refusedToken = token
        } else {
          strangers[index].card = nil
        }
      }
    }
    return nil
  }

  /// Ourselves, by our own card and token.
  func verifyOwn(
    _ member: ChannelMember, _ card: ContactCard, token: [UInt8], unixMilliseconds: UInt64
  ) throws(MembershipFault) -> VerifiedMember {
    try VerifiedMember(
      verifying: MemberClaim(
        uid: member.uid, role: member.role, joinNumber: member.joinNumber, card: card,
        token: token), by: rule, unixMilliseconds: unixMilliseconds)
  }

  /// Whose card is to be asked for now.
  mutating func popQuestion(now: Instant) -> UInt32? {
    let due = strangers.firstIndex { $0.card == nil && $0.nextQuestion <= now }
    guard let due else { return nil }
    strangers[due].nextQuestion = now + Self.pause(after: strangers[due].questionCount)
    strangers[due].lastQuestion = now
    strangers[due].questionCount += 1
    return strangers[due].member.uid
  }

  var nextDeadline: Instant? {
    strangers.lazy.filter { $0.card == nil }.map(\.nextQuestion).min()
  }

  /// Whose card the relay does not have yet takes its seat within a round trip or two, or is gone.
  private static func pause(after count: Int) -> Duration {
    count < 12 ? min(.milliseconds(20 << Int64(min(count, 4))), quickPause) : .seconds(1)
  }

  private static let quickPause = Duration.milliseconds(250)

  /// `nil` while one is needed and has not come.
  private func token(of member: ChannelMember) -> [UInt8]? {
    guard case .token = rule else { return [] }
    guard let shown = tokens[member.uid], shown.joinNumber == member.joinNumber else { return nil }
    return shown.token
  }

  /// Cards that are asked for in a packet.
  static let questionsAtOnce = 20
  /// Hosts of a channel (`GroupKeyLimits.hosts`), 200 bytes each.
  private static let mostMessages = 64
  /// As for fresh keys (`GroupKeyLimits.largeAudience`).
  static let largeAudience = 100

  private static func isSameStay(_ one: ChannelMember, _ other: ChannelMember) -> Bool {
    one.uid == other.uid && one.id == other.id && one.joinNumber == other.joinNumber
  }
}
