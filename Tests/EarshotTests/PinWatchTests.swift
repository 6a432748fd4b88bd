import Foundation
import Storage
import Testing
import Wire

@testable import Earshot

/// Pins that another program sets count soon where only contacts see the program.
@Suite struct PinWatchTests {
  @Test(.timeLimit(.minutes(1)), arguments: [Configuration.Visibility.everybody, .contacts])
  func `an endpoint that is watched opens and closes`(
    visibility: Configuration.Visibility
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let rendezvous = try LoopbackRendezvous()
    var configuration = Configuration(rendezvous: rendezvous.address.description)
    configuration.bind = "127.0.0.1:0"
    configuration.identityFile = folder.appending(path: "identity").path
    configuration.visibility = visibility
    let endpoint = try await Endpoint.open(configuration)
    // Another one besides the one that `open` began: both end with the endpoint.
    try await PinWatch.begin(for: endpoint)
    _ = try await endpoint.waitUntilRegistered()
    await endpoint.close()
    rendezvous.stop()
  }

  private static func peer(_ number: Int) -> PeerID {
    PeerID(word0: 3, word1: UInt64(number), word2: 0, word3: 0)
  }

  private static func place(_ number: Int) throws -> KnownPeers.Place {
    .name(try #require(PeerName("contact-\(number)")))
  }

  /// Method: 500 contacts with names, one of them with two, and 40 of an ID alone; then ten more.
  @Test func `a presence for contacts alone leaves out those without a name first`() throws {
    let limit = Audience.limit
    let known = KnownIdentities(besideIdentity: nil)
    for number in 0..<500 { known.see(Self.peer(number), at: try Self.place(number)) }
    known.see(Self.peer(0), at: try Self.place(9999))
    for number in 1000..<1040 { known.see(Self.peer(number), at: .id(Self.peer(number))) }
    #expect(known.namedCount == 500, "one with two names is one contact")
    let named = Set((0..<500).map(Self.peer))
    let begun = known.takeFamiliarChanges(limit: limit)
    #expect(begun.come.count == limit && named.isSubset(of: begun.come.map(\.id)))
    for number in 500..<510 { known.see(Self.peer(number), at: try Self.place(number)) }
    let later = known.takeFamiliarChanges(limit: limit)
    #expect(Set(later.come.map(\.id)) == Set((500..<510).map(Self.peer)))
    #expect(later.gone.count == 10 && named.isDisjoint(with: later.gone))
    // Where all see the program nobody is left out.
    #expect(known.takeFamiliarChanges().come.count == 510 + 40 - limit)
    known.close()
  }

  @Test(arguments: [(512, true), (513, false)])
  func `more than 512 contacts with names are too many for one`(
    count: Int, isTaken: Bool
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let identity = folder.appending(path: "identity").path
    let places = try (0..<count).map { try Self.place($0) }
    try PinFile(besideIdentity: identity).update { pins in
      for (number, place) in places.enumerated() {
        _ = pins.see(Self.peer(number), at: place, now: 1)
      }
    }
    var configuration = Configuration(rendezvous: "127.0.0.1:9")
    configuration.bind = "127.0.0.1:0"
    configuration.identityFile = identity
    configuration.visibility = .contacts
    do throws(EarshotError) {
      try await Endpoint.open(configuration).close()
      #expect(isTaken)
    } catch {
      #expect(!isTaken && error.message.hasPrefix("513 contacts are too many"))
    }
  }
}
