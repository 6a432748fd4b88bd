import Channels
import Primitives
import Reactor
import Testing
import Tokens
import Wire

@testable import Earshot

/// Channels of somebody who decides alone who may be in them.
@Suite struct ChannelPassTests {
  private static func id(_ number: UInt64) -> PeerID {
    PeerID(word0: number, word1: 0, word2: 0, word3: 0)
  }

  @Test func `a key lets in whom it is asked to, for as long as that, and nobody else`() throws {
    let key = ChannelKey()
    #expect(key.name.needsToken && ChannelKey().name != key.name)
    let pass = key.pass(for: Self.id(2), life: .seconds(60))
    #expect(pass.name == key.name && "\(pass)" == "pass of \(key.name)")
    let rule = try #require(key.name.identity.rule(for: .host))
    let token = Array(pass.token.utf8)
    let now = SystemClock.wallNanoseconds / 1_000_000
    let grant = try rule.check(token, of: Self.id(2), unixMilliseconds: now)
    #expect((59_000...60_000).contains(grant.remainingMilliseconds))
    #expect(grant.permits("host") && !grant.permits("manage"))
    #expect(throws: TokenFault.subject) {
      try rule.check(token, of: Self.id(3), unixMilliseconds: now)
    }
    #expect(throws: TokenFault.expired) {
      try rule.check(token, of: Self.id(2), unixMilliseconds: now + 61_000)
    }
    let other = try #require(ChannelKey().name.identity.rule(for: .host))
    #expect(throws: TokenFault.signature) {
      try other.check(token, of: Self.id(2), unixMilliseconds: now)
    }
    let manager = key.pass(for: Self.id(2), manages: true)
    let claims = try TokenClaims(json: try PublicToken(parsing: manager.token).payload)
    #expect(claims.permits("manage") && claims.expires >= now + 86_390_000)
  }

  @Test func `what is offered becomes a pass only if it is one by its form`() throws {
    let pass = ChannelKey().pass(for: Self.id(2))
    let room = Array(pass.name.description.utf8)
    let offer = try #require(ChannelOffer(room: room, token: Array(pass.token.utf8)))
    #expect(ChannelPass(offer) == pass)
    let open = try #require(ChannelName("tea"))
    #expect(ChannelPass(name: open, token: pass.token) == nil)
    #expect(ChannelPass(name: pass.name, token: "v4.public.x") == nil)
    for (room, token) in [(room, [255]), ([255], Array(pass.token.utf8)), (room, [1, 2])]
      as [([UInt8], [UInt8])]
    {
      let bad = try #require(ChannelOffer(room: room, token: token))
      #expect(ChannelPass(bad) == nil)
    }
  }
}
