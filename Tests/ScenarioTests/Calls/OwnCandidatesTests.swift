import Connectivity
import Primitives
import Testing
import Wire

@testable import Peer

/// Which addresses of its own a peer tells.
@Suite struct OwnCandidatesTests {
  private static let seen = SocketAddress(v4: 198, 51, 100, 7, port: 5)
  private static let relayed = SocketAddress(v4: 203, 0, 113, 9, port: 6)

  private func configuration(_ hostCount: Int) -> PeerConfiguration {
    var configuration = PeerConfiguration(rendezvous: Self.seen, wallClockAtZero: 0)
    for index in 0..<hostCount {
      configuration.hostCandidates.append(SocketAddress(v4: 10, 0, 0, UInt8(index + 1), port: 5))
    }
    return configuration
  }

  @Test func `at most seven are told beside the one that the rendezvous sees`() {
    let all = configuration(9).candidates(seenAs: Self.seen, relayed: nil).candidates
    #expect(all.count == 8 && all.last?.address == Self.seen)
    let relayed = configuration(9).candidates(seenAs: Self.seen, relayed: Self.relayed).candidates
    #expect(relayed.count == 8 && relayed.last?.kind == .relayed)
  }

  @Test func `a mapped address counts where the rendezvous sees this host there`() {
    var configuration = configuration(1)
    let mapped = SocketAddress(v4: 198, 51, 100, 7, port: 4000)
    configuration.mappedAddress = mapped
    #expect(configuration.usefulMappedAddress(seenAs: Self.seen) == mapped)
    #expect(configuration.usefulMappedAddress(seenAs: Self.relayed) == nil)
    configuration.mappedAddress = SocketAddress(v4: 192, 168, 1, 1, port: 4000)
    #expect(configuration.usefulMappedAddress(seenAs: nil) == nil)
  }

  @Test func `candidates of a family that the host lacks are not checked`() {
    let other = SocketAddress(family: .v6, high: 0xFD, low: 1, port: 5)
    let both = [Candidate(.host, Self.seen), Candidate(.host, other)]
    #expect(configuration(1).usable(both).map(\.address) == [Self.seen])
    #expect(configuration(0).usable(both).count == 2, "nothing is known of the host")
  }
}
