import Testing

@testable import Earshot

@Suite struct EventReadersTests {
  /// Goal: a reader that lags loses what a peer says before it loses what becomes of a call.
  @Test(arguments: [
    CallProgress.message(stream: 8, [1]), .remoteAudioMuted(true), .remoteLowVideoOffered(nil),
    .streamChanged(
      StreamChange(.remoteAudio, from: .decoding, to: .stopped, .remoteMuted, elapsed: .zero)),
  ])
  func `what a peer does goes first where too many events wait`(flood: CallProgress) async {
    var readers = EventReaders()
    let stream = AsyncStream<EndpointEvent>(bufferingPolicy: .bufferingNewest(4096)) {
      _ = readers.add($0)
    }
    let call = CallID(bytes: Array(0..<16))
    readers.publishEvent(.callProgress(call, .resumed))
    for _ in 0..<10_000 { readers.publishEvent(.callProgress(call, flood)) }
    readers.publishEvent(.callProgress(call, .interrupted))
    for _ in 0..<5000 { readers.publishEvent(.callProgress(call, flood)) }
    readers.finish()
    var count = 0
    var others: [String] = []
    for await event in stream {
      count += 1
      switch event {
      case .callProgress(_, .resumed): others.append("resumed")
      case .callProgress(_, .interrupted): others.append("interrupted")
      default: break
      }
    }
    #expect(count == 4096)
    #expect(others.sorted() == ["interrupted", "resumed"])
  }

  /// Everything of two calls, while nobody reads.
  private static func flood(_ endpoint: isolated Endpoint, _ call: CallID, then new: CallID) {
    endpoint.publish(.callProgress(call, .delivered))
    for _ in 0..<3000 { endpoint.publish(.callProgress(call, .message(stream: 8, [1]))) }
    endpoint.publish(.callProgress(new, .resumed))
    endpoint.publish(.callProgress(call, .replaced(by: new)))
    endpoint.publish(.callProgress(call, .interrupted))
    for _ in 0..<3000 { endpoint.publish(.callProgress(new, .message(stream: 8, [1]))) }
    endpoint.publish(
      .callEnded(new, CallReport(callID: new, outcome: .completed, reason: "", role: .caller)))
    endpoint.publish(.callProgress(new, .resumed))
  }

  /// Goal: the same for who reads the events of one call.
  @Test func `a flood of messages pushes nothing else out of a call's events`() async throws {
    var configuration = Configuration(rendezvous: "127.0.0.1:9")
    configuration.bind = "127.0.0.1:0"
    configuration.isEphemeral = true
    let endpoint = try await Endpoint.open(configuration)
    let call = try await endpoint.call("bob")
    let events = await call.events()
    await Self.flood(endpoint, call.id, then: CallID(bytes: Array(0..<16)))
    var told: [String] = []
    var messages = 0
    for await event in events {
      if case .callProgress(_, .message) = event {
        messages += 1
      } else {
        told.append(LogEntry(event).map { String($0.message.dropFirst(43)) } ?? "")
      }
    }
    #expect(Set(told.map { $0.prefix(9) }) == ["calling, ", "delivered", "replaced", "completed"])
    #expect(told.count == 4 && messages > 900 && messages < 1024)
    await endpoint.close()
  }
}
