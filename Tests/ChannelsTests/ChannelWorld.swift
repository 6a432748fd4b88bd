import Primitives
import Tokens
import Wire

@testable import Channels

/// Endpoints and a rendezvous in simulated time. What they say goes as bytes, late, out of order
/// and, when a session breaks, not at all.
final class ChannelWorld {
  /// One program of an identity, and its session.
  final class End {
    let program: ChannelProgram
    var client: ChannelClient
    /// Rises with each session; 0 = none.
    var session = 0
    var isAlive = true
    var events: [(at: Instant, channel: Bytes32, event: ChannelEvent)] = []

    init(_ number: UInt64, _ limits: ChannelLimits) {
      program = ChannelProgram(
        id: PeerID(word0: number, word1: 1, word2: 2, word3: 3),
        presence: PresenceID(rawValue: number))
      client = ChannelClient(limits: limits, random: RandomSource(seed: number + 1000))
    }
  }

  private enum Delivery {
    case request([UInt8], from: Int, session: Int, server: Int)
    case notice([UInt8], to: Int, session: Int)
  }

  private(set) var now = Instant(nanoseconds: 1_000_000_000)
  var random: RandomSource
  let limits: ChannelLimits
  private(set) var server: ChannelDirectory
  /// Which life of the server.
  private var serverLife = 0
  private(set) var ends: [End] = []
  private var underWay: [(at: Instant, order: Int, what: Delivery)] = []
  private var order = 0
  private var sessionCount = 0
  /// In ms; a lost packet is one that comes later, as messages are repeated below us.
  var delays: ClosedRange<UInt64> = 10...60
  /// How many of 100 messages are delayed by a repetition.
  var lateShare: UInt64 = 0
  var isServerUp = true
  /// How many requests each program has made, by its presence.
  private(set) var requestCounts: [UInt64: Int] = [:]
  static let unixStart: UInt64 = 1_790_000_000_000

  init(seed: UInt64, limits: ChannelLimits = ChannelLimits()) {
    random = RandomSource(seed: seed)
    self.limits = limits
    server = ChannelDirectory(limits: limits, random: random.split())
  }

  var unixMilliseconds: UInt64 { Self.unixStart + now.nanoseconds / 1_000_000 }

  @discardableResult
  func addEnd() -> End {
    let end = End(UInt64(ends.count + 1), limits)
    ends.append(end)
    connect(end)
    return end
  }

  // MARK: - Trouble

  func connect(_ end: End) {
    sessionCount += 1
    end.session = sessionCount
    end.client.handleConnection(true, now: now)
  }

  func disconnect(_ end: End) {
    end.session = 0
    end.client.handleConnection(false, now: now)
  }

  /// The path of an end is dead, and neither side knows.
  func cut(_ end: End) { end.session = 0 }

  func restartServer() {
    serverLife += 1
    server = ChannelDirectory(limits: limits, random: random.split())
  }

  // MARK: - Time

  func run(_ duration: Duration) {
    let end = now + duration
    drain()
    while true {
      var next = end
      if let first = underWay.first { next = min(next, first.at) }
      if let due = server.nextDeadline { next = min(next, due) }
      for end in ends where end.isAlive {
        if let due = end.client.nextDeadline { next = min(next, due) }
      }
      now = max(now, next)
      step()
      if next >= end { return }
      // A deadline that stays in the past is a fault that would hang the program.
      if next < now || stalls > 10_000 { preconditionFailure("a machine asks to be woken in vain") }
    }
  }

  private var stalls = 0
  private var lastStep = Instant.zero

  private func step() {
    stalls = now == lastStep ? stalls + 1 : 0
    lastStep = now
    while let first = underWay.first, first.at <= now {
      underWay.removeFirst()
      deliver(first.what)
    }
    server.handleTimeout(now: now)
    for end in ends where end.isAlive { end.client.handleTimeout(now: now) }
    drain()
  }

  private func drain() {
    for (index, end) in ends.enumerated() where end.isAlive {
      while let request = end.client.pollRequest(now: now) {
        let bytes = RendezvousMessage.channel(request).bytes
        requestCounts[end.program.presence.rawValue, default: 0] += 1
        guard end.session != 0 else { continue }
        send(.request(bytes, from: index, session: end.session, server: serverLife))
      }
      while let (channel, event) = end.client.pollEvent() {
        end.events.append((now, channel.id, event))
      }
    }
    while let (to, notice) = server.pollNotice() {
      guard let index = ends.firstIndex(where: { $0.program == to }) else { continue }
      send(
        .notice(
          RendezvousMessage.channelNotice(notice).bytes, to: index, session: ends[index].session))
    }
  }

  private func send(_ what: Delivery) {
    var delay = delays.lowerBound + random.next() % (delays.upperBound - delays.lowerBound + 1)
    while random.next() % 100 < lateShare, delay < 1000 { delay += 150 }
    order += 1
    let at = now + .milliseconds(Int64(delay))
    let place = underWay.firstIndex { ($0.at, $0.order) > (at, order) } ?? underWay.count
    underWay.insert((at, order, what), at: place)
  }

  private func deliver(_ what: Delivery) {
    switch what {
    case .request(let bytes, let index, let session, let life):
      guard isServerUp, life == serverLife, ends[index].session == session,
        case .channel(let request)? = try? RendezvousMessage(parsing: bytes.span)
      else { return }
      server.handle(
        request, from: ends[index].program, at: ChannelSource(host: 7, network: 8),
        mayCheck: true, unixMilliseconds: unixMilliseconds, now: now)
    case .notice(let bytes, let index, let session):
      guard session != 0, ends[index].session == session, ends[index].isAlive,
        case .channelNotice(let notice)? = try? RendezvousMessage(parsing: bytes.span)
      else { return }
      ends[index].client.handle(notice, now: now)
    }
  }
}

extension ChannelWorld.End {
  func all(_ channel: ChannelIdentity) -> [ChannelEvent] {
    events.filter { $0.channel == channel.id }.map(\.event)
  }

  /// The events since the last call.
  func take() -> [ChannelEvent] {
    defer { events = [] }
    return events.map(\.event)
  }

  func uid(in channel: ChannelIdentity) -> UInt32 {
    client.members(of: channel.id).first { $0.id == program.id }?.uid ?? 0
  }
}

/// A channel whose members need tokens, and who signs them.
struct TokenRoom {
  let identity: ChannelIdentity
  private let seed: UInt64

  init(_ name: String, seed: UInt64 = 5) throws {
    self.seed = seed
    var random = RandomSource(seed: seed)
    let key = TokenSigningKey(random: &random)
    guard let name = PeerName(name) else { throw WireError.invalid("name", at: 0) }
    identity = ChannelIdentity(name: name, key: key.publicKey)
  }

  func token(
    for end: ChannelWorld.End, _ scope: String, seconds: UInt64, uid: UInt32? = nil,
    world: ChannelWorld
  ) -> [UInt8] {
    var random = RandomSource(seed: seed)
    let key = TokenSigningKey(random: &random)
    let claims = TokenClaims(
      audience: identity.audience, subject: end.program.id, scope: scope,
      // Claims count whole seconds.
      expires: (world.unixMilliseconds / 1000 + seconds) * 1000, uid: uid)
    return Array(PublicToken(signing: claims.json, by: key).text.utf8)
  }
}

func room(_ name: String) throws -> ChannelIdentity {
  guard let identity = ChannelIdentity(name) else { throw WireError.invalid("name", at: 0) }
  return identity
}
