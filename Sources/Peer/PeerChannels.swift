import Calling
import Channels
package import Primitives
package import Wire

/// The channels of one peer (docs/protocol/channels.md): what they say to the rendezvous, and what
/// the peer tells of them. The rules are `ChannelClient`'s.
package struct PeerChannels {
  /// Once one was joined.
  private var client: ChannelClient?
  /// Tokens that members have shown, whatever they are worth; those of a channel that was left
  /// stay until another one is joined.
  private var proofs: [Bytes32: [UInt32: Proof]] = [:]
  /// Whose tokens are to be asked for, in channels with a key.
  private var questions: [Bytes32: ProofQuestions] = [:]

  /// The token of a member, as the rendezvous says.
  package struct Proof: Sendable {
    package let joinNumber: UInt64
    package let token: [UInt8]
  }

  /// What a relay's machine is to know of a channel (docs/protocol/relay.md).
  package struct Standing: Sendable {
    package var own: ChannelMember
    package var token: [UInt8]
    package var members: [ChannelMember]
    package var revision: UInt64
    /// Whether the members are those of the revision, and no others.
    package var isExact: Bool
    package var proofs: [UInt32: Proof]
  }

  /// `nil` before the roster has come.
  package func standing(in channel: Bytes32) -> Standing? {
    guard let client, let own = client.own(in: channel) else { return nil }
    return Standing(
      own: own.member, token: own.token, members: client.members(of: channel),
      revision: client.revision(of: channel), isExact: client.isExact(in: channel),
      proofs: proofs[channel] ?? [:])
  }

  /// The token that a member has shown; `nil` where none is known.
  package func proof(of uid: UInt32, in channel: Bytes32) -> Proof? { proofs[channel]?[uid] }

  /// The channel in whose mesh a call is, if we are in it; what others say of channels that we know
  /// nothing of makes no room for further calls with them. A channel that was made of a call is
  /// none: the call is one of it, and says nothing.
  func mesh(of words: String?) -> Bytes32? {
    guard let channel = CallWords.channel(of: words),
      let identity = client?.channels.first(where: { $0.id == channel }),
      identity.key == nil || identity.name.description != Self.nameOfCalls
    else { return nil }
    return channel
  }

  /// What channels are called that were made of calls (docs/protocol/channels.md §10).
  package static let nameOfCalls = "call"

  /// The call with a peer in the same mesh as a new one, or as that in none.
  func openCall(
    with peer: PeerID, _ options: InviteOptions, _ ledger: CallLedger
  ) -> CallID? {
    ledger.openCall(with: peer, in: mesh(of: options.userExtension))
  }

  /// The members of a channel as its user sees them, with the own one; by rising uid.
  package func members(of channel: Bytes32) -> [ChannelMember] {
    client?.members(of: channel) ?? []
  }

  /// - Parameter random: Where the stays of channels come from, if this is the first command.
  mutating func run(
    isConnected: Bool, random: inout RandomSource, now: Instant,
    _ command: (inout ChannelClient) throws(ChannelRefusal) -> Void
  ) throws(ChannelRefusal) {
    var client: ChannelClient
    if let known = self.client {
      client = known
    } else {
      client = ChannelClient(random: random.split())
      client.handleConnection(isConnected, now: now)
    }
    defer { self.client = client }
    try command(&client)
    for channel in proofs.keys where client.state(of: channel) == nil { proofs[channel] = nil }
    for channel in questions.keys where client.state(of: channel) == nil {
      questions[channel] = nil
    }
  }

  /// The others hear of it at once, and not by silence.
  mutating func leaveAll(now: Instant) {
    for identity in client?.channels ?? [] {
      do throws(ChannelRefusal) {
        try client?.leave(identity.id, now: now)
      } catch {
        // It is none any more.
      }
    }
  }

  mutating func handle(_ notice: ChannelNotice, now: Instant) {
    client?.handle(notice, now: now)
  }

  /// Contact with the rendezvous stands, or has ended.
  mutating func handleContact(_ step: RegistrationStep, now: Instant) {
    if case .doubted = step { return }
    if case .registered = step {
      client?.handleConnection(true, now: now)
    } else {
      client?.handleConnection(false, now: now)
    }
  }

  mutating func handleTimeout(now: Instant) { client?.handleTimeout(now: now) }

  var nextDeadline: Instant? {
    questions.values.reduce(client?.nextDeadline) { earliest($0, $1.due) }
  }

  // MARK: - Outputs

  /// Says what is to be said. Each request is made again after a second where no answer came; the
  /// last word is not.
  mutating func sendRequests(
    by rendezvous: inout RendezvousLink, unixSeconds: UInt64, now: Instant
  ) {
    while let request = pollRequest(unixSeconds: unixSeconds, now: now) {
      rendezvous.send(.channel(request), life: .seconds(2), now: now)
    }
  }

  /// - Parameter unixSeconds: What our own clock shows, by which tokens are judged.
  mutating func pollRequest(unixSeconds: UInt64, now: Instant) -> ChannelRequest? {
    for channel in questions.compactMap({ $0.value.isDue(now: now) ? $0.key : nil }) {
      askProofs(in: channel, unixSeconds, now: now)
    }
    return client?.pollRequest(now: now)
  }

  /// - Parameter unixSeconds: As above.
  mutating func pollEvent(unixSeconds: UInt64) -> PeerEvent? {
    guard let (channel, event) = client?.pollEvent() else { return nil }
    guard channel.key != nil else { return .channel(channel, event) }
    switch event {
    case .proven(let uid, let joinNumber, let token):
      return keep(
        Proof(joinNumber: joinNumber, token: token), of: uid, in: channel,
        unixMilliseconds: unixSeconds * 1000)
    case .userOffline(let uid, let reason):
      if reason != .becameAudience { proofs[channel.id]?[uid] = nil }
    case .audienceLeft(let uid, _): proofs[channel.id]?[uid] = nil
    case .rejoined: questions[channel.id]?.restart()
    default: break
    }
    // Whatever happens may be a reason to ask somebody.
    questions[channel.id, default: ProofQuestions()].handleChange()
    return .channel(channel, event)
  }

  /// Asks for tokens of members that have shown none which is good.
  private mutating func askProofs(in channel: Bytes32, _ unixSeconds: UInt64, now: Instant) {
    // Taken out: it has an entry for each of thousands of members.
    guard var open = questions.removeValue(forKey: channel) else { return }
    defer { questions[channel] = open }
    guard let own = client?.own(in: channel)?.member, client?.state(of: channel) == .joined else {
      return open.rest()
    }
    open.ask(members(of: channel), own: own, unixMilliseconds: unixSeconds * 1000, now: now) {
      uid in
      do throws(ChannelRefusal) {
        try client?.requestProof(of: uid, in: channel)
        return true
      } catch {
        return false  // Too much waits.
      }
    }
  }

  /// Keeps what a member has shown, if the roster has that stay. Of another stay it is asked for
  /// when the roster shows it. A rendezvous may say anything of anybody, asked or not.
  private mutating func keep(
    _ proof: Proof, of uid: UInt32, in channel: ChannelIdentity, unixMilliseconds: UInt64
  ) -> PeerEvent {
    guard let member = client?.member(uid, of: channel.id), member.joinNumber == proof.joinNumber
    else { return .memberChecked(channel, uid: uid, .subject) }
    // In place: there is one for each of thousands of members.
    proofs[channel.id, default: [:]][uid] = proof
    forgetAbsent(in: channel.id)
    do throws(TokenFault) {
      let end = try channel.end(
        of: proof.token, of: member, unixMilliseconds: unixMilliseconds)
      questions[channel.id]?.handleProof(of: member, until: end)
      return .memberChecked(channel, uid: uid, nil)
    } catch {
      questions[channel.id]?.handleProof(of: member, until: nil)
      return .memberChecked(channel, uid: uid, error)
    }
  }

  /// Where too many events waited, some were not told of who is gone.
  private mutating func forgetAbsent(in channel: Bytes32) {
    let members = members(of: channel)
    guard proofs[channel, default: [:]].count > members.count else { return }
    let uids = Set(members.map(\.uid))
    proofs[channel] = proofs[channel]?.filter { uids.contains($0.key) }
  }
}

