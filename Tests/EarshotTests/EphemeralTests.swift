import Earshot
import Foundation
import Synchronization
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
    let log = Mutex<[LogEntry]>([])
    configuration.logHandler = { entry in log.withLock { $0.append(entry) } }
    let alice = try await Endpoint.open(configuration)
    configuration.logHandler = nil
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
    Self.expectStory(log.withLock { $0 })
    #expect(!FileManager.default.fileExists(atPath: folder.path))
  }

  /// Goal: a line each for what happened, in order, and no more than a line.
  private static func expectStory(_ entries: [LogEntry]) {
    let told = entries.filter { $0.level != .debug }.map(\.message)
    var rest = told[...]
    for words in ["registered, seen at 127.0.0.1", "calling, ", "connecting, ", "connected, "] {
      let place = rest.firstIndex { $0.contains(words) }
      #expect(place != nil, "\(words) in \(told)")
      rest = place.map { rest[($0 + 1)...] } ?? rest
    }
    #expect(entries.allSatisfy { $0.message.utf8.count < 300 && !$0.message.contains("\n") })
  }
}
