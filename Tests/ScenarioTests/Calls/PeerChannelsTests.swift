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
}
