import Primitives
import Reactor
import Simulation
import Testing

@testable import Earshot

/// Two sockets behind one translator, in simulated time and on the loopback address.
@Suite struct HairpinTests {
  /// What the two ends of a trial hear behind a translator of the simulation.
  private func hears(_ behaviour: SimulatedNAT.Behaviour, seed: UInt64 = 1) -> Bool {
    let outer = SocketAddress(v4: 198, 18, 0, 1, port: 0)
    let server = SocketAddress(v4: 198, 18, 0, 2, port: 7400)
    var box = SimulatedNAT(behaviour, outerAddress: outer, random: RandomSource(seed: seed))
    let start = Instant.zero + .seconds(1)
    let inner = [4000, 4001].map { SocketAddress(v4: 192, 168, 1, 2, port: $0) }
    let seen = inner.map { box.translate(from: $0, to: server, at: start) }
    let (one, other): ([UInt8], [UInt8]) = (Array(1...16), Array(17...32))
    var ends = [
      HairpinTrial(to: seen[1], sends: one, expects: other, now: start),
      HairpinTrial(to: seen[0], sends: other, expects: one, now: start),
    ]
    var now = start
    while let next = earliest(ends[0].nextDeadline, ends[1].nextDeadline) {
      now = max(now, next)
      for index in ends.indices {
        for (bytes, remote) in packets(of: &ends[index], now: now) {
          guard behaviour.isHairpinning else { continue }
          let source = box.translate(from: inner[index], to: remote, at: now)
          let receiver = box.receiver(ofPort: remote.port, from: source, at: now)
          guard let receiver, let end = inner.firstIndex(of: receiver) else { continue }
          deliver(bytes, to: &ends[end], from: source, now: now)
        }
      }
    }
    return ends.contains(where: \.isHeard)
  }

  private func packets(
    of end: inout HairpinTrial, now: Instant
  ) -> [(bytes: [UInt8], to: SocketAddress)] {
    var sent = DatagramList()
    var events: [HairpinTrial.Event] = []
    _ = drain(&end, into: &sent, events: &events, now: now)
    return sent.datagrams.map { ($0.bytes, $0.path.remote) }
  }

  private func deliver(
    _ bytes: [UInt8], to end: inout HairpinTrial, from source: SocketAddress, now: Instant
  ) {
    var bytes = bytes
    var span = bytes.mutableSpan
    end.handle(&span, from: source, marks: DatagramMarks(), now: now)
  }

  @Test func `a translator that hairpins is told from one that does not`() {
    let kinds: [SimulatedNAT.Behaviour] = [
      .endpointIndependent, .addressRestricted, .portRestricted,
    ]
    for kind in kinds {
      var hairpinning = kind
      hairpinning.isHairpinning = true
      #expect(hears(hairpinning) && !hears(kind), "\(kind)")
    }
  }

  @Test func `only the other end's bytes count, and it ends by itself`() {
    let start = Instant.zero + .seconds(1)
    let target = SocketAddress(v4: 192, 0, 2, 1, port: 9)
    let (own, theirs): ([UInt8], [UInt8]) = (Array(1...16), Array(17...32))
    var end = HairpinTrial(to: target, sends: own, expects: theirs, now: start)
    for bytes in [own, Array(theirs.dropLast()), theirs + [0], []] {
      deliver(bytes, to: &end, from: target, now: start)
    }
    #expect(!end.isHeard)
    var count = 0
    while let next = end.nextDeadline, count < 100 {
      count += packets(of: &end, now: next).count
    }
    #expect(count == HairpinTrial.packetCount)
    deliver(theirs, to: &end, from: target, now: start)
    let heard = end.pollEvent()
    #expect(end.isHeard && heard == target && end.pollEvent() == nil)
  }

  @Test(.timeLimit(.minutes(1)))
  func `two live sockets hear each other where nothing is in between`() async throws {
    var pairs: [SocketPair] = []
    for _ in 0..<2 {
      let socket = try UDPSocket(binding: SocketAddress(v4: 127, 0, 0, 1, port: 0))
      pairs.append(SocketPair(local: socket.localAddress, seenAs: socket.localAddress))
    }
    let heard = await HairpinExaminer.examine(pairs[0], pairs[1], bind: "127.0.0.1:0")
    #expect(heard == true)
    let same = await HairpinExaminer.examine(pairs[0], pairs[0], bind: "127.0.0.1:0")
    #expect(same == nil)
  }
}
