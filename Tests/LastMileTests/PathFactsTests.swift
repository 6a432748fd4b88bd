import LastMile
import Primitives
import Testing

@Suite struct ECNSurvivalTests {
  @Test func `it is told for every count, and only from enough packets`() {
    #expect(ECNSurvival(received: 7, marked: 0, bleached: 7) == nil)
    #expect(ECNSurvival(received: 8, marked: 0, bleached: 0) == .survived)
    #expect(ECNSurvival(received: 8, marked: 1, bleached: 0) == .marked)
    #expect(ECNSurvival(received: 8, marked: 0, bleached: 8) == .bleached)
    #expect(ECNSurvival(received: 8, marked: -1, bleached: 0) == nil)
  }

  /// Monotonic: more packets that were bleached never make the verdict better, nor more marks.
  @Test func `more harm never reads as less`() {
    let order: [ECNSurvival] = [.survived, .marked, .bleached]
    for marked in 0...40 {
      let ranks = (0...40 - marked).compactMap { bleached in
        ECNSurvival(received: 40, marked: marked, bleached: bleached).flatMap(order.firstIndex)
      }
      #expect(ranks.count == 41 - marked && ranks == ranks.sorted())
    }
    for bleached in 0...40 {
      let ranks = (0...40 - bleached).compactMap { marked in
        ECNSurvival(received: 40, marked: marked, bleached: bleached).flatMap(order.firstIndex)
      }
      #expect(ranks == ranks.sorted())
    }
  }
}

@Suite struct MappingTests {
  private let own = SocketAddress(v4: 192, 168, 1, 7, port: 4000)
  private let server = SocketAddress(v4: 203, 0, 113, 1, port: 7400)
  private let peer = SocketAddress(v4: 198, 51, 100, 9, port: 5000)

  private func outer(_ port: UInt16) -> SocketAddress {
    SocketAddress(v4: 192, 0, 2, 33, port: port)
  }

  private func mapping(_ seen: (SocketAddress, SocketAddress)...) -> PathFacts.Mapping? {
    PathFacts.Mapping(seen.map { SeenAddress(by: $0.0, seen: $0.1) }, own: [own])
  }

  @Test func `one sighting tells no more than whether there is a translator`() {
    #expect(mapping() == nil)
    #expect(mapping((server, own)) == PathFacts.Mapping.none)
    #expect(mapping((server, outer(1))) == .translated)
    #expect(mapping((server, outer(1)), (server, outer(1))) == .translated)
  }

  @Test func `two destinations tell the RFC's word, where they prove it`() {
    #expect(mapping((server, outer(1)), (peer, outer(1))) == .endpointIndependent)
    #expect(mapping((server, outer(1)), (peer, outer(2))) == .dependent)
    let otherPort = SocketAddress(v4: 203, 0, 113, 1, port: 7401)
    #expect(mapping((server, outer(1)), (otherPort, outer(2))) == .addressAndPortDependent)
    #expect(mapping((server, outer(1)), (otherPort, outer(1))) == .translated)
  }

  @Test func `a neighbour that sees the own address tells nothing of the translator`() {
    #expect(mapping((server, outer(1)), (peer, own)) == .translated)
    #expect(mapping((peer, own), (server, outer(1))) == PathFacts.Mapping.none)
  }
}
