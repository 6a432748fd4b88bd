import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// What makes a channel of a call, in call control (docs/protocol/channels.md §10).
@Suite struct CallChannelTests {
  private static func pass() throws -> ChannelPass {
    let key = try #require(Bytes32(Array(repeating: 7, count: 32)))
    let name = try #require(PeerName("call"))
    return try #require(ChannelPass(key: key, name: name, token: Array("v4.public.x".utf8)))
  }

  /// What Bob is told, and what he understood of it.
  private func told(_ abilities: (alice: CallAbilities, bob: CallAbilities)) throws -> (
    passes: [ChannelPass], knows: Bool
  ) {
    let pair = TwoPeers()
    pair.alice.habits.abilities = abilities.alice
    pair.bob.habits.abilities = abilities.bob
    let call = try pair.connect()
    let pass = try Self.pass()
    let knows = pair.alice.host.command(now: pair.world.now) { machine, now in
      machine.say(.channel(pass), on: call, now: now)
      return machine.words(of: call)?.abilities.contains(.channels)
    }
    pair.world.run(.seconds(1))
    var passes: [ChannelPass] = []
    for (_, event) in pair.bob.events {
      if case .link(call, .said(.channel(let pass))) = event { passes.append(pass) }
    }
    pair.expectHungUp()
    pair.expectNoViolations()
    return (passes, (knows ?? nil) ?? false)
  }

  /// Goal: a side that knows channels is given the pass whole, once.
  @Test func `a pass comes to a side that follows into channels`() throws {
    let both: CallAbilities = [.moreWords, .channels]
    let (passes, knows) = try told((both, both))
    #expect(passes == [try Self.pass()] && knows)
  }

  /// Goal: one that does not know them is never sent it, and the inviter knows before it rings at
  /// anybody.
  @Test func `a side of before is never sent a pass`() throws {
    let (passes, knows) = try told(([.moreWords, .channels], .moreWords))
    #expect(passes.isEmpty && !knows)
  }
}
