import Channels
import Forwarding
import GroupKeys
import Peer
import Primitives
import Rendezvous
import SecureSession
import Tokens
import Video
import Wire

/// A relay, members of one channel, and lines between them: all in simulated time, by a seed.
final class RelayedWorld {
  static let unixSeconds: UInt64 = 1_800_000_000

  /// One member and what it heard.
  final class Member {
    let uid: UInt32
    let address: SocketAddress
    let id: PeerID
    var role: MemberRole
    var machine: ChannelRelayMachine
    fileprivate var events: [ChannelRelayEvent] = []
    /// Payloads by the host that they are of, with those of copies.
    var heard: [UInt32: Set<[UInt8]>] = [:]
    /// Pictures by the host that they are of, in the order in which they came.
    var seen: [UInt32: [[UInt8]]] = [:]
    /// Of the pictures that it shows.
    var pattern = TemporalPattern(layerCount: 1)
    /// The same of its low stream, whose pictures it has shown so many of.
    var lowPattern = TemporalPattern(layerCount: 2)
    var lowCount = 0
    /// When each of the pictures in `seen` came.
    var seenAt: [UInt32: [Instant]] = [:]
    /// Until then the member's line has something to carry.
    var lineFree = Instant.zero
    var uplinkFree = Instant.zero
    /// How long each packet waited for that.
    var waits: [Duration] = []
    /// When the machine wants to be asked, as of the last time that anything was done with it.
    fileprivate var due: Instant?

    fileprivate init(
      _ uid: UInt32, _ id: PeerID, _ role: MemberRole, _ machine: consuming ChannelRelayMachine
    ) {
      self.uid = uid
      self.id = id
      self.role = role
      self.machine = machine
      address = RelayedWorld.address(uid)
    }

    var steps: [ChannelRelayEvent] { events }
    var verifiedCount: Int { machine.verifiedCount }
    var isSeated: Bool { events.last { $0 == .connected || $0 == .lost } == .connected }
    var counts: (opened: UInt64, unopened: UInt64, sent: UInt64) { machine.counts }
    var fingerprint: String { machine.fingerprint.text }
  }

  /// What outlives the relay's program.
  private final class KeptIdentity {
    let identity: LocalIdentity
    init(_ identity: consuming LocalIdentity) { self.identity = identity }
  }

  private struct Flight {
    let at: Instant
    let to: SocketAddress
    let from: SocketAddress
    let bytes: [UInt8]
  }

  let channel: ChannelIdentity
  private(set) var now = Instant(nanoseconds: 1_000_000_000)
  private(set) var members: [Member] = []
  private(set) var relay: RendezvousMachine
  /// The relay's program does not run.
  private var isStopped = false
  private let makeRelay: (RandomSource, UInt64) -> RendezvousMachine
  private var boots: UInt64 = 3
  private let relayID: PeerID
  private let relayAddress = SocketAddress(v4: 192, 0, 2, 1, port: 7500)
  private var signer: TokenSigningKey
  private var random: RandomSource
  /// The next one last.
  private var flights: [Flight] = []
  /// As of the last time that anything was done with the relay.
  private var relayDue: Instant?
  private var joinNumber: UInt64 = 0
  var revision: UInt64 = 0
  var gone: Set<UInt32> = []
  /// What happens to a datagram: how many copies arrive, each after so many ms.
  var line: (_ from: SocketAddress, _ to: SocketAddress, inout RandomSource) -> [Int] = { _, _, _ in
    [10]
  }

