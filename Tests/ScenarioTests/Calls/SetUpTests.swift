import LinkModel
import Peer
import Primitives
import Simulation
import Testing
import Trials

/// Calls of registered people on lines that lose much from the first packet on, the way to the
/// rendezvous included: each comes to be, and both hear each other soon.
@Suite struct SetUpTests {
  struct Line: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let roundTrip: Int64
    /// Of each of the two halves of a way.
    let loss: LinkConditions.Loss
    /// Goals: from the answer to the first sound, and from the call to "connected" without the time
    /// that the person took, in ms, in 19 of 20 calls.
    let firstSound: Int64
    let connected: Int64
  }

  /// One way loses a tenth, 30 %, or 20 % in bursts of five.
  static let lines: [Line] = ([40, 100, 300] as [Int64]).flatMap { roundTrip -> [Line] in
    let bursts = GilbertElliott(goodToBad: 0.0236, badToGood: 0.2)
    return [
      Line(
        testDescription: "10 %, \(roundTrip) ms", roundTrip: roundTrip, loss: .random(0.0513),
        firstSound: roundTrip + 100, connected: 4000),
      Line(
        testDescription: "30 %, \(roundTrip) ms", roundTrip: roundTrip, loss: .random(0.1633),
        firstSound: 2 * roundTrip + 250, connected: 4000),
      Line(
        testDescription: "20 % in bursts, \(roundTrip) ms", roundTrip: roundTrip,
        loss: .bursts(bursts), firstSound: 2 * roundTrip + 250, connected: 4000),
    ]
  }

  private struct Found {
    var connected: [Int64] = []
    var firstSound: [Int64] = []
    var failed: [UInt64] = []
  }

  private static func call(seed: UInt64, _ line: Line, _ found: inout Found) {
    let pair = TwoPeers(seed: seed, roundTrip: .milliseconds(line.roundTrip))
    let network = pair.world.network
    let rendezvous = network.site(of: pair.world.rendezvous.host.host)
    for site in [pair.alice.site, pair.bob.site, rendezvous] {
      var access = network.conditions(of: site)
      access.up.loss = line.loss
      access.down.loss = line.loss
      network.setConditions(access, of: site, now: pair.world.now)
    }
    pair.bob.habits.answer = .accept(after: .seconds(1))
    let began = pair.world.now
    guard let call = pair.alice.call(.id(pair.bob.id)),
      pair.world.run(atMost: .seconds(20), until: { pair.isConnected(call) })
    else {
      found.failed.append(seed)
      return
    }
    let accepted = pair.time(.accepted, of: call, at: pair.bob)
    for peer in [pair.alice, pair.bob] {
      found.connected.append(
        TwoPeers.milliseconds(began, pair.time(.connected, of: call, at: peer)) - 1000)
      found.firstSound.append(
        TwoPeers.milliseconds(accepted, pair.time(.firstFrameReceived, of: call, at: peer)))
    }
  }

  private static func share(_ values: [Int64], _ share: Int) -> Int64 {
    let sorted = values.sorted()
    return sorted.isEmpty ? .max : sorted[min(sorted.count - 1, sorted.count * share / 100)]
  }

  @Test(arguments: lines)
  func `each call on a line that loses much comes to be, and is soon heard`(line: Line) {
    let count = Trials.count(20, full: 120)
    let first = UInt64(line.roundTrip) * 10_000
    var found = Found()
    for seed in first..<first + UInt64(count) { Self.call(seed: seed, line, &found) }
    let connected = Self.share(found.connected, 95)
    let heard = Self.share(found.firstSound, 95)
    Trials.report(
      "set-up: \(line.testDescription): \(count - found.failed.count) of \(count) connect, within "
        + "\(Self.share(found.connected, 50)), \(connected) (95 %), "
        + "\(found.connected.max() ?? 0) ms; sound after \(Self.share(found.firstSound, 50)), "
        + "\(heard), \(found.firstSound.max() ?? 0) ms")
    #expect(found.failed.isEmpty, "\(found.failed)")
    #expect(connected <= line.connected)
    #expect(heard <= line.firstSound)
  }
}
