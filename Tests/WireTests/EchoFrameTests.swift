import Primitives
import Testing
import Wire

/// docs/protocol/frames.md §12.
@Suite struct EchoFrameTests {
  private func written(_ body: (inout OutputSpan<UInt8>) -> Void) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: Datagram.maximumByteCount, initializingWith: body)
    return bytes
  }

  private func read(_ bytes: [UInt8]) throws -> Frame? {
    var reader = FrameReader(bytes.span)
    return try reader.next()
  }

  @Test func `a request has the documented bytes`() throws {
    let request = EchoRequestFrame(
      token: 0x0807_0605_0403_0201, presence: PresenceID(rawValue: 9), source: .asker,
      payloadByteCount: 0x0123)
    let bytes = written { request.write(to: &$0) }
    #expect(bytes.count == EchoRequestFrame.byteCount)
    #expect(bytes[0..<10] == [0x14, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    #expect(bytes[17..<20] == [2, 0x23, 0x01])
    #expect(try read(bytes) == .echoRequest(request))
    #expect(try read(bytes)?.demand == FeedbackDemand.none)
  }

  @Test(arguments: EchoFrame.Status.allCases)
  func `an echo has the documented bytes`(status: EchoFrame.Status) throws {
    let echo = EchoFrame(token: 7, status: status)
    let bytes = written { echo.write(to: &$0) }
    #expect(bytes == [0x15, 7, 0, 0, 0, 0, 0, 0, 0, status.rawValue])
    #expect(try read(bytes) == .echo(echo))
  }

  @Test func `a request for what cannot be is refused`() {
    let good = written { EchoRequestFrame(token: 1).write(to: &$0) }
    for (index, value) in [(17, 3), (18, 63), (19, 5)] as [(Int, UInt8)] {
      var bytes = good
      bytes[index] = value
      #expect(throws: WireError.self, "byte \(index)") { try read(bytes) }
    }
    #expect(throws: WireError.self) { try read(Array(good.dropLast())) }
    #expect(throws: WireError.self) { try read([0x15, 7, 0, 0, 0, 0, 0, 0, 0, 6]) }
  }
}
