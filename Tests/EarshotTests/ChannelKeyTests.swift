import Earshot
import Primitives
import Testing
import Tokens
import Wire

/// The key of a channel of one's own, and what it signs.
@Suite struct ChannelKeyTests {
  private static let now: UInt64 = 1_800_000_000_000

  private static func member(_ number: UInt8) throws -> PeerID {
    try #require(PeerID(Array(repeating: number, count: 32)))
  }

  private static func rule(_ channel: ChannelName, _ scope: String) throws -> TokenRule {
    let text = try #require(channel.description.split(separator: "@").last.map(String.init))
    let key = try #require(TokenPublicKey(text))
    return TokenRule(key: key, audience: channel.audience, scope: scope)
  }

  @Test func `a pass is good for its member, its channel and its time`() throws {
    let key = ChannelKey()
    let channel = try #require(key.channel(named: "call"))
    #expect(channel.needsToken && key.channel(named: "no name") == nil)
    let (carol, dan) = (try Self.member(3), try Self.member(4))
    let token = Array(
      key.pass(to: carol, for: channel, life: .seconds(60), unixMilliseconds: Self.now).utf8)
    let rule = try Self.rule(channel, "host")
    let grant = try rule.check(token, of: carol, unixMilliseconds: Self.now)
    #expect(grant.remainingMilliseconds == 60_000 && !grant.permits("manage"))
    #expect(throws: TokenFault.subject) {
      try rule.check(token, of: dan, unixMilliseconds: Self.now)
    }
    #expect(throws: TokenFault.expired) {
      try rule.check(token, of: carol, unixMilliseconds: Self.now + 60_000)
    }
    let other = try #require(ChannelKey().channel(named: "call"))
    #expect(other != channel)
    #expect(throws: TokenFault.signature) {
      try Self.rule(other, "host").check(token, of: carol, unixMilliseconds: Self.now)
    }
  }

  /// Goal: whoever reads what a program writes down does not get in by it.
  @Test func `an invitation as text has no token`() throws {
    let channel = try #require(ChannelKey().channel(named: "call"))
    let invitation = ChannelInvitation(channel: channel, token: "v4.public.secret")
    let step = "\(CallProgress.invitedToChannel(invitation))"
    #expect(step.contains(channel.description) && !step.contains("secret"))
  }

  @Test func `who may manage is said`() throws {
    let key = ChannelKey()
    let channel = try #require(key.channel(named: "call"))
    let token = key.pass(
      to: try Self.member(1), for: channel, life: .seconds(60), mayManage: true,
      unixMilliseconds: Self.now)
    let grant = try Self.rule(channel, "manage").check(
      Array(token.utf8), of: try Self.member(1), unixMilliseconds: Self.now)
    #expect(grant.permits("manage"))
  }

  /// Goal: no length of life ends the program.
  @Test(arguments: [
    Duration(secondsComponent: .max, attosecondsComponent: 0),
    Duration(secondsComponent: .min, attosecondsComponent: 0), .zero, .seconds(-5),
    .seconds(10_000_000_000),
  ])
  func `a life of any length is cut to between a second and a year`(life: Duration) throws {
    let key = ChannelKey()
    let channel = try #require(key.channel(named: "call"))
    let token = key.pass(
      to: try Self.member(1), for: channel, life: life, unixMilliseconds: Self.now)
    let grant = try Self.rule(channel, "host").check(
      Array(token.utf8), of: try Self.member(1), unixMilliseconds: Self.now)
    #expect(
      grant.remainingMilliseconds == (life > .seconds(1) ? 366 * 86_400_000 : 1000), "\(life)")
  }
}
