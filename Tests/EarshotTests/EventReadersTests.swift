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
}
