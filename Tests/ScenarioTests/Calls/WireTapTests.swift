import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// What somebody sees who listens on the line.
@Suite struct WireTapTests {
  private struct Sighting {
    var host: SimulatedNetwork.HostID
    var destination: SocketAddress
    var at: Instant
    var bytes: [UInt8]
  }

  private final class Tap {
    var sightings: [Sighting] = []

    init(on network: SimulatedNetwork) {
      network.tap = { [unowned self] seen in
        var bytes: [UInt8] = []
        for index in 0..<seen.bytes.count { bytes.append(seen.bytes[index]) }
        sightings.append(
          Sighting(host: seen.host, destination: seen.destination, at: seen.now, bytes: bytes))
      }
    }
  }

  private static func contains(_ bytes: [UInt8], _ canary: [UInt8]) -> Bool {
    guard bytes.count >= canary.count else { return false }
    for start in 0...(bytes.count - canary.count) where bytes[start] == canary[0] {
      if bytes[start..<(start + canary.count)].elementsEqual(canary) { return true }
    }
    return false
  }

  @Test func `no name, extension or sound is on the wire in clear, and an audio packet is 108 B`()
    throws
  {
    let pair = TwoPeers()
    let tap = Tap(on: pair.world.network)
    let canaries = ["extension-canary", "sound-canary"].map { Array($0.utf8) }
    pair.alice.userExtension = "{\"a\":\"extension-canary\"}"
    pair.bob.userExtension = "{\"b\":\"extension-canary\"}"
    pair.world.audioFrame = Array("sound-canary-".utf8) + [UInt8](repeating: 7, count: 67)
    pair.alice.crash()
    pair.world.run(.seconds(1))
    pair.alice.start()  // The tap sees the registration as well.
    pair.world.run(.seconds(3))
    let call = try pair.connect()
    pair.world.run(.seconds(10))
    pair.alice.end(call)
    pair.world.run(.seconds(2))

    #expect(tap.sightings.count > 1_000)
    let names = [pair.alice, pair.bob].map(\.name.bytes)
    let keys = [pair.alice, pair.bob].map(\.id.bytes)
    for sighting in tap.sightings {
      for canary in canaries + names + keys where Self.contains(sighting.bytes, canary) {
        Issue.record("\(sighting.bytes.count) B to \(sighting.destination) hold \(canary)")
      }
    }
    let audio = tap.sightings.filter { $0.bytes.count == 108 && $0.bytes[0] >> 5 == 3 }
    let frames = pair.alice.framesSent + pair.bob.framesSent
    // The others carry a report besides their frame.
    #expect(audio.count * 10 >= frames * 7 && audio.count <= frames, "\(audio.count) of \(frames)")
  }

  @Test func `before accept the callee sends no audio and nothing longer than a check`() throws {
    let pair = TwoPeers()
    let tap = Tap(on: pair.world.network)
    pair.bob.habits.answer = .accept(after: .seconds(3))
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.milliseconds(2_900))
    #expect(pair.time(.incoming, of: call, at: pair.bob) != nil)
    #expect(pair.bob.framesSent == 0 && pair.alice.framesSent == 0)
    #expect(pair.bob.statistics(of: call) == nil)  // There is no session to send it in.
    let rendezvous = pair.world.rendezvous.address
    let toAlice = tap.sightings.filter {
      $0.host == pair.bob.hostID && $0.destination != rendezvous
    }
    #expect(!toAlice.isEmpty && toAlice.allSatisfy { $0.bytes.count <= 64 })
    pair.world.run(.seconds(3))
    #expect(pair.bob.framesSent > 0 && pair.isConnected(call))
    pair.expectHungUp()
  }

  @Test func `prepared on accept, not one datagram passes between the two before it`() throws {
    let pair = TwoPeers(configure: { $0.policy.preparation = .onAccept })
    let tap = Tap(on: pair.world.network)
    pair.bob.habits.answer = .accept(after: .seconds(3))
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.milliseconds(2_900))
    #expect(pair.time(.incoming, of: call, at: pair.bob) != nil)
    let rendezvous = pair.world.rendezvous.address
    let between = tap.sightings.filter {
      $0.host != pair.world.rendezvous.host.host && $0.destination != rendezvous
    }
    #expect(between.isEmpty)
  }

  @Test func `datagrams of an old call do nothing to a new one, wherever they come from`() throws {
    let pair = TwoPeers()
    let tap = Tap(on: pair.world.network)
    let old = try pair.connect(talking: .seconds(3))
    pair.world.run(.seconds(5))
    #expect(pair.outcome(of: old, at: pair.bob) == .completed)
    let recorded = tap.sightings
    pair.world.network.tap = nil
    pair.alice.habits.talk = nil
    let call = try pair.connect()
    pair.world.run(.milliseconds(100))
    let start = pair.world.now
    let stranger = SocketAddress(v4: 203, 0, 113, 9, port: 5_000)
    let hosts = [pair.alice, pair.bob].map {
      ($0.hostID, pair.world.network.address(of: $0.hostID))
    }
    for (index, sighting) in recorded.enumerated() {
      let real = hosts.first { $0.0 == sighting.host }?.1 ?? pair.world.rendezvous.address
      pair.world.network.inject(
        sighting.bytes, from: index % 2 == 0 ? real : stranger, to: sighting.destination,
        now: pair.world.now)
      if index % 20 == 0 { pair.world.run(.milliseconds(10)) }
    }
    pair.world.run(.seconds(5))
    #expect(pair.isConnected(call) && pair.outcome(of: call, at: pair.alice) == nil)
    #expect(pair.outcome(of: call, at: pair.bob) == nil)
    for peer in [pair.alice, pair.bob] {
      #expect(pair.longestGap(at: peer, from: start) <= 21, "\(peer.name)")
      #expect(peer.registrations.count == 1 && peer.isRegistered)
    }
    pair.expectHungUp()
  }
}
