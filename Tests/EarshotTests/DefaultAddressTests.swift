import Earshot
import Foundation
import Primitives
import Testing

/// Without `bind` an endpoint speaks both families, and with every address of a rendezvous.
struct DefaultAddressTests {
  @Test(
    .timeLimit(.minutes(1)),
    arguments: ["127.0.0.1", "127.0.0.9", "[::1]", "[::ffff:7f00:9]", "localhost"])
  func `registers with a rendezvous at any of its addresses`(host: String) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let everywhere = try #require(SocketAddress("[::]:0"))
    let rendezvous = try LoopbackRendezvous(binding: everywhere)
    var configuration = Configuration(rendezvous: "\(host):\(rendezvous.address.port)")
    configuration.identityFile = folder.appending(path: "identity").path
    configuration.name = "alice"
    #expect(configuration.bind == "[::]:0")
    let endpoint = try await Endpoint.open(configuration)
    #expect(endpoint.localAddress.family == .v6)
    #expect(try await endpoint.waitUntilRegistered() == .granted)
    await endpoint.close()
    rendezvous.stop()
  }

  /// Goal: a host without a network says so, and not that nobody answers.
  @Test func `a host without a network is told so`() {
    let address = SocketAddress(v4: 192, 0, 2, 1, port: 7400)
    let none = EarshotError.unanswered(address, NetworkState(.disconnected, address: nil))
    #expect(none.code == .rendezvousUnreachable)
    #expect(none.message == "This host has no network: no route leads to 192.0.2.1:7400.")
    #expect(
      EarshotError.unanswered(address, NetworkState(.lan, address: address))
        == .rendezvousUnreachable(address))
    let lost = EarshotError.hostNotFound("h:7400", detail: "try again", hasNetwork: false)
    #expect(lost.code == .hostNotFound && lost.message.contains("no network"))
    #expect(
      EarshotError.hostNotFound("h", detail: "unknown", hasNetwork: true)
        == .hostNotFound("h", detail: "unknown"))
  }

  @Test func `real-time scheduling can be declined`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var configuration = Configuration(rendezvous: "127.0.0.1:9")
    configuration.identityFile = folder.appending(path: "identity").path
    #expect(configuration.usesRealTimeScheduling)
    configuration.usesRealTimeScheduling = false
    let endpoint = try await Endpoint.open(configuration)
    #expect(!endpoint.hasRealTimeScheduling)
    await endpoint.close()
  }
}
