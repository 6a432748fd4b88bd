import Earshot
import Foundation
import Synchronization
import Testing

@testable import EarshotC

/// The calls of an endpoint by their numbers.
struct CEndpointTests {
  private final class Told: Sendable {
    let lines = Mutex<[String]>([])
  }

  /// Goal: each number that C was told ends. Where both call each other, the call that came in goes
  /// on under the number of the one that went out.
  @Test func `a call that is replaced ends the number of the other`() async throws {
    var configuration = Configuration(rendezvous: "127.0.0.1:9")
    configuration.bind = "127.0.0.1:0"
    configuration.isEphemeral = true
    let endpoint = try await Endpoint.open(configuration)
    let held = CEndpoint(endpoint)
    let (out, into) = (CallID(bytes: Array(0..<16)), CallID(bytes: Array(16..<32)))
    let told = Told()
    let (events, feed) = AsyncStream.makeStream(of: EndpointEvent.self)
    try held.follow(events) { text, number in
      told.lines.withLock { $0.append("\(number) \(text.kind) \(text.name)") }
    }
    feed.yield(.callProgress(out, .delivered))
    feed.yield(.callStateChanged(into, .calling, .remoteInvite))
    feed.yield(.callProgress(out, .replaced(by: into)))
    feed.yield(.callProgress(into, .resumed))
    let report = CallReport(callID: into, outcome: .completed, reason: "", role: .caller)
    feed.yield(.callEnded(into, report))
    feed.finish()
    // It waits for what needs a thread of the pool.
    await withCheckedContinuation { (end: CheckedContinuation<Void, Never>) in
      Thread.detachNewThread {
        held.close()
        end.resume()
      }
    }
    #expect(
      told.lines.withLock { $0 } == [
        "1 4 delivered", "2 3 calling", "1 4 replaced", "2 7 replaced", "1 4 resumed",
        "1 7 completed",
      ])
    #expect(throws: EarshotError.self) { try held.call(2) }
    #expect(throws: EarshotError.self) { try held.call(1) }
  }
}
