import Earshot
import Foundation
import Testing

/// An identity that lives in memory alone.
struct EphemeralTests {
  /// Goal: no file is read or written, each endpoint is somebody else, and who was called by name
  /// is known while the endpoint is open.
  @Test func `an endpoint needs no file`() async throws {
    let rendezvous = try LoopbackRendezvous()
    let folder = FileManager.default.temporaryDirectory.appending(path: "earshot-\(UUID())")
    var configuration = Configuration(rendezvous: rendezvous.address.description)
    configuration.bind = "127.0.0.1:0"
    configuration.identityFile = folder.appending(path: "identity").path
    configuration.isEphemeral = true
    let alice = try await Endpoint.open(configuration)
    configuration.name = "bob"
    let bob = try await Endpoint.open(configuration)
    #expect(alice.id != bob.id)
    #expect(try await bob.waitUntilRegistered() == .granted)
    _ = try await alice.waitUntilRegistered()
    let rings = await bob.events()
    let call = try await alice.call("bob")
    for await event in rings {
      if case .incomingCall(let incoming) = event {
        #expect(incoming.peer == alice.id)
        try await bob.call(incoming.id).accept(CallOptions())
        break
      }
    }
    for await event in await call.events() {
      if case .callStateChanged(_, .connected, _) = event { break }
    }
    #expect(await call.peer?.id == bob.id)
    await alice.close()
    await bob.close()
    rendezvous.stop()
    #expect(!FileManager.default.fileExists(atPath: folder.path))
  }
}