/// Whose tokens are to be asked for in one channel (docs/protocol/channels.md §5): of all members
/// whom the own role needs, hosts first. It is asked again where no answer comes, and anew where a
/// token has ended or is no good.
struct ProofQuestions {
  private var proofs: [UInt32: ShownToken] = [:]
  private var questions: [UInt32: ProofQuestion] = [:]
  private var pace = ProofPace()
  /// When there may be somebody to ask; `nil` = once something happens.
  private(set) var due: Instant?

  // MARK: - Inputs

  /// Who is there has changed.
  mutating func handleChange() { due = .zero }

  /// Nobody can be asked at present.
  mutating func rest() { due = nil }

  /// What was asked may be lost, and is asked at once.
  mutating func restart() {
    questions = [:]
    due = .zero
  }

  /// A member has shown a token.
  ///
  /// - Parameter end: Of the token in ms since 1970 UTC; `nil` = it is not good.
  mutating func handleProof(of member: ChannelMember, until end: UInt64?) {
    proofs[member.uid] = ShownToken(joinNumber: member.joinNumber, role: member.role, end: end)
    // Of one that is no good the pauses grow.
    if end != nil { questions[member.uid] = nil }
    due = .zero
  }

  // MARK: - Outputs

  func isDue(now: Instant) -> Bool { due.map { $0 <= now } ?? false }

