import Channels
import Forwarding
import GroupKeys
import Peer
import Primitives
import Rendezvous
import SecureSession
import Tokens
import Wire

/// One channel by a relay with all that ships of it but sockets and sessions with the rendezvous:
/// the directory, the relay, and members with their rosters, keys and audio. For half a minute
/// anything happens by a seed, then it is quiet.
///
/// Who leaves keeps its machine and its seat, and is sent everything still.
final class ChannelTrial {
  /// A stay, as rosters have it.
  struct StayKey: Hashable {
    let uid: UInt32
    let joinNumber: UInt64
  }

  struct Flight {
    let at: Instant
    let order: Int
    let to: SocketAddress
    let from: SocketAddress
    let bytes: [UInt8]
  }

  enum Word {
    case request(ChannelRequest, TrialEnd, session: Int, life: Int)
    case notice(ChannelNotice, TrialEnd, session: Int)
  }

  /// A frame that a host has said, and who was on its roster then.
  struct Said {
    let host: Int
    let at: Instant
    let listeners: Set<StayKey>
  }

  let seed: UInt64
  var failures: [String] = []
  var heardCount = 0
  var frameCount: Int { said.count }
  var endCount: Int { ends.count }

  let channel: ChannelIdentity
  var now = Instant(nanoseconds: 1_000_000_000)
  var random: RandomSource
  var directory: ChannelDirectory
  var life = 0
  /// When the rendezvous did so last.
  private var began = Instant(nanoseconds: 1_000_000_000)
  var relay: RendezvousMachine
  var relayBoot: UInt64 = 1
  let relayIdentity: LocalIdentity
  let signer: TokenSigningKey
  var ends: [TrialEnd] = []
  var flights: [Flight] = []
  var words: [(at: Instant, order: Int, word: Word)] = []
  var order = 0
  var said: [Said] = []
  var loss = 0.0
  /// From the last change of who is there until all knew of it, and until all had a seat.
  var settling = (rosters: Duration.zero, seats: Duration.zero)
  var voices = VoiceWatch()
  let relayAddress = SocketAddress(v4: 192, 0, 2, 1, port: 7500)

  init(seed: UInt64) throws {
    self.seed = seed
    var random = RandomSource(seed: seed)
    guard let tea = ChannelIdentity("tea") else { throw WireError.invalid("name", at: 0) }
    channel = tea
    signer = TokenSigningKey(random: &random)
    relayIdentity = LocalIdentity(
      kind: .peer, unixSeconds: RelayedWorld.unixSeconds, random: &random)
    directory = ChannelDirectory(random: random.split())
    relay = try Self.makeRelay(
      relayIdentity.copy(), boot: 1, key: signer.publicKey, random: random.split())
    self.random = random
    loss = Double(self.random.next() % 3) * 0.05
  }

  private static func makeRelay(
    _ identity: consuming LocalIdentity, boot: UInt64, key: TokenPublicKey, random: RandomSource
  ) throws(WireError) -> RendezvousMachine {
    let card = try identity.makeCard(unixSeconds: RelayedWorld.unixSeconds)
    var settings = ServerSettings(
      identity: identity, card: card, bootCounter: boot, resetKey: Array(repeating: 1, count: 32),
      wallMilliseconds: RelayedWorld.unixSeconds * 1000, tokenKey: key)
    var limits = ForwardingLimits()
    limits.loudest = 64
    settings.forwarding = limits
    return RendezvousMachine(settings, store: MemoryStore(), random: random)
  }

  // MARK: - The course

  func run() throws {
    for _ in 0..<(2 + random.next() % 3) { try addEnd() }
    for _ in 0..<(10 + random.next() % 16) {
      try act()
      run(.milliseconds(Int64(random.next() % 2000)))
    }
    // Whoever was cut off is back, and then it is quiet.
    for end in ends where !end.lingers { connect(end) }
    runQuietly(.seconds(25))
    expectAgreement()
    let first = said.count
    run(.seconds(2))
    expectVoices(since: first)
  }