  init(seed: UInt64, limits: ForwardingLimits = ForwardingLimits()) throws {
    var random = RandomSource(seed: seed)
    guard let tea = ChannelIdentity("tea") else { throw WireError.invalid("name", at: 0) }
    channel = tea
    signer = TokenSigningKey(random: &random)
    var identity = LocalIdentity(kind: .peer, unixSeconds: Self.unixSeconds, random: &random)
    let card = try identity.makeCard(unixSeconds: Self.unixSeconds)
    relayID = identity.id
    let kept = KeptIdentity(identity)
    let key = signer.publicKey
    makeRelay = { random, boots in
      var settings = ServerSettings(
        identity: kept.identity.copy(), card: card, bootCounter: boots,
        resetKey: Array(repeating: 1, count: 32), wallMilliseconds: Self.unixSeconds * 1000,
        tokenKey: key)
      settings.forwarding = limits
      return RendezvousMachine(settings, store: MemoryStore(), random: random)
    }
    relay = makeRelay(random.split(), boots)
    self.random = random
  }

  static func address(_ uid: UInt32) -> SocketAddress {
    SocketAddress(v4: 10, 0, UInt8(uid >> 8 & 255), UInt8(uid & 255), port: 4000)
  }

  var gauges: ServerGauges { relay.gauges }
  var counters: ForwardingCounters { relay.forwardingCounters ?? ForwardingCounters() }

  func member(_ uid: UInt32) -> Member? { members.first { $0.uid == uid } }

  /// Bit/s of members' lines from the relay; the rest have room for all.
  var downlinks: [UInt32: Double] = [:]

  /// Bytes that those lines carry at once after a pause, as a token bucket does.
  var bucket = 0.0

  /// Bit/s of members' lines to the relay.
  var uplinks: [UInt32: Double] = [:]

  /// How long after the beginning of a thirtieth of a second a host's camera takes its picture.
  var phases: [UInt32: Duration] = [:]
  /// How loud hosts say that they are, where not as others.
  var levels: [UInt32: UInt8] = [:]
  /// Hosts that show as much as they like, and never the low stream that they say they have.
  var liars: Set<UInt32> = []

  private func queue(_ byteCount: Int, from address: SocketAddress) -> Duration? {
    guard let member = members.first(where: { $0.address == address }),
      let rate = uplinks[member.uid]
    else { return .zero }
    let start = max(now, member.uplinkFree)
    guard start - now < .milliseconds(400) else { return nil }
    member.uplinkFree = start + .nanoseconds(Int64(Double(byteCount + 28) * 8e9 / rate))
    return member.uplinkFree - now
  }

  /// How long a packet waits for a member's line and takes on it; `nil` = the queue of 400 ms is
  /// full.
  private func queue(_ byteCount: Int, to address: SocketAddress) -> Duration? {
    guard let member = members.first(where: { $0.address == address }),
      let rate = downlinks[member.uid]
    else { return .zero }
    let saved = Duration.nanoseconds(Int64(bucket * 8e9 / rate))
    let start = max(now - saved, member.lineFree)
    guard start - now < .milliseconds(400) else { return nil }
    member.lineFree = start + .nanoseconds(Int64(Double(byteCount + 28) * 8e9 / rate))
    member.waits.append(max(.zero, start - now))
    return max(.zero, member.lineFree - now)
  }

  // MARK: - Who is there

  /// - Parameters:
  ///   - isGhost: Seated by a rendezvous that lies: no roster has it.
  ///   - granted: The role of its grant, where its own has changed since it asked.
  @discardableResult
  func join(
    _ uid: UInt32, _ role: MemberRole = .host, isGhost: Bool = false,
    granted: MemberRole? = nil,
    pictures: ChannelRelayMachine.PictureSettings? = nil
  ) throws -> Member {
    let identity = LocalIdentity(kind: .peer, unixSeconds: Self.unixSeconds, random: &random)
    joinNumber += 1
    let grant = grant(uid, granted ?? role, to: identity.id)
    let id = identity.id
    var settings = ChannelRelayMachine.Settings(
      channel: channel,
      own: ChannelMember(uid: uid, role: role, joinNumber: joinNumber, id: id), token: [],
      grant: grant, wallClockAtZero: Int64(Self.unixSeconds * 1000))
    settings.pictures = pictures
    let machine = try ChannelRelayMachine(
      settings, identity: identity, random: random.split(), now: now)
    let member = Member(uid, id, role, machine)
    joinNumbers[uid] = joinNumber
    if isGhost { ghosts.insert(uid) }
    members.append(member)
    tellRosters()
    drain(member)
    return member
  }

