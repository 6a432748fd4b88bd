import Reactor
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
    let stream = AsyncStream<EndpointEvent>.held(4096) {
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

  /// Goal: a message holds its sender back until the last reader that it waits for has it.
  @Test func `a message counts as read when its last reader has it`() async {
    var readers = EventReaders()
    let call = CallID(bytes: Array(0..<16))
    let message = EndpointEvent.callProgress(call, .message(stream: 8, [1, 2, 3]))
    let told = Guarded(0)
    readers.read.begin { told.withLock { $0 += 1 } }
    readers.publishEvent(message)  // Nobody is there to read it.
    #expect(readers.read.takeShares() == [.init(call: call, messages: 1, byteCount: 3)])
    let one = AsyncStream<EndpointEvent>.held(8) { _ = readers.add($0) }
    var number = 0
    var other: AsyncStream<EndpointEvent>? = .held(8) { number = readers.add($0) }
    for _ in 0..<2 { readers.publishEvent(message) }
    var iterator = one.makeAsyncIterator()
    for _ in 0..<2 { _ = await iterator.next() }
    #expect(readers.read.takeShares().isEmpty)
    var second = other?.makeAsyncIterator()
    _ = await second?.next()
    #expect(readers.read.takeShares() == [.init(call: call, messages: 1, byteCount: 3)])
    // Who is gone holds nothing.
    (other, second) = (nil, nil)
    readers.remove(number)
    #expect(readers.read.takeShares() == [.init(call: call, messages: 1, byteCount: 3)])
    #expect(told.withLock { $0 } == 3)
  }

  /// Goal: of what one reader of an endpoint does not read no more than a window comes, and all of
  /// it once it reads.
  @Test(.timeLimit(.minutes(1))) func `who does not read holds the sender back`() async throws {
    let town = try await LoopbackTown()
    var asleep = await Story(town.bob)
    var (alice, bob) = (await Story(town.alice), await Story(town.bob))
    let call = try await town.alice.call("bob", options: CallOptions(source: Tone(), sink: Ear()))
    let incoming = try #require(await bob.incoming())
    try await town.bob.call(incoming.id).accept(CallOptions(source: Tone(), sink: Ear()))
    await alice.connected()
    // What is granted, and as much more as may wait.
    for number in 0..<32 as Range<UInt8> {
      if number == 12 {
        let first: UInt8? = await bob.first {
          if case .callProgress(_, .message(_, let bytes)) = $0, bytes[0] == 11 { 11 } else { nil }
        }
        #expect(first == 11)
      }
      try await call.send(Array(repeating: number, count: 10_000))
    }
    func numbers(_ story: Story) -> [UInt8] {
      story.events.compactMap {
        if case .callProgress(_, .message(_, let bytes)) = $0 { bytes.first } else { nil }
      }
    }
    for _ in 0..<2 { _ = await bob.statistics() }
    #expect(numbers(bob) == Array(0..<12))
    while numbers(asleep).count < 32 {
      let found: Bool? = await asleep.first {
        if case .callProgress(_, .message) = $0 { true } else { nil }
      }
      try #require(found == true)
      while numbers(bob).count < min(32, numbers(asleep).count) {
        let next: Bool? = await bob.first {
          if case .callProgress(_, .message) = $0 { true } else { nil }
        }
        try #require(next == true)
      }
    }
    #expect(numbers(asleep) == Array(0..<32) && numbers(bob) == Array(0..<32))
    await town.close()
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
