import Channels
import Primitives
import Wire

extension FuzzTarget {
  static let channels: [FuzzTarget] = [channelDirectory, channelClient]

  private static let now = Instant(nanoseconds: 1_000_000_000)

  private static func member(_ uid: UInt32) -> ChannelMember {
    ChannelMember(
      uid: uid, role: uid % 2 == 0 ? .host : .audience, joinNumber: UInt64(uid), id: .zero)
  }

  /// Requests with two bytes of length before each.
  private static func script(_ messages: [RendezvousMessage]) -> [UInt8] {
    messages.flatMap { message -> [UInt8] in
      let bytes = message.bytes
      return [UInt8(truncatingIfNeeded: bytes.count), UInt8(bytes.count >> 8)] + bytes
    }
  }

  /// Hands each message of a script to `body`.
  private static func run(_ bytes: [UInt8], _ body: (RendezvousMessage) -> Void) {
    var rest = bytes[...]
    while rest.count >= 2 {
      let count = Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8
      rest = rest.dropFirst(2)
      let message = Array(rest.prefix(count))
      rest = rest.dropFirst(count)
      if let message = try? RendezvousMessage(parsing: message.span) { body(message) }
    }
  }

  /// Each message alone, for the parser.
  static var channelMessages: [RendezvousMessage] {
    guard let tea = ChannelIdentity("tea") else { return [] }
    return requests.map { .channel(ChannelRequest(channel: tea.id, stay: 1, number: 1, $0)) }
      + notices.map { .channelNotice(ChannelNotice(channel: tea.id, $0)) }
  }

  private static var requests: [ChannelRequest.Content] {
    guard let name = PeerName("tea") else { return [] }
    return [
      .join(ChannelJoin(role: .host, uid: 0, name: name)),
      .join(ChannelJoin(role: .audience, uid: 7, key: .zero, name: name, token: [1, 2])),
      .sync(RosterPosition()), .sync(RosterPosition(epoch: 1, revision: 1, after: 7)),
      .role(.audience), .renew([3]), .remove(uid: 7, banSeconds: 60), .proof(uid: 7), .relay,
      .leave, .relayLost(.zero),
    ]
  }

  /// Goal: no request stops the server; what it holds stays within its limits and agrees.
  private static let channelDirectory = FuzzTarget(
    "channel-directory", maximumByteCount: 2000,
    seeds: {
      guard let tea = ChannelIdentity("tea") else { return [] }
      let all = requests.enumerated().map { index, content in
        RendezvousMessage.channel(
          ChannelRequest(channel: tea.id, stay: 5, number: UInt32(index), content))
      }
      return all.map { script([$0]) } + [script(all), script(all + all)]
    },
    run: { bytes in
      var limits = ChannelLimits()
      limits.memberships = 4
      var directory = ChannelDirectory(limits: limits, random: RandomSource(seed: 1))
      var at = now
      var turn: UInt64 = 0
      run(bytes) { message in
        guard case .channel(let request) = message else { return }
        turn += 1
        let program = ChannelProgram(id: .zero, presence: PresenceID(rawValue: turn % 3))
        directory.handle(
          request, from: program, at: ChannelSource(host: 1, network: 2), mayCheck: true,
          unixMilliseconds: turn, now: at)
        at = at + .milliseconds(Int64(turn % 4) * 100)
        directory.handleTimeout(now: at)
        while let (_, notice) = directory.pollNotice() {
          let sent = RendezvousMessage.channelNotice(notice).bytes
          let read = try? RendezvousMessage(parsing: sent.span)
          expect(read == .channelNotice(notice), "what is said can be read")
        }
        expect(directory.memberCount <= limits.memberships, "memberships are bounded")
      }
    })

  /// Goal: no notice stops a member, and its roster keeps its order.
  private static let channelClient = FuzzTarget(
    "channel-client", maximumByteCount: 2000,
    seeds: {
      guard let tea = ChannelIdentity("tea") else { return [] }
      let all = notices.map { RendezvousMessage.channelNotice(ChannelNotice(channel: tea.id, $0)) }
      return all.map { script([$0]) } + [script(all)]
    },
    run: { bytes in
      guard let tea = ChannelIdentity("tea") else { return }
      var client = ChannelClient(random: RandomSource(seed: 1))
      client.handleConnection(true, now: now)
      try? client.join(tea, as: .host, now: now)
      try? client.setRole(.audience, in: tea.id)
      var at = now
      run(bytes) { message in
        guard case .channelNotice(let notice) = message else { return }
        client.handle(notice, now: at)
        at = at + .milliseconds(300)
        client.handleTimeout(now: at)
        var count = 0
        while client.pollRequest(now: at) != nil { count += 1 }
        expect(count < 10, "a notice draws few requests")
        while client.pollEvent() != nil {}
        let uids = client.members(of: tea.id).map(\.uid)
        expect(zip(uids, uids.dropFirst()).allSatisfy { $0 < $1 }, "a roster rises by uid")
      }
    })

  private static var notices: [ChannelNotice.Content] {
    [
      .welcome(
        ChannelWelcome(
          stay: stay, number: 0, uid: 2, role: .host, joinNumber: 2, epoch: 9, period: 1000,
          tokenLife: 60_000)),
      .roster(
        RosterPage(
          epoch: 9, revision: 3, after: 0, isLast: false, members: [member(1), member(2)])),
      .changes(
        RosterChanges(
          epoch: 9, latest: 5, first: 4, changes: [.present(member(7)), .gone(uid: 1, .left)])),
      .roster(RosterPage(epoch: 9, revision: 5, after: 2, isLast: true, members: [member(3)])),
      .head(epoch: 9, revision: 6),
      .result(ChannelResult(stay: stay, number: 1, status: .tooManyHosts)),
      .proven(uid: 3, joinNumber: 3, token: [1]), .gone(stay: stay, .lost),
      .result(ChannelResult(stay: stay, number: 0, status: .noRelay)),
      .relay(
        ChannelRelayGrant(
          relay: .zero, address: SocketAddress(v4: 192, 0, 2, 1, port: 7500), token: [1, 2])),
      .result(ChannelResult(stay: stay, number: 0, status: .token(.expired))),
    ]
  }

  /// The stay that the member draws first.
  private static var stay: UInt64 {
    var random = RandomSource(seed: 1)
    return random.next()
  }
}
