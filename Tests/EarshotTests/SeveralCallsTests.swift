import Earshot
import Foundation
import Synchronization
import Testing

extension CallTests {
  /// Goal: one endpoint talks with two at once, each hears, each call ends by itself, and the third
  /// that calls is told that the line is busy.
  @Test(.timeLimit(.minutes(1)))
  func `one endpoint has two calls at once`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let rendezvous = try LoopbackRendezvous()
    let alice = try await endpoint("alice", rendezvous, folder, calls: 2)
    var others: [Endpoint] = []
    for name in ["bob", "carol", "dave"] {
      others.append(try await endpoint(name, rendezvous, folder, calls: 1))
    }
    for endpoint in [alice] + others { _ = try await endpoint.waitUntilRegistered() }

    let ears = [Ear(), Ear()]
    let reports = try await answers(Array(others.prefix(2)), ears)
    let (calls, ended) = try await talk(alice, ears, beside: others[2])
    #expect(ended.map(\.callID) == calls.map(\.id))
    #expect(ended.allSatisfy { $0.outcome == .completed })
    #expect(try await reports.value.map(\.?.outcome) == [.completed, .completed])
    for endpoint in [alice] + others { await endpoint.close() }
    rendezvous.stop()
  }

  /// Alice calls two until both have heard half a second; meanwhile `third` calls her.
  private func talk(
    _ alice: Endpoint, _ ears: [Ear], beside third: Endpoint
  ) async throws -> ([Call], [CallReport]) {
    let events = await alice.events()
    var calls: [Call] = []
    for name in ["bob", "carol"] {
      calls.append(try await alice.call(name, options: CallOptions(source: Tone(), sink: Ear())))
    }
    var ended: [CallReport] = []
    var connected = 0
    for await event in events {
      switch event {
      case .callStateChanged(_, .connected, _):
        connected += 1
        guard connected == 2 else { continue }
        while ears.contains(where: { $0.heard.withLock { $0.count } < 24_000 }) {
          await Task.yield()
        }
        #expect(try await Self.refusal(of: third) == .busy)
        await calls[0].hangUp(reason: "first")
      case .callEnded(_, let report):
        ended.append(report)
        if ended.count == 1 {
          #expect(await calls[1].statistics() != nil)
          await calls[1].hangUp(reason: "second")
        }
      default: break
      }
      if ended.count == 2 { break }
    }
    return (calls, ended)
  }

  private func endpoint(
    _ name: String, _ rendezvous: LoopbackRendezvous, _ folder: URL, calls: Int
  ) async throws -> Endpoint {
    var configuration = Configuration(rendezvous: rendezvous.address.description)
    configuration.name = name
    configuration.bind = "127.0.0.1:0"
    configuration.maximumCalls = calls
    configuration.identityFile = folder.appending(path: name + "/identity").path
    return try await Endpoint.open(configuration)
  }

  private func answers(
    _ endpoints: [Endpoint], _ ears: [Ear]
  ) async throws -> Task<[CallReport?], any Error> {
    var tasks: [Task<CallReport?, any Error>] = []
    for (endpoint, ear) in zip(endpoints, ears) {
      let events = await endpoint.events()
      tasks.append(
        Task { try await Self.answer(endpoint, events, CallOptions(source: Tone(), sink: ear)) })
    }
    return Task { [tasks] in
      var reports: [CallReport?] = []
      for task in tasks { reports.append(try await task.value) }
      return reports
    }
  }

  /// How a call of `endpoint` to alice ends.
  private static func refusal(of endpoint: Endpoint) async throws -> CallReport.Outcome? {
    let events = await endpoint.events()
    _ = try await endpoint.call("alice", options: CallOptions(source: Tone()))
    for await event in events {
      if case .callEnded(_, let report) = event { return report.outcome }
    }
    return nil
  }

  @Test(arguments: [0, 33])
  func `so many calls at once are refused`(count: Int) async {
    var configuration = Configuration(rendezvous: "127.0.0.1:9")
    configuration.maximumCalls = count
    await #expect(throws: EarshotError.self) { try await Endpoint.open(configuration) }
  }
}