  /// Whom to ask now; the next look is due after it.
  ///
  /// - Parameters:
  ///   - unixMilliseconds: What our own clock shows.
  ///   - ask: Gives `false` where no more can be asked.
  mutating func ask(
    _ members: [ChannelMember], own: ChannelMember, unixMilliseconds: UInt64, now: Instant,
    _ ask: (UInt32) -> Bool
  ) {
    guard pace.admits(now: now) else { return due = now + ProofPace.step }
    forget(allBut: members)
    let listeners = members.count { $0.role == .audience }
    let needsHostsAlone = own.role == .audience && listeners > RelayedMembers.largeAudience
    due = nil
    var open: [(member: ChannelMember, count: Int)] = []
    for member in members
    where member.uid != own.uid && (member.role == .host || !needsHostsAlone) {
      let next = next(of: member, unixMilliseconds: unixMilliseconds, now: now)
      if next > now {
        due = earliest(due, next)
      } else {
        open.append((member, question(of: member)?.count ?? 0))
      }
    }
    open.sort { Self.rank($0) < Self.rank($1) }
    for (member, count) in open {
      guard pace.admits(now: now), ask(member.uid) else {
        due = earliest(due, now + ProofPace.step)
        return
      }
      pace.handleQuestion(now: now)
      let next = now + ProofPace.pause(after: count)
      questions[member.uid] = ProofQuestion(
        joinNumber: member.joinNumber, count: count + 1, next: next)
      due = earliest(due, next)
    }
  }

  /// When a member is to be asked.
  private func next(
    of member: ChannelMember, unixMilliseconds: UInt64, now: Instant
  ) -> Instant {
    let life = proofs[member.uid]?.life(of: member, unixMilliseconds: unixMilliseconds)
    return max(question(of: member)?.next ?? .zero, life.map { now + $0 } ?? .zero)
  }

  private func question(of member: ChannelMember) -> ProofQuestion? {
    questions[member.uid].flatMap { $0.joinNumber == member.joinNumber ? $0 : nil }
  }

  private mutating func forget(allBut members: [ChannelMember]) {
    guard max(proofs.count, questions.count) > members.count else { return }
    let uids = Set(members.map(\.uid))
    proofs = proofs.filter { uids.contains($0.key) }
    questions = questions.filter { uids.contains($0.key) }
  }

  /// Hosts first, then who was asked the fewest times.
  private static func rank(_ open: (member: ChannelMember, count: Int)) -> (Int, Int, UInt32) {
    (open.member.role == .host ? 0 : 1, open.count, open.member.uid)
  }
}

/// What is known of a token that a member has shown.
private struct ShownToken {
  let joinNumber: UInt64
  /// That it was checked for.
  let role: MemberRole
  /// In ms since 1970 UTC; `nil` = it is not good.
  let end: UInt64?

  /// How long it is good for what a member is now, and may be believed before another look; `nil` =
  /// it is not.
  func life(of member: ChannelMember, unixMilliseconds: UInt64) -> Duration? {
    guard joinNumber == member.joinNumber, let end, role == .host || member.role == .audience
    else { return nil }
    let left = end > unixMilliseconds ? min(end - unixMilliseconds, Self.longestLook) : 0
    return .milliseconds(Int64(left))
  }

  /// A clock may be set: ends are looked at anew, ms.
  private static let longestLook: UInt64 = 60_000
}

private struct ProofQuestion {
  let joinNumber: UInt64
  var count = 0
  /// When it is asked again.
  var next: Instant
}

/// How often PROOF is asked for: within what a rendezvous answers (`ChannelLimits`).
struct ProofPace {
  /// When an even pace would allow the next question.
  private var paced = Instant.zero

  func admits(now: Instant) -> Bool { max(paced, now) - now <= Self.burst }

  mutating func handleQuestion(now: Instant) { paced = max(paced, now) + Self.interval }

  /// An answer takes a round trip, and one that is lost is not told: 2 s for four times, then twice
  /// as long each time.
  static func pause(after count: Int) -> Duration {
    .seconds(Int64(2 << min(max(0, count - 3), 5)))
  }

  /// From one question to the next: 40 a second of the server's 50.
  private static let interval = Duration.milliseconds(25)
  /// Questions at once: 128 of the server's 200.
  private static let burst = interval * 127
  /// From one look to the next where more are to be asked.
  static let step = Duration.milliseconds(50)
}
