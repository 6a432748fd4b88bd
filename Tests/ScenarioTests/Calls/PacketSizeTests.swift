import Congestion
import Primitives
import Simulation
import Testing

@testable import Peer

/// The path carries only shorter packets from some moment on, as behind a tunnel that is opened,
/// and nobody says so.
extension VideoCallTests {
  private static func setMost(_ talk: Talk, _ byteCount: Int?) {
    let network = talk.pair.world.network
    var access = network.conditions(of: talk.pair.alice.site)
    access.up.mostByteCount = byteCount
    network.setConditions(access, of: talk.pair.alice.site, now: talk.pair.world.now)
  }

  /// The longest datagram that Alice sends now.
  private static func limit(_ talk: Talk) -> Int {
    talk.pair.alice.host.command(now: talk.pair.world.now) { machine, _ in
      machine.links.first?.association?.packetSize.limit ?? 0
    } ?? 0
  }

  /// Whether Alice has packets that would be longer.
  private static func wantsLonger(_ talk: Talk) -> Bool {
    talk.pair.alice.host.command(now: talk.pair.world.now) { machine, now in
      machine.links.first?.association?.packetSize.isWanted(now: now) ?? false
    } ?? false
  }

  /// From one moment to another: the longest time without a picture at Bob, in ms.
  private static func longestGap(_ talk: Talk, from start: Instant) -> Int64 {
    let times = talk.bob.framesReceived.map(\.at).filter { $0 > start } + [talk.pair.world.now]
    return zip([start] + times, times).map { ($1 - $0).milliseconds }.max() ?? .max
  }

  @Test(arguments: [576, 700, 1000, 1190], [700_000, 2_000_000, 8_000_000] as [UInt64])
  func `pictures are back within two seconds of a path that shrinks`(
    most: Int, uplink: UInt64
  ) throws {
    // Each size has 21 seeds in all.
    for seed in UInt64(1)...7 {
      let talk = try Talk(seed: seed << 32 + UInt64(most) + uplink, uplink: uplink)
      talk.run(.milliseconds(6_000 + 137 * Int64(seed)))
      let fell = talk.pair.world.now
      let audioBefore = (talk.alice.audioSent, talk.bob.audioReceived)
      Self.setMost(talk, most)
      talk.run(.seconds(6))
      let gap = Self.longestGap(talk, from: fell)
      #expect(gap <= 2000, "\(gap) ms without a picture, seed \(seed)")
      let lost = (talk.alice.audioSent - audioBefore.0) - (talk.bob.audioReceived - audioBefore.1)
      #expect(lost <= 5, "\(lost) audio frames, seed \(seed)")
      #expect(talk.alice.changes.isEmpty, "audio alone, seed \(seed)")
    }
  }

  @Test func `longer packets are tried again when the path carries them again`() throws {
    let talk = try Talk(seed: 34, uplink: 2_000_000)
    talk.run(.seconds(8))
    #expect(Self.limit(talk) == 1200)
    Self.setMost(talk, 1000)
    talk.run(.seconds(8))
    #expect(Self.limit(talk) == 900, "with 28 bytes of IP and UDP")
    Self.setMost(talk, nil)
    talk.run(.seconds(32))
    #expect(Self.limit(talk) == 1200)
  }

  /// Pictures fill the line, so that a part of one is always waiting: the trial has its turn. A
  /// picture of 2500 bytes goes in three parts with 1000 bytes as with 1200: then it is enough.
  @Test(arguments: [400_000, 600_000, 1_000_000] as [UInt64])
  func `longer packets are tried where pictures fill the line`(uplink: UInt64) throws {
    for seed in UInt64(60)..<64 {
      let talk = try Talk(seed: seed, uplink: uplink)
      talk.run(.seconds(8))
      Self.setMost(talk, 576)
      talk.run(.seconds(3))
      #expect(Self.limit(talk) == 548, "seed \(seed)")
      Self.setMost(talk, nil)
      talk.run(.seconds(6))
      #expect(Self.limit(talk) == 1200 || !Self.wantsLonger(talk), "seed \(seed)")
    }
  }

  /// Bursts in which all is lost, and a queue that overflows, take packets of all lengths. Where
  /// they look like a path that shrinks all the same, it is soon over: a round of trials, and 2 s.
  @Test(arguments: [400_000, 1_500_000] as [UInt64])
  func `loss that is taken for a path that shrinks costs a twentieth of the time`(
    uplink: UInt64
  ) throws {
    let found = try (35..<55).map { try shortSeconds(seed: $0, uplink: uplink) }
    #expect(found.allSatisfy { $0 <= 6 } && found.reduce(0, +) <= 40, "\(found)")
  }

  /// Of 40 s, how many ended with shorter packets.
  private func shortSeconds(seed: UInt64, uplink: UInt64) throws -> Int {
    let talk = try Talk(seed: seed, uplink: uplink)
    let network = talk.pair.world.network
    var access = network.conditions(of: talk.pair.alice.site)
    access.up.loss = .bursts(GilbertElliott(goodToBad: 0.01, badToGood: 0.1))
    network.setConditions(access, of: talk.pair.alice.site, now: talk.pair.world.now)
    var shortSeconds = 0
    for _ in 0..<40 {
      talk.run(.seconds(1))
      if Self.limit(talk) < 1200 { shortSeconds += 1 }
    }
    return shortSeconds
  }
}
