import Audio
import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// The first second of a call on a line that loses packets, path checks among them: heard as soon
/// and with as little delay as the rest of the call.
@Suite struct FirstSecondTests {
  private struct Ears {
    /// From mouth to ear, each 5 ms since this side's audio began, in milliseconds.
    var delays: [[Double]] = [[], []]
    /// When the first frame of each direction was given to the machine, in world time.
    var began: [Instant?] = [nil, nil]
    var accepted: Instant?
  }

  /// What the two programs are told, from the ring on.
  private final class Story {
    var flows = [false, false]
    var accepted: Instant?

    init(_ pair: TwoPeers) {
      for (index, peer) in [pair.alice, pair.bob].enumerated() {
        peer.isSilent = true
        peer.host.observe = { [unowned self] event, _ in
          switch event {
          case .calling(.incoming(let id, _)):
            pair.world.simulator.plan(after: .seconds(1)) { [unowned self] in
              accepted = pair.world.now
              peer.accept(id)
            }
          case .link(_, .mediaMayFlow): flows[index] = true
          default: break
          }
        }
      }
      // Or the simulated people would take the frames out of their machines.
      pair.world.mediaInterval = .seconds(3600)
    }
  }

  /// Audio begins as a program begins it: when the machine says that media may flow.
  private static func talk(seed: UInt64, roundTrip: Int64, loss: Double) throws -> Ears? {
    let pair = TwoPeers(seed: seed, roundTrip: .milliseconds(roundTrip)) {
      $0.loss = .random(loss / 2)
    }
    let story = Story(pair)
    let id = try #require(pair.alice.call(.id(pair.bob.id)))
    var ears = Ears()
    let ends = [try AudioEndBox(), try AudioEndBox()]
    for _ in 0..<2800 {
      pair.world.run(.milliseconds(5))
      for index in 0..<2 where story.flows[index] {
        try tick(index, ends[index], id, pair, &ears)
      }
    }
    ears.accepted = story.accepted
    return story.flows == [true, true] ? ears : nil
  }

  private static func tick(
    _ index: Int, _ end: AudioEndBox, _ call: CallID, _ pair: TwoPeers, _ ears: inout Ears
  ) throws {
    if ears.began[index] == nil { ears.began[index] = pair.world.now }
    try [pair.alice, pair.bob][index].host.command(now: pair.world.now) { machine, now in
      try end.end.tick(&machine, call, now: now)
    }
    let mouth = ears.began[1 - index] ?? pair.world.now
    guard let heard = end.end.engine.receiver.buffer.heardNanoseconds else { return }
    // Media time wraps after 65,536 steps of 10 ms.
    let media = Double(heard % 655_360_000_000)
    let age = Double(pair.world.now.nanoseconds(since: mouth)) - media
    ears.delays[index].append(age / 1e6)
  }

  /// A class, because an array cannot hold what cannot be copied.
  private final class AudioEndBox {
    var end: AudioEnd

    init() throws {
      end = try AudioEnd(AudioEngine.Settings(OpusEncoder.Settings(complexity: 0)))
    }
  }

  @Test(arguments: [(8, 0.1), (40, 0.2), (60, 0.05), (300, 0.1)] as [(Int64, Double)])
  func `begins at once and without extra delay`(roundTrip: Int64, loss: Double) throws {
    var late: [Int64] = []
    var held: [String] = []
    for seed in UInt64(1)...15 {
      let talk = try Self.talk(seed: seed, roundTrip: roundTrip, loss: loss)
      let ears = try #require(talk, "seed \(seed): no call")
      for index in 0..<2 {
        let name = "seed \(seed), ear \(index)"
        let delays = ears.delays[index]
        try #require(delays.count > 2000, "\(name): \(delays.count)")
        let steady = delays[1200...].sorted()[(delays.count - 1200) / 2]
        let first = delays[..<200].sorted()[100]
        if first > steady + 30 { held.append("\(name): \(first) ms at first, \(steady) ms later") }
        late.append(TwoPeers.milliseconds(ears.accepted, ears.began[index]))
      }
    }
    // One in 480 ears is held where the very first packets are lost.
    #expect(held.count <= 1, "\(held)")
    // What is lost is asked for again once; the accept itself may be lost as well.
    late.sort()
    #expect(late.count == 30)
    #expect(late[late.count / 2] <= roundTrip + 20, "\(late)")
    #expect(late[late.count * 9 / 10] <= 2 * roundTrip + 50, "\(late)")
  }
}
