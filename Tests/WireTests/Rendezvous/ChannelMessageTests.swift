import Primitives
import Testing
import Wire

/// Messages about channels (docs/protocol/channels.md §2).
struct ChannelMessageTests {
  private static let member = ChannelMember(
    uid: 7, role: .audience, joinNumber: 0x0102, id: RendezvousMessageTests.id)

  private static func request(_ content: ChannelRequest.Content) -> RendezvousMessage {
    .channel(ChannelRequest(channel: .zero, stay: 3, number: 4, content))
  }

  private static func notice(_ content: ChannelNotice.Content) -> RendezvousMessage {
    .channelNotice(ChannelNotice(channel: .zero, content))
  }

  static let samples: [RendezvousMessage] = [
    request(
      .join(
        ChannelJoin(
          role: .host, uid: 0, key: Bytes32(RendezvousMessageTests.id), name: PeerName("tea")!,
          token: Array(repeating: 65, count: 512)))),
    request(
      .join(ChannelJoin(role: .audience, uid: 9, epoch: 1, revision: 2, name: PeerName("x")!))),
    request(.leave), request(.sync(RosterPosition(epoch: 1, revision: 2, after: 3))),
    request(.role(.audience)), request(.renew([1])), request(.remove(uid: 1, banSeconds: 60)),
    request(.proof(uid: .max)),
    notice(
      .welcome(
        ChannelWelcome(
          stay: 1, number: 2, uid: 3, role: .host, joinNumber: 4, epoch: 5, period: 1000))),
    notice(.result(ChannelResult(stay: 1, number: 2, status: .done, tokenLife: 9))),
    notice(.head(epoch: 1, revision: 2)),
    notice(
      .changes(
        RosterChanges(
          epoch: 1, latest: 9, first: 2, changes: [.present(member), .gone(uid: 7, .expired)]))),
    notice(.roster(RosterPage(epoch: 1, revision: 2, after: 6, isLast: false, members: [member]))),
    notice(.roster(RosterPage(epoch: 1, revision: 2, after: 0, isLast: true, members: []))),
    notice(.gone(stay: 1, .replaced)), notice(.proven(uid: 1, joinNumber: 2, token: [3])),
    request(.relay), request(.relayLost(.zero)),
    notice(
      .relay(
        ChannelRelayGrant(
          relay: .zero, address: SocketAddress(v4: 192, 0, 2, 1, port: 7500), token: [3, 4]))),
    .relayHere(RelayHere(address: SocketAddress(v4: 0, 0, 0, 0, port: 7500))),
    .seatsEnded(SeatsEnded([EndedSeat(channel: .zero, uid: 5, until: 6)])),
  ]

  @Test func `each status has its number`() {
    let statuses: [ChannelStatus] = [
      .done, .notPermitted, .tooManyHosts, .channelFull, .tooManyChannels, .banned, .uidTaken,
      .tooManyRequests, .unknownMember, .wrongChannel, .noRelay, .token(nil), .token(.malformed),
      .token(.expired),
    ]
    #expect(statuses.map(\.rawValue) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 23])
    for number in UInt8.min...UInt8.max {
      let status = ChannelStatus(rawValue: number)
      #expect(status == nil || status?.rawValue == number)
    }
  }

  @Test func `a message stays below the longest`() {
    let members = (1...UInt32(RosterPage.limit)).map {
      ChannelMember(uid: $0, role: .host, joinNumber: 1, id: .zero)
    }
    let longest = Self.notice(
      .changes(
        RosterChanges(epoch: 1, latest: 1, first: 1, changes: members.map { .present($0) })))
    #expect(longest.bytes.count <= RendezvousMessage.maximumByteCount)
  }

  /// Offsets from the end of a message whose last bytes are at fault when they become 0xFF.
  @Test func `roles, uids and counts that cannot be are refused`() {
    var cases: [[UInt8]] = []
    var role = Self.request(.role(.host)).bytes
    role[role.count - 1] = 3
    cases.append(role)
    var proof = Self.request(.proof(uid: 1)).bytes
    proof[proof.count - 4] = 0
    cases.append(proof)
    var kind = Self.request(.leave).bytes
    kind[kind.count - 1] = 9
    cases.append(kind)
    var gone = Self.notice(.gone(stay: 1, .left)).bytes
    gone[gone.count - 1] = 0
    cases.append(gone)
    cases.append(
      Self.notice(
        .roster(RosterPage(epoch: 1, revision: 2, after: 7, isLast: true, members: [Self.member]))
      )
      .bytes)
    cases.append(
      Self.notice(.roster(RosterPage(epoch: 1, revision: 2, after: 0, isLast: false, members: [])))
        .bytes)
    cases.append(
      Self.notice(.changes(RosterChanges(epoch: 1, latest: 1, first: 1, changes: []))).bytes)
    cases.append(
      Self.notice(
        .changes(RosterChanges(epoch: 1, latest: 1, first: 0, changes: [.gone(uid: 1, .left)]))
      )
      .bytes)
    cases.append(
      Self.notice(.result(ChannelResult(stay: 1, number: 1, status: .banned, tokenLife: 1))).bytes)
    for bytes in cases {
      #expect(throws: WireError.self) { try RendezvousMessage(parsing: bytes.span) }
    }
  }
}
