import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// With a round trip r between all, from accept to connected and to the first frame.
@Suite struct ConnectTimeTests {
  @Test(arguments: [20, 100, 300] as [Int64])
  func `both are connected within 3 r + 50 ms and the first frame is heard within r`(
    roundTrip: Int64
  ) throws {
    for seed in UInt64(1)...5 {
      let pair = TwoPeers(seed: seed, roundTrip: .milliseconds(roundTrip))
      let call = try pair.connect()
      let accepted = pair.time(.accepted, of: call, at: pair.bob)
      let heard = [pair.alice, pair.bob].map {
        TwoPeers.milliseconds(accepted, pair.time(.firstFrameReceived, of: call, at: $0))
      }
      let connected = [pair.alice, pair.bob].map {
        TwoPeers.milliseconds(accepted, pair.time(.connected, of: call, at: $0))
      }
      #expect(connected.max() ?? .max <= 3 * roundTrip + 50, "seed \(seed): \(connected) ms")
      // 1 ms for the local hops of the simulated day.
      #expect(heard.min() ?? .max <= roundTrip + 1, "seed \(seed): \(heard) ms")
    }
  }

  @Test func `with paths prepared on accept it takes a round trip longer and still fits`() throws {
    let pair = TwoPeers(configure: { $0.policy.preparation = .onAccept })
    let call = try pair.connect()
    let accepted = pair.time(.accepted, of: call, at: pair.bob)
    for peer in [pair.alice, pair.bob] {
      let connected = TwoPeers.milliseconds(accepted, pair.time(.connected, of: call, at: peer))
      #expect(connected > 100 && connected <= 350, "\(connected) ms")
    }
  }

  @Test func `the steps of a call are told in causal order, with both ends of it`() throws {
    let pair = TwoPeers()
    let call = try pair.connect(talking: .seconds(10))
    pair.world.run(.seconds(12))
    for peer in [pair.alice, pair.bob] {
      let end = try #require(pair.summary(of: call, at: peer))
      #expect(end.outcome == .completed)
      let steps = [
        end.timeline[.invited], end.timeline[.delivered], end.timeline[.accepted],
        end.timeline[.firstFrameReceived], end.timeline[.connected],
      ].compactMap { $0 }
      #expect(steps.count == 5 && steps == steps.sorted(), "\(end.timeline)")
    }
    pair.expectNoViolations()
  }
}