  /// Nothing happens any more; but whoever is dropped or comes back changes who is there for 20 s
  /// still. After the last change there is quiet.
  private func runQuietly(_ duration: Duration) {
    let (start, end) = (now, now + duration)
    var quietSince = now
    var truth = directory.members(of: channel.id)
    var (agreedSince, seatedSince) = (now, now)
    while now < end {
      run(.milliseconds(100))
      let newest = directory.members(of: channel.id)
      if newest != truth {
        (truth, quietSince) = (newest, now)
        if now > start + Self.dropping { fail("who is there changes still") }
      }
      // Who was there when the rendezvous began anew may come back: until then it counts as there.
      if awaitsOthers, now < began + Self.dropping { quietSince = now }
      if !isAgreed { agreedSince = now }
      if !isSeated { seatedSince = now }
    }
    settling = (max(.zero, agreedSince - quietSince), max(.zero, seatedSince - quietSince))
    if settling.rosters > Self.quiet { fail("rosters agree after \(settling.rosters)") }
  }

  private static let quiet = Duration.seconds(2)
  /// A member that says nothing is dropped after 20 s.
  private static let dropping = Duration.seconds(22)

  func act() throws {
    let end = ends[Int(random.next() % UInt64(ends.count))]
    switch random.next() % 12 {
    case 0..<4: if ends.count(where: { !$0.lingers }) < 7 { try addEnd() }
    case 4..<6: leave(end)
    case 6..<9:
      command { client throws(ChannelRefusal) in
        try client.setRole(
          self.random.next() % 2 == 0 ? .host : .audience, in: self.channel.id)
      } of: {
        end
      }
    case 9: end.session = 0
    case 10: connect(end)
    default: if random.next() % 3 == 0 { try restart() }
    }
  }

  func restart() throws {
    if random.next() % 2 == 0 {
      life += 1
      began = now
      directory = ChannelDirectory(random: random.split())
      for end in ends where !end.lingers { connect(end) }
    } else {
      relayBoot += 1
      voices.restart()
      relay = try Self.makeRelay(
        relayIdentity.copy(), boot: relayBoot, key: signer.publicKey, random: random.split())
    }
  }

  func addEnd() throws {
    let end = TrialEnd(ends.count + 1, random: &random)
    ends.append(end)
    connect(end)
    let role: MemberRole = random.next() % 3 == 0 ? .audience : .host
    try end.client.join(channel, as: role, now: now)
  }

  func leave(_ end: TrialEnd) {
    guard !end.lingers, end.session != 0, ends.count(where: { !$0.lingers }) > 2 else { return }
    command { client throws(ChannelRefusal) in
      try client.leave(self.channel.id, now: self.now)
    } of: {
      end
    }
    sendRequests(of: end)
    end.lingers = true
  }

  func command(
    _ body: (inout ChannelClient) throws(ChannelRefusal) -> Void, of end: () -> TrialEnd
  ) {
    do throws(ChannelRefusal) {
      try body(&end().client)
    } catch {
      return  // A refused command changes nothing.
    }
  }

  func connect(_ end: TrialEnd) {
    guard !end.lingers else { return }
    order += 1
    end.session = order
    end.client.handleConnection(true, now: now)
  }

  // MARK: - Time, in steps of 10 ms

  func run(_ duration: Duration) {
    let end = now + duration
    while now < end {
      now = now + .milliseconds(10)
      deliver()
      directory.handleTimeout(now: now)
      relay.handleTimeout(now: now)
      for end in ends { step(end) }
      if (now.nanoseconds / 10_000_000) % 10 == 0 {
        speak()
        watchVoices()
      }
      answerDirectory()
      drainRelay()
    }
  }

  func step(_ end: TrialEnd) {
    if !end.lingers {
      end.client.handleTimeout(now: now)
      sendRequests(of: end)
      while let (_, event) = end.client.pollEvent() { follow(event, end) }
      if end.asksAt.map({ $0 <= now }) ?? false {
        end.asksAt = now + .seconds(1)
        command { client throws(ChannelRefusal) in
          try client.requestRelay(in: self.channel.id)
        } of: {
          end
        }
      }
    }
    end.machine?.handleTimeout(now: now)
    drain(end)
  }

  func sendRequests(of end: TrialEnd) {
    while let request = end.client.pollRequest(now: now) {
      if end.session != 0 { send(.request(request, end, session: end.session, life: life)) }
    }
  }

  func follow(_ event: ChannelEvent, _ end: TrialEnd) {
    switch event {
    case .joined, .noRelay: end.asksAt = now
    case .relayGranted(let grant): accept(grant, end)
    case .roleChanged(_, let role):
      end.role = role
      end.machine?.handleRole(role, token: [], now: now)
    case .userOffline(let uid, .ended(let why)), .audienceLeft(let uid, let why):
      if !why.isOrdinary { end.departures[uid] = why }
    default: break
    }
    refresh(end)
  }

