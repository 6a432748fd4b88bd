import Channels
import Primitives
import Testing
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
}
