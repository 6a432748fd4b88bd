import Foundation
import Testing

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
}
