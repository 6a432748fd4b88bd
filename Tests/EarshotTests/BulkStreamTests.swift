import Earshot
import Testing

/// Bulk through the public interface.
struct BulkStreamTests {
  @Test(.timeLimit(.minutes(1)))
  func `bulk comes whole, through a window that the other side opened`() async throws {
    let town = try await LoopbackTown()
    var alice = await Story(town.alice)
    var bob = await Story(town.bob)
    let call = try await town.alice.call("bob", options: CallOptions())
    let incoming = try #require(await bob.incoming())
    let there = await town.bob.call(incoming.id)
    try await there.accept(CallOptions())
    await alice.connected()
    await bob.connected()
    try await there.setReceiveWindow(1 << 20)
    await #expect(throws: EarshotError.self) { try await there.setReceiveWindow(1000) }
    var options = DataStreamOptions()
    options.isBulk = true
    try await call.setDataStream(9, options)
    var content: [UInt8] = []
    for number in 0..<4 as Range<UInt8> {
      let message = [UInt8](repeating: number, count: 60_000)
      content += message
      try await call.send(message, stream: 9)
    }
    var received: [UInt8] = []
    while received.count < content.count {
      let next = await bob.first { event -> [UInt8]? in
        if case .callProgress(_, .message(9, let bytes)) = event { bytes } else { nil }
      }
      received += try #require(next)
    }
    #expect(received == content)
    await call.hangUp()
    await #expect(throws: EarshotError.self) { try await call.setReceiveWindow(1 << 20) }
    await town.close()
  }
}
