import Cryptography
import GroupKeys
import Primitives
import SecureSession
import Testing
import Tokens
import Wire

/// As the macro, which cannot look into what is not copyable.
func expect(
  _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  if !condition { Issue.record(comment() ?? "does not hold", sourceLocation: sourceLocation) }
}

/// Seconds since 1970 UTC, somewhere in 2026.
let testDay: UInt64 = 1_790_000_000

func instant(_ milliseconds: Int) -> Instant {
  Instant(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
}

func secretKey(_ byte: UInt8) -> SecretKey {
  var random = RandomSource(replaying: Array(repeating: byte, count: 32))
  return SecretKey(random: &random)
}

/// Somebody with an identity, a card and a token of the test's channel.
final class Person: Sendable {
  let identity: LocalIdentity
  let card: ContactCard
  let hostToken: [UInt8]
  let audienceToken: [UInt8]

  init(seed: UInt64) throws {
    var random = RandomSource(seed: seed)
    var identity = LocalIdentity(kind: .peer, unixSeconds: testDay, random: &random)
    card = try identity.makeCard(unixSeconds: testDay)
    hostToken = Self.token(of: identity.id, scope: "publish", by: TestChannel.key())
    audienceToken = Self.token(of: identity.id, scope: "listen", by: TestChannel.key())
    self.identity = identity
  }

  static func token(
    of id: PeerID, scope: String, by key: borrowing TokenSigningKey
  ) -> [UInt8] {
    let claims = TokenClaims(
      audience: "room", subject: id, scope: scope, expires: (testDay + 3600) * 1000)
    return Array(PublicToken(signing: claims.json, by: key).text.utf8)
  }

  func claim(
    uid: UInt32, role: MemberRole = .host, joinNumber: UInt64? = nil, token: [UInt8]? = nil
  ) -> MemberClaim {
    MemberClaim(
      uid: uid, role: role, joinNumber: joinNumber ?? UInt64(uid), card: card,
      token: token ?? (role == .host ? hostToken : audienceToken))
  }

  func member(
    uid: UInt32, role: MemberRole = .host, joinNumber: UInt64? = nil
  ) throws -> VerifiedMember {
    try TestChannel.verified(claim(uid: uid, role: role, joinNumber: joinNumber))
  }
}

enum TestChannel {
  static let id = Bytes32(InlineArray(repeating: 9))

  static func key() -> TokenSigningKey {
    var random = RandomSource(seed: 77)
    return TokenSigningKey(random: &random)
  }

  static let rule: MembershipRule = {
    let publicKey = key().publicKey
    return .token(
      host: TokenRule(key: publicKey, audience: "room", scope: "publish"),
      audience: TokenRule(key: publicKey, audience: "room", scope: "listen"))
  }()

  static func verified(_ claim: MemberClaim) throws(MembershipFault) -> VerifiedMember {
    try VerifiedMember(verifying: claim, by: rule, unixMilliseconds: testDay * 1000)
  }

  /// Made once: an identity, its card and two tokens take a few hundred microseconds.
  static let people: [Person] = (0..<16).compactMap { try? Person(seed: 1000 + $0) }
}

/// One end of a channel with its machine.
final class TestMember {
  let person: Person
  let member: VerifiedMember
  var machine: GroupKeyMachine

  init(
    _ person: Person, _ member: VerifiedMember, limits: GroupKeyLimits = GroupKeyLimits()
  ) {
    self.person = person
    self.member = member
    machine = GroupKeyMachine(
      channel: TestChannel.id, member: member,
      random: RandomSource(seed: UInt64(member.uid) << 32 | member.joinNumber), limits: limits)
  }

  convenience init(
    _ number: Int, uid: UInt32, role: MemberRole = .host, joinNumber: UInt64? = nil,
    limits: GroupKeyLimits = GroupKeyLimits()
  ) throws {
    let person = TestChannel.people[number]
    self.init(
      person, try person.member(uid: uid, role: role, joinNumber: joinNumber), limits: limits)
  }

  var uid: UInt32 { member.uid }
  var fingerprint: String { machine.fingerprint.text }
  var isPublishing: Bool { machine.isPublishing }
  var memberCount: Int { machine.memberCount }
  var freshKeyCount: Int { machine.freshKeyCount }
  var generation: UInt32? { machine.keyInUse?.generation }
  var step: UInt32? { machine.keyInUse?.step }
  var counters: GroupKeyCounters { machine.counters }
  var nextDeadline: Instant? { machine.nextDeadline }

  /// A sealed frame.
  func seal(_ text: [UInt8], metadata: [UInt8] = []) throws(SFrameError) -> [UInt8] {
    let room = GroupKeyMachine.headerRoom
    var bytes = [UInt8](repeating: 0, count: room) + text
    bytes += [UInt8](repeating: 0, count: GroupKeyMachine.tagByteCount)
    var span = bytes.mutableSpan
    let place = try machine.seal(
      &span, text: room..<(room + text.count), metadata: metadata.span)
    return Array(bytes[place])
  }

  /// The plain text of a frame.
  func open(
    _ frame: [UInt8], from uid: UInt32, metadata: [UInt8] = [], now: Instant
  ) throws(SFrameError) -> [UInt8] {
    var bytes = frame
    var span = bytes.mutableSpan
    let text = try machine.open(
      &span, at: 0..<frame.count, from: uid, metadata: metadata.span, now: now)
    return Array(bytes[text])
  }

  func refusal(of frame: [UInt8], from uid: UInt32, now: Instant) -> SFrameError? {
    do throws(SFrameError) {
      _ = try open(frame, from: uid, now: now)
      return nil
    } catch {
      return error
    }
  }

  func poll(now: Instant) -> OutgoingKeyMessage? {
    machine.pollMessage(identity: person.identity, now: now)
  }

  func receive(_ bytes: [UInt8], from uid: UInt32, now: Instant) throws(KeyMessageError) {
    try machine.handleMessage(bytes.span, from: uid, identity: person.identity, now: now)
  }
}

/// Members that see the same roster at once, and whose messages all arrive.
final class TestGroup {
  private(set) var members: [TestMember] = []
  private(set) var revision: UInt64 = 0
  var now = instant(0)

  subscript(uid: UInt32) -> TestMember {
    guard let found = members.first(where: { $0.member.uid == uid }) else {
      preconditionFailure("no member \(uid)")
    }
    return found
  }

  func join(_ newcomer: TestMember) throws {
    revision += 1
    for other in members {
      try other.machine.handleJoin(newcomer.member, revision: revision, now: now)
      try newcomer.machine.handleJoin(other.member, revision: revision, now: now)
    }
    members.append(newcomer)
    newcomer.machine.startPublishing()
  }

  func leave(_ uid: UInt32, _ departure: Departure = .left, successor: PeerID? = nil) {
    revision += 1
    members.removeAll { $0.member.uid == uid }
    for other in members {
      other.machine.handleLeave(
        uid, departure, successor: successor, revision: revision, now: now)
    }
  }

  /// Delivers everything until nobody has anything to say; how many messages there were.
  @discardableResult
  func settle() -> Int {
    var count = 0
    var isBusy = true
    while isBusy {
      isBusy = false
      for sender in members {
        while let message = sender.poll(now: now) {
          isBusy = true
          count += 1
          let receiver = members.first { $0.member.uid == message.recipient }
          try? receiver?.receive(message.bytes, from: sender.member.uid, now: now)
        }
      }
    }
    return count
  }

  func wait(_ milliseconds: Int) {
    now = now + .milliseconds(milliseconds)
    for member in members { member.machine.handleTimeout(now: now) }
  }
}
