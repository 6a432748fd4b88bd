import Earshot
import Foundation
import Synchronization

/// A rendezvous on the loopback address, and endpoints that are registered with it.
final class LoopbackTown {
  private let rendezvous: LoopbackRendezvous
  private let folder: URL
  private(set) var endpoints: [Endpoint] = []

  /// - Parameters:
  ///   - nameless: Who asks for no name; it is what their folder is called.
  ///   - prepare: Puts files beside the identities, before anybody reads them.
  init(
    _ names: [String] = ["alice", "bob"], nameless: Set<String> = [], calls: Int = 1,
    prepare: (_ identityFile: (String) -> String) throws -> Void = { _ in }
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    self.folder = folder
    try prepare { folder.appending(path: $0 + "/identity").path }
    rendezvous = try LoopbackRendezvous()
    for name in names {
      var configuration = Configuration(rendezvous: rendezvous.address.description)
      configuration.name = nameless.contains(name) ? nil : name
      configuration.bind = "127.0.0.1:0"
      configuration.maximumCalls = calls
      configuration.identityFile = identityFile(of: name)
      let endpoint = try await Endpoint.open(configuration)
      _ = try await endpoint.waitUntilRegistered()
      endpoints.append(endpoint)
    }
  }

  func identityFile(of name: String) -> String {
    folder.appending(path: name + "/identity").path
  }

  /// What is in the file of pins.
  func pins(of name: String) -> Data? {
    FileManager.default.contents(atPath: identityFile(of: name) + ".known-peers")
  }

  var alice: Endpoint { endpoints[0] }
  var bob: Endpoint { endpoints[1] }

  /// Nothing answers there any more.
  func stopRendezvous() { rendezvous.stop() }

  func close() async {
    for endpoint in endpoints { await endpoint.close() }
    rendezvous.stop()
    try? FileManager.default.removeItem(at: folder)
  }
}

/// What one endpoint tells, read one by one and kept.
struct Story {
  let endpoint: Endpoint
  private var iterator: AsyncStream<EndpointEvent>.Iterator
  private(set) var events: [EndpointEvent] = []

  init(_ endpoint: Endpoint) async {
    self.endpoint = endpoint
    iterator = await endpoint.events().makeAsyncIterator()
  }

  /// Reads on until `found` gives something.
  mutating func first<Found>(_ found: (EndpointEvent) -> Found?) async -> Found? {
    while let event = await iterator.next(isolation: #isolation) {
      events.append(event)
      if let result = found(event) { return result }
    }
    return nil
  }

  mutating func incoming() async -> IncomingCall? {
    await first { if case .incomingCall(let call) = $0 { call } else { nil } }
  }

  mutating func connected() async {
    _ = await first { if case .callStateChanged(_, .connected, _) = $0 { true } else { nil } }
  }

  mutating func statistics() async -> CallStatistics? {
    await first { if case .statistics(_, let numbers) = $0 { numbers } else { nil } }
  }

  mutating func report() async -> CallReport? {
    await first { if case .callEnded(_, let report) = $0 { report } else { nil } }
  }

  /// What was read so far of the other side's muting.
  var remoteMutes: [Bool] {
    events.compactMap {
      if case .callProgress(_, .remoteAudioMuted(let isMuted)) = $0 { isMuted } else { nil }
    }
  }

  var qualityChanges: Int {
    events.count { if case .audioQualityChanged = $0 { true } else { false } }
  }
}