  private func grant(
    _ uid: UInt32, _ role: MemberRole, to id: PeerID, until end: UInt64? = nil
  ) -> ChannelRelayGrant {
    let seat = SeatClaim(channel: channel.id, uid: uid, role: role)
    var claims = TokenClaims(
      audience: "\(relayID)", subject: id, scope: seat.scope,
      expires: end ?? grantEnd, uid: uid)
    claims.isExact = true
    return ChannelRelayGrant(
      relay: relayID, address: relayAddress,
      token: Array(PublicToken(signing: claims.json, by: signer).text.utf8))
  }

  /// The rendezvous has told all of a member's new role; a grant for it comes when it was asked
  /// for, and 20 ms more have gone by.
  func setRole(_ uid: UInt32, _ role: MemberRole) {
    guard let member = member(uid) else { return }
    member.role = role
    let asked = member.events.count
    member.machine.handleRole(role, token: [], now: now)
    drain(member)
    tellRosters()
    run(.milliseconds(20))
    guard member.events.dropFirst(asked).contains(.grantNeeded) else { return }
    member.machine.renew(grant(uid, role, to: member.id), now: now)
    drain(member)
  }

  /// Of those that are given now.
  private var grantEnd: UInt64 {
    Self.unixSeconds * 1000 + now.nanoseconds / 1_000_000 + 600_000
  }

  /// The rendezvous ends a member's seat, with all grants of so far.
  func endSeat(_ uid: UInt32) {
    relay.endSeats([EndedSeat(channel: channel.id, uid: uid, until: grantEnd)], now: now)
    drainRelay()
  }

  /// A member has a grant that the rendezvous gave so long ago.
  func grantAgain(_ uid: UInt32, age: Duration = .zero) {
    guard let member = member(uid) else { return }
    let end = grantEnd - UInt64(age.milliseconds)
    member.machine.renew(grant(uid, member.role, to: member.id, until: end), now: now)
    drain(member)
  }

  /// As `kill -9` does.
  func stopRelay() { isStopped = true }

  /// It has forgotten everything but its identity and how often it was started.
  func startRelay() {
    boots += 1
    relay = makeRelay(random.split(), boots)
    isStopped = false
  }

  /// Of whom `rosters` tells.
  var joinNumbers: [UInt32: UInt64] = [:]
  var ghosts: Set<UInt32> = []
  /// Members that a rendezvous which lies shows to these alone, and to themselves.
  var shownTo: [UInt32: Set<UInt32>] = [:]

  // MARK: - Sound

  /// A frame of 20 ms: bytes that tell whose and when.
  @discardableResult
  func speak(
    _ uid: UInt32, _ time: UInt16, level: UInt8 = 20, byteCount: Int = 80
  ) -> [UInt8] {
    guard let member = member(uid) else { return [] }
    let payload: [UInt8] =
      [UInt8(truncatingIfNeeded: uid), UInt8(truncatingIfNeeded: time), UInt8(time >> 8)]
      + Array(repeating: 7, count: byteCount - 3)
    _ = member.machine.sendAudio(
      payload.span,
      ChannelAudioLabel(
        length: .milliseconds20, isMarked: false, mediaTime: time, level: level), now: now)
    drain(member)
    return payload
  }

  /// As `ChannelRelay.setAudioMuted`.
  func setMuted(_ uid: UInt32, _ isMuted: Bool) {
    guard let member = member(uid) else { return }
    member.machine.setAudioMuted(isMuted, now: now)
    drain(member)
  }

