import Calling
import Cryptography
import Primitives
import SecureSession
import Simulation
import Testing
import Wire

@testable import Peer

/// A device key that its owner gave up, and what peers do with it (docs/protocol/README.md §4).
@Suite struct SupersededTests {
  enum Change: CaseIterable, Sendable { case none, weekly, replaced, former }

  /// A card of alice's identity for another key than the one that her program has: the next one, a
  /// random one made just now, or a random one of hours ago.
  private static func card(_ change: Change, _ pair: TwoPeers) throws -> ContactCard {
    let bytes = pair.alice.host.command(now: pair.world.now) { machine, _ in
      let stored = machine.identity.stored()
      return (0..<stored.count).map { stored.span[$0] }
    }
    let file = try #require(bytes)
    let seconds = UInt64(pair.world.wallClock / 1000)
    var unixSeconds = change == .former ? seconds - 5000 : seconds + 500
    var random = RandomSource(seed: 8)
    var owner = try LocalIdentity(stored: file.span)
    switch change {
    case .none: break
    case .weekly:
      unixSeconds = owner.nextRotation
      _ = owner.rotateIfDue(unixSeconds: unixSeconds, random: &random)
    case .replaced, .former: owner.replaceStaticKey(unixSeconds: unixSeconds, random: &random)
    }
    return try owner.makeCard(unixSeconds: unixSeconds)
  }

  /// Method: bob has pinned alice and seen a card of hers with a higher serial; her program calls
  /// with the key and the card that it has. Then he calls her.
  @Test(arguments: Change.allCases)
  func `an invitation with a key that was given up does not ring`(change: Change) throws {
    let pair = TwoPeers()
    pair.bob.habits.answer = .never
    let newer = try Self.card(change, pair)
    let isRefused = change == .replaced
    pair.bob.host.command(now: pair.world.now) { machine, _ in
      machine.setFamiliar(newer.id, true, card: newer.bytes)
    }
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(3))
    #expect((pair.time(.incoming, of: call, at: pair.bob) == nil) == isRefused)
    pair.alice.end(call)
    pair.world.run(.seconds(10))
    let ignored = pair.bob.host.command(now: pair.world.now) { machine, _ in
      machine.ledger.ignored[.superseded]
    }
    #expect((ignored ?? 0 > 0) == isRefused)
    let back = try #require(pair.bob.call(.id(pair.alice.id)))
    pair.world.run(.seconds(2))
    let failures = pair.events(of: pair.bob).compactMap { event -> LookUpFailure? in
      if case .unresolved(back, let failure) = event { failure } else { nil }
    }
    #expect(failures == (isRefused ? [.badCard] : []))
  }

  /// Method: bob calls alice, no more.
  @Test func `of a peer that was called the newest card is remembered`() throws {
    let pair = TwoPeers()
    pair.alice.habits.answer = .reject(after: .zero)
    let former = try Self.card(.former, pair)
    func isKnown() -> Bool? {
      pair.bob.host.command(now: pair.world.now) { machine, _ in
        machine.newestCards.hasSuperseded(former)
      }
    }
    #expect(isKnown() == false)
    pair.bob.call(.id(pair.alice.id))
    pair.world.run(.seconds(3))
    #expect(isKnown() == true)
  }

  @Test func `ten thousand are remembered, and a card with a lower serial changes nothing`() throws
  {
    var random = RandomSource(seed: 3)
    var cards = NewestCards()
    var identity = LocalIdentity(kind: .peer, unixSeconds: 1_800_000_000, random: &random)
    let first = try identity.makeCard(unixSeconds: 1_800_000_000)
    identity.replaceStaticKey(unixSeconds: 1_800_000_001, random: &random)
    let second = try identity.makeCard(unixSeconds: 1_800_000_001)
    for card in [second, first] { cards.insert(card) }
    #expect(cards.hasSuperseded(first) && !cards.hasSuperseded(second) && cards.count == 1)
    var content = first.content
    let signature = [UInt8](repeating: 0, count: ContactCard.signatureByteCount)
    for number in 0..<NewestCards.limit {
      content.id = PeerID(word0: UInt64(number), word1: 9, word2: 9, word3: 9)
      cards.insert(try ContactCard(content: content, signature: signature))
    }
    #expect(cards.count == NewestCards.limit && cards.hasSuperseded(first))
  }
}