  /// What `ChannelRelay` does with a grant.
  func accept(_ grant: ChannelRelayGrant, _ end: TrialEnd) {
    end.asksAt = nil
    guard end.machine == nil else { return end.machine!.renew(grant, now: now) }
    guard var own = end.client.own(in: channel.id)?.member else { return end.asksAt = now }
    own.role = end.role ?? own.role
    var settings = ChannelRelayMachine.Settings(
      channel: channel, own: own, token: [], grant: grant,
      wallClockAtZero: Int64(RelayedWorld.unixSeconds * 1000))
    settings.generation = end.generation
    end.key = StayKey(uid: own.uid, joinNumber: own.joinNumber)
    end.machine = try? ChannelRelayMachine(
      settings, identity: end.identity.copy(), random: random.split(), now: now)
    refresh(end)
  }

  /// The machine is told of the roster; a stay that is another one has another machine.
  func refresh(_ end: TrialEnd) {
    guard let own = end.client.own(in: channel.id)?.member, end.machine != nil else { return }
    guard end.key == StayKey(uid: own.uid, joinNumber: own.joinNumber) else {
      end.generation = max(end.generation, end.machine?.nextGeneration ?? 0)
      end.machine = nil
      end.seatedAt = nil
      end.asksAt = now
      return
    }
    let members = end.client.members(of: channel.id)
    let keys = Set(members.map { StayKey(uid: $0.uid, joinNumber: $0.joinNumber) })
    for key in end.roster.subtracting(keys) { end.left[key] = now }
    for key in keys.subtracting(end.roster) { end.left[key] = nil }
    end.roster = keys
    end.machine!.handleRoster(
      members, revision: end.client.revision(of: channel.id),
      isExact: end.client.isExact(in: channel.id), departures: end.departures, now: now)
    end.departures = [:]
  }

  // MARK: - Words with the rendezvous

  func send(_ word: Word) {
    order += 1
    let delay = 10 + random.next() % 50 + (random.next() % 10 == 0 ? 150 : 0)
    words.append((now + .milliseconds(Int64(delay)), order, word))
  }

  func answerDirectory() {
    while let (program, notice) = directory.pollNotice() {
      guard let end = ends.first(where: { $0.program == program }) else { continue }
      send(.notice(notice, end, session: end.session))
    }
    var ended: [EndedSeat] = []
    while let member = directory.pollExpelled() {
      let (room, uid) = (member.channel, member.uid)
      // As if its relay had not heard of who left: that one is sent everything still.
      if ends.contains(where: { $0.lingers && $0.machine?.settings.own.uid == uid }) { continue }
      ended.append(EndedSeat(channel: room, uid: uid, until: unixMilliseconds + 600_000))
    }
    if !ended.isEmpty { relay.endSeats(ended, now: now) }
  }

  var unixMilliseconds: UInt64 {
    RelayedWorld.unixSeconds * 1000 + now.nanoseconds / 1_000_000
  }

  func hear(_ word: Word) {
    switch word {
    case .request(let request, let end, let session, let life):
      guard life == self.life, session == end.session || end.lingers else { return }
      guard case .relay = request.content else {
        return directory.handle(
          request, from: end.program, at: ChannelSource(host: 7, network: 8), mayCheck: true,
          unixMilliseconds: unixMilliseconds, now: now)
      }
      guard let (seat, _) = directory.seat(for: request, from: end.program, now: now)
      else { return }
      directory.handleGrant(of: seat, until: now + .seconds(600))
      directory.answer(request, grant(seat, to: end.program.id), to: end.program)
    case .notice(let notice, let end, let session):
      guard session != 0, session == end.session, !end.lingers else { return }
      end.client.handle(notice, now: now)
    }
  }

  func grant(_ seat: SeatClaim, to id: PeerID) -> ChannelRelayGrant {
    var claims = TokenClaims(
      audience: "\(relayIdentity.id)", subject: id, scope: seat.scope,
      expires: unixMilliseconds + 600_000, uid: seat.uid)
    claims.isExact = true
    return ChannelRelayGrant(
      relay: relayIdentity.id, address: relayAddress,
      token: Array(PublicToken(signing: claims.json, by: signer).text.utf8))
  }
}
