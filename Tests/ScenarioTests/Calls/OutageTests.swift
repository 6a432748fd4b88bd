import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// The line is cut in mid-call: what both sides hear when it is back, and what they are told.
@Suite struct OutageTests {
  /// Which way nothing passes.
  enum Cut: String, CaseIterable, Sendable { case both, fromAlice, fromBob }

  private static func set(_ cut: Cut, _ isCut: Bool, _ pair: TwoPeers) {
    pair.world.network.setDown(
      up: isCut && cut != .fromBob, down: isCut && cut != .fromAlice, of: pair.alice.site,
      now: pair.world.now)
  }

  private static let filtered = SimulatedNAT.Behaviour.portRestricted

  @Test(arguments: [1, 4, 9, 14, 15, 16, 17, 18, 19] as [Int64], Cut.allCases)
  func `sound is back both ways within a second of the line`(seconds: Int64, cut: Cut) throws {
    // Each way has 36 seeds in all.
    for seed in UInt64(seconds) * 4..<UInt64(seconds) * 4 + 4 {
      let nat = seed % 2 == 0 ? (Self.filtered, Self.filtered) : (nil, nil)
      let pair = TwoPeers(seed: seed, roundTrip: .milliseconds(60), nat: nat)
      let call = try pair.connect()
      pair.world.run(.milliseconds(3_000 + Int64(seed) * 7))
      Self.set(cut, true, pair)
      pair.world.run(.seconds(seconds))
      Self.set(cut, false, pair)
      let back = pair.world.now
      pair.world.run(.seconds(6))
      let story = "\(seconds) s, \(cut.rawValue), seed \(seed)\n\(pair.story)"
      #expect(pair.isConnected(call) && pair.outcome(of: call, at: pair.alice) == nil, "\(story)")
      for peer in [pair.alice, pair.bob] {
        let first = peer.heard.first { $0.at >= back }?.at
        #expect(TwoPeers.milliseconds(back, first) <= 1_000, "\(peer.name), \(story)")
        #expect(
          pair.longestGap(at: peer, from: back + .seconds(1)) <= 100, "\(peer.name), \(story)")
      }
      pair.expectHungUp()
    }
  }

  @Test(arguments: Cut.allCases)
  func `a line away for 25 s ends the call at 20 s on both sides`(cut: Cut) throws {
    let pair = TwoPeers(seed: 3, roundTrip: .milliseconds(60), nat: (Self.filtered, Self.filtered))
    let call = try pair.connect()
    pair.world.run(.seconds(3))
    Self.set(cut, true, pair)
    let began = pair.world.now
    pair.world.run(.seconds(25))
    Self.set(cut, false, pair)
    pair.world.run(.seconds(5))
    for peer in [pair.alice, pair.bob] {
      let ended = pair.time(.ended, of: call, at: peer)
      let after = TwoPeers.milliseconds(began, ended)
      #expect((19_900...21_000).contains(after), "\(peer.name) after \(after) ms\n\(pair.story)")
    }
    pair.expectNoViolations()
  }

  /// One side's packets come, and nothing of ours gets there: that is no connection either.
  @Test func `packets without an answer do not keep a deaf call alive`() throws {
    let pair = TwoPeers(seed: 5, roundTrip: .milliseconds(60))
    let call = try pair.connect()
    #expect(pair.alice.mute(call) && pair.bob.mute(call))
    pair.world.run(.seconds(3))
    Self.set(.fromAlice, true, pair)
    let began = pair.world.now
    pair.world.run(.seconds(30))
    for peer in [pair.alice, pair.bob] {
      let after = TwoPeers.milliseconds(began, pair.time(.ended, of: call, at: peer))
      #expect(after <= 22_000, "\(peer.name) after \(after) ms\n\(pair.story)")
    }
  }

  @Test func `two who are both muted are told of an outage and of its end`() throws {
    let pair = TwoPeers(seed: 6, roundTrip: .milliseconds(60), nat: (Self.filtered, Self.filtered))
    let call = try pair.connect()
    #expect(pair.alice.mute(call) && pair.bob.mute(call))
    pair.world.run(.seconds(3))
    Self.set(.both, true, pair)
    pair.world.run(.seconds(16))
    Self.set(.both, false, pair)
    let back = pair.world.now
    pair.world.run(.seconds(3))
    for peer in [pair.alice, pair.bob] {
      let resumed = peer.events.first { event in
        if case .calling(.resumed(call)) = event.event { return true }
        return false
      }?.at
      #expect(TwoPeers.milliseconds(back, resumed) <= 1_000, "\(peer.name)\n\(pair.story)")
    }
    pair.expectHungUp()
  }
}