  /// As `RelayedSound` says it with each frame.
  func setMusic(_ uid: UInt32, _ isOn: Bool) {
    guard let member = member(uid) else { return }
    member.machine.setMedia(now: now) { $0.hasMusic = isOn }
    drain(member)
  }

  func setOff(_ uid: UInt32, _ off: SwitchedOff) {
    guard let member = member(uid) else { return }
    member.machine.setMedia(now: now) { $0.off = off }
    drain(member)
  }

  // MARK: - Time

  func run(_ duration: Duration) {
    let end = now + duration
    // Tests do as they like with machines between runs.
    relayDue = relay.nextDeadline
    for member in members { member.due = member.machine.nextDeadline }
    while true {
      var next = isStopped ? nil : relayDue
      for member in members { next = earliest(next, member.due) }
      let flight = flights.last?.at
      next = earliest(next, flight)
      guard let next, next <= end else { break }
      now = max(now, next)
      if let flight, flight <= now { deliver(flights.removeLast()) } else { advance() }
    }
    now = end
  }

  private func advance() {
    // At least a step, so that nothing is due for ever.
    now = now + .microseconds(10)
    if !isStopped, isDue(relayDue) {
      relay.handleTimeout(now: now)
      drainRelay()
    }
    for member in members where isDue(member.due) {
      member.machine.handleTimeout(now: now)
      drain(member)
    }
  }

  private func isDue(_ due: Instant?) -> Bool { due.map { $0 <= now } ?? false }

  private func deliver(_ flight: Flight) {
    var bytes = flight.bytes
    var span = bytes.mutableSpan
    if flight.to == relayAddress, isStopped { return }
    if flight.to == relayAddress {
      relay.handle(&span, from: flight.from, marks: DatagramMarks(), now: now)
      drainRelay()
    } else if let member = members.first(where: { $0.address == flight.to }) {
      member.machine.handle(&span, from: flight.from, marks: DatagramMarks(), now: now)
      drain(member)
    }
  }

  func drain(_ member: Member) {
    var out = DatagramList()
    _ = Primitives.drain(&member.machine, into: &out, events: &member.events, now: now)
    for (bytes, path) in out.datagrams { send(bytes, from: member.address, to: path.remote) }
    for host in members where host.uid != member.uid {
      listen(member, to: host.uid)
      watch(member, host.uid)
    }
    member.due = member.machine.nextDeadline
  }

  private func listen(_ member: Member, to uid: UInt32) {
    while true {
      let bodies = member.machine.pollAudio(of: uid) { body, received -> [[UInt8]] in
        guard let parts = try? AudioBody(body, hasCopies: received.header.frame.hasCopies) else {
          return []
        }
        var all = [parts.primary]
        for index in 0..<parts.copyCount where parts.copy(index).coding != .unsentCount {
          all.append(parts.copy(index).payload)
        }
        return all.filter { !$0.isEmpty }.map { place in place.range.map { body[$0] } }
      }
      guard let bodies else { return }
      member.heard[uid, default: []].formUnion(bodies)
    }
  }

  private func drainRelay() {
    var out = DatagramList()
    var events: [ServerEvent] = []
    _ = Primitives.drain(&relay, into: &out, events: &events, now: now)
    for (bytes, path) in out.datagrams { send(bytes, from: relayAddress, to: path.remote) }
    relayDue = relay.nextDeadline
  }

  private func send(_ bytes: [UInt8], from: SocketAddress, to: SocketAddress) {
    guard let sent = queue(bytes.count, from: from), let received = queue(bytes.count, to: to)
    else { return }
    let queued = sent + received
    for wait in line(from, to, &random) {
      let at = now + .milliseconds(Int64(wait)) + queued
      let flight = Flight(at: at, to: to, from: from, bytes: bytes)
      // Of those that come at the same time the one that was sent first comes first.
      let place = flights.lastIndex { $0.at > at }.map { $0 + 1 } ?? 0
      flights.insert(flight, at: place)
    }
  }
}
