import Channels
import Primitives
import Testing
import Tokens
import Wire

@testable import Peer

/// The channels of one peer; what members and directory say to each other is in `ChannelsTests`.
@Suite struct PeerChannelsTests {
  @Test func `without a channel nothing is due, and a join is told and has a deadline`() throws {
    var channels = PeerChannels()
    var random = RandomSource(seed: 1)
    let now = Instant(nanoseconds: 1_000_000_000)
    let tea = try #require(ChannelIdentity("tea"))
    #expect(channels.nextDeadline == nil && channels.members(of: tea.id).isEmpty)
    let nothing = channels.pollEvent(unixSeconds: 0)
    #expect(nothing == nil)
    try channels.run(isConnected: false, random: &random, now: now) {
      client throws(ChannelRefusal) in
      try client.join(tea, as: .audience, uid: 0, token: [], now: now)
    }
    guard
      case .channel(tea, .stateChanged(.joining, .joining))? =
        channels.pollEvent(unixSeconds: 0)
    else { return #expect(Bool(false), "joining is not told") }
    #expect(channels.nextDeadline != nil)
    channels.leaveAll(now: now)
    guard
      case .channel(tea, .stateChanged(.left, .left))? =
        channels.pollEvent(unixSeconds: 0)
    else { return #expect(Bool(false), "leaving is not told") }
  }

  /// A channel with a key, in which member 2 is beside us.
  private func join(
    _ channels: inout PeerChannels, now: Instant
  ) throws -> ChannelIdentity {
    var random = RandomSource(seed: 1)
    var ahead = RandomSource(seed: 1)
    var choices = ahead.split()
    let stay = choices.next()
    let key = TokenSigningKey(random: &ahead).publicKey
    let tea = ChannelIdentity(name: try #require(PeerName("tea")), key: key)
    try channels.run(isConnected: true, random: &random, now: now) {
      client throws(ChannelRefusal) in
      try client.join(tea, as: .audience, uid: 0, token: [], now: now)
    }
    let welcome = ChannelWelcome(
      stay: stay, number: 0, uid: 1, role: .audience, joinNumber: 1, epoch: 9, period: 1000)
    channels.handle(ChannelNotice(channel: tea.id, .welcome(welcome)), now: now)
    let members = (UInt32(1)...2).map { uid in
      ChannelMember(
        uid: uid, role: .audience, joinNumber: UInt64(uid),
        id: PeerID(word0: UInt64(uid), word1: 0, word2: 0, word3: 0))
    }
    let page = RosterPage(epoch: 9, revision: 2, after: 0, isLast: true, members: members)
    channels.handle(ChannelNotice(channel: tea.id, .roster(page)), now: now)
    return tea
  }

  /// Goal: a rendezvous fills no memory by the tokens of nobody.
  @Test func `tokens are kept of stays that the roster has, and of no others`() throws {
    var channels = PeerChannels()
    let now = Instant(nanoseconds: 1_000_000_000)
    let tea = try join(&channels, now: now)
    func tell(_ uid: UInt32, joinNumber: UInt64) -> [UInt32: UInt64]? {
      let token = [UInt8](repeating: 7, count: 512)
      channels.handle(
        ChannelNotice(channel: tea.id, .proven(uid: uid, joinNumber: joinNumber, token: token)),
        now: now)
      while channels.pollEvent(unixSeconds: 0) != nil {}
      return channels.standing(in: tea.id)?.proofs.mapValues(\.joinNumber)
    }
    #expect(tell(2, joinNumber: 2) == [2: 2])
    for uid in UInt32(3)...1_000 { _ = tell(uid, joinNumber: UInt64(uid)) }
    // Of a stay of the same member that is over, or is to come.
    #expect(tell(2, joinNumber: 1) == [2: 2])
    #expect(tell(2, joinNumber: 3) == [2: 2])
  }

  /// Goal: in a channel of many members a newcomer knows the token of each, whatever is lost.
  @Test(arguments: 1...3 as ClosedRange<UInt64>)
  func `each of 300 members is proven to a newcomer, hosts first`(seed: UInt64) throws {
    let world = try ProofWorld(seed: seed, hosts: 16, listeners: 284)
    try world.join(.host)
    // The session breaks for a while, and a fifth of what is asked is lost all the time.
    world.loss = 0.2
    world.run(.seconds(1))
    world.isConnected = false
    world.run(.seconds(3))
    world.isConnected = true
    world.run(.seconds(36))
    #expect(world.good.count == 300, "seed \(seed)")
    #expect(world.proofCount == 300)
    #expect(world.dropped == 0, "no more than the rendezvous answers")
  }

  @Test func `without loss hosts are proven within half a second, and 300 members within six`()
    throws
  {
    let world = try ProofWorld(seed: 4, hosts: 16, listeners: 284)
    try world.join(.host)
    world.run(.milliseconds(500))
    #expect(world.good.isSuperset(of: world.hosts))
    world.run(.seconds(6))
    #expect(world.good.count == 300 && world.dropped == 0 && world.asked == 300)
  }

  /// It gives its key to hosts alone, and hears no others.
  @Test func `who only listens among many asks for the tokens of hosts`() throws {
    let world = try ProofWorld(seed: 5, hosts: 16, listeners: 284)
    try world.join(.audience)
    world.run(.seconds(20))
    #expect(world.good == world.hosts && world.asked == 16)
  }

  /// Goal: a seat that is taken later finds tokens that are good then.
  @Test func `a token that has ended is asked for anew, and once a newer one is there it is known`()
    throws
  {
    let world = try ProofWorld(seed: 6, hosts: 2, listeners: 1, tokenLife: 60)
    try world.join(.host)
    world.run(.seconds(20))
    #expect(world.asked == 3)
    world.renewAll(seconds: 600)
    world.run(.seconds(35))
    #expect(world.asked == 3, "the tokens of before are still good")
    world.run(.seconds(10))
    #expect(world.asked == 6 && world.goodProofs == 3)
    world.run(.seconds(60))
    #expect(world.asked == 6 && world.proofCount == 3)
  }

  /// A rendezvous that never shows a good token is asked less and less often.
  @Test func `a token that is no good is asked for with growing pauses`() throws {
    let world = try ProofWorld(seed: 7, hosts: 1, listeners: 0, clockLead: 120, tokenLife: 60)
    try world.join(.host)
    world.run(.seconds(50))
    #expect(world.good.isEmpty && (7...9).contains(world.asked), "\(world.asked)")
  }
}

/// A channel with a key at a rendezvous, its members, and one peer that joins it.
private final class ProofWorld {
  let room: ChannelIdentity
  private let key: TokenSigningKey
  private var directory: ChannelDirectory
  private var channels = PeerChannels()
  private var random: RandomSource
  private var members: [(program: ChannelProgram, stay: UInt64, role: MemberRole)] = []
  private var renewals: UInt32 = 0
  private let own = ProofWorld.program(1000)
  private(set) var now = Instant(nanoseconds: 1_000_000_000)
  /// Of our own clock before that of the rendezvous, in s.
  private let clockLead: UInt64
  private let tokenLife: UInt64
  private var late: [(at: Instant, notice: ChannelNotice)] = []
  var isConnected = true { didSet { channels.handleContact(contact, now: now) } }
  /// Of questions.
  var loss = 0.0
  private(set) var asked = 0
  /// Uids whose newest token was found good.
  private(set) var good: Set<UInt32> = []
  var hosts: Set<UInt32> {
    Set(directory.members(of: room.id).filter { $0.role == .host && $0.id != own.id }.map(\.uid))
  }
  var dropped: UInt64 { directory.counters.requestsDropped }

  private static let unixStart: UInt64 = 1_800_000_000
  private var unixMilliseconds: UInt64 { Self.unixStart * 1000 + now.nanoseconds / 1_000_000 }
  private var contact: RegistrationStep {
    isConnected
      ? .registered(seenAs: SocketAddress(v4: 10, 0, 0, 1, port: 4000), name: .none)
      : .reconnecting
  }

  private static func program(_ number: UInt64) -> ChannelProgram {
    ChannelProgram(
      id: PeerID(word0: number, word1: 1, word2: 2, word3: 3),
      presence: PresenceID(rawValue: number))
  }

  init(
    seed: UInt64, hosts: Int, listeners: Int, clockLead: UInt64 = 0, tokenLife: UInt64 = 600
  ) throws {
    random = RandomSource(seed: seed)
    key = TokenSigningKey(random: &random)
    room = ChannelIdentity(name: try #require(PeerName("tea")), key: key.publicKey)
    directory = ChannelDirectory(random: random.split())
    self.clockLead = clockLead
    self.tokenLife = tokenLife
    members = (1...UInt64(hosts + listeners)).map { number in
      (Self.program(number), number, number > UInt64(listeners) ? .host : .audience)
    }
    for member in members {
      let join = ChannelJoin(
        role: member.role, uid: 0, epoch: 0, revision: 0, key: key.publicKey.bytes,
        name: room.name, token: token(of: member.program, seconds: tokenLife))
      handle(
        ChannelRequest(channel: room.id, stay: member.stay, number: 0, .join(join)),
        member.program)
    }
  }

  private func token(of program: ChannelProgram, seconds: UInt64) -> [UInt8] {
    let claims = TokenClaims(
      audience: room.audience, subject: program.id, scope: "host audience",
      expires: (unixMilliseconds / 1000 + seconds) * 1000)
    return Array(PublicToken(signing: claims.json, by: key).text.utf8)
  }

  private func handle(_ request: ChannelRequest, _ program: ChannelProgram) {
    directory.handle(
      request, from: program, at: ChannelSource(host: program.presence.rawValue, network: 8),
      mayCheck: true, unixMilliseconds: unixMilliseconds, now: now)
    while let (to, notice) = directory.pollNotice() {
      if to == own { late.append((now + .milliseconds(40), notice)) }
    }
  }

  func join(_ role: MemberRole) throws {
    let (room, token, now) = (room, token(of: own, seconds: 10_000), now)
    try channels.run(isConnected: true, random: &random, now: now) {
      client throws(ChannelRefusal) in
      try client.join(room, as: role, token: token, now: now)
    }
  }

  func renewAll(seconds: UInt64) {
    renewals += 1
    for member in members {
      handle(
        ChannelRequest(
          channel: room.id, stay: member.stay, number: renewals,
          .renew(token(of: member.program, seconds: seconds))), member.program)
    }
  }

  func run(_ duration: Duration) {
    let end = now + duration
    while now < end {
      now = now + .milliseconds(10)
      if now.nanoseconds / 10_000_000 % 100 == 0 { keepMembers() }
      directory.handleTimeout(now: now)
      while let (at, notice) = late.first, at <= now {
        late.removeFirst()
        if isConnected { channels.handle(notice, now: now) }
      }
      if channels.nextDeadline.map({ $0 <= now }) ?? false { channels.handleTimeout(now: now) }
      let unix = unixMilliseconds / 1000 + clockLead
      while let event = channels.pollEvent(unixSeconds: unix) {
        if case .memberChecked(_, let uid, let fault) = event {
          if fault == nil { good.insert(uid) } else { good.remove(uid) }
        }
      }
      while let request = channels.pollRequest(unixSeconds: unix, now: now) {
        if case .proof = request.content {
          asked += 1
          if random.unit() < loss { continue }
        }
        if isConnected { handle(request, own) }
      }
    }
  }

  /// The others say that they are there.
  private func keepMembers() {
    for member in members {
      handle(
        ChannelRequest(
          channel: room.id, stay: member.stay, number: 0,
          .sync(RosterPosition(epoch: 0, revision: 0))), member.program)
    }
  }

  var proofCount: Int { channels.standing(in: room.id)?.proofs.count ?? 0 }

  /// Tokens that are kept and are good now.
  var goodProofs: Int {
    guard let standing = channels.standing(in: room.id) else { return 0 }
    return standing.members.count { member in
      guard let proof = standing.proofs[member.uid] else { return false }
      let end = try? room.end(of: proof.token, of: member, unixMilliseconds: unixMilliseconds)
      return end != nil
    }
  }
}
