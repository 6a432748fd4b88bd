import Primitives
import Testing
import Wire

@Suite struct RelayStreamReaderTests {
  private static let peer = SocketAddress(v4: 198, 51, 100, 4, port: 4000)

  /// Messages of each kind and length, as they stand in a stream.
  private static func messages(_ random: inout RandomSource) -> [[UInt8]] {
    (0..<40).map { _ in
      let payload = random.bytes(Int(random.next() % 1300))
      if random.next() % 3 == 0 {
        var writer = STUNWriter(
          .indication, .data, STUNTransactionID(high: 1, low: random.next()))
        writer.append(.xorPeerAddress, peer)
        writer.append(.data, payload)
        return writer.bytes
      }
      var bytes: [UInt8] = []
      bytes.append(addingCapacity: payload.count + 8) { output in
        output.append(bytes: payload)
        let isWritten = RelayFraming.wrap(&output, channel: 0x4001, isPadded: true)
        #expect(isWritten)
      }
      #expect(bytes.count & 3 == 0 && bytes.count - payload.count <= 7)
      return bytes
    }
  }

  /// Goal: what was written message by message is read message by message, however the stream cuts
  /// it. Method: 50 seeds of 40 messages in pieces of 1 to 3000 bytes.
  @Test func `finds messages in pieces of any length`() throws {
    for seed in UInt64(1)...50 {
      var random = RandomSource(seed: seed)
      let messages = Self.messages(&random)
      var stream = messages.flatMap { $0 }[...]
      var reader = RelayStreamReader()
      var found: [[UInt8]] = []
      while !stream.isEmpty {
        let piece = Array(stream.prefix(1 + Int(random.next() % 3000)))
        stream = stream.dropFirst(piece.count)
        reader.append(piece.span)
        while let message = try reader.next() { found.append(message) }
        #expect(reader.byteCount <= 1400)
      }
      #expect(found == messages && reader.byteCount == 0)
    }
  }

  @Test func `takes the longest channel data and no more than waits`() throws {
    var reader = RelayStreamReader()
    var bytes: [UInt8] = [0x40, 0, 0xFF, 0xFF]
    bytes += Array(repeating: 7, count: 65_535)
    reader.append(bytes.span)
    let early = try reader.next()
    #expect(early == nil, "the padding is missing")
    reader.append([0].span)
    let whole = try reader.next()
    #expect(whole?.count == RelayStreamReader.messageByteLimit)
  }

  @Test(arguments: [
    [0x80, 0, 0, 0], [0x50, 0, 0, 4], [0xFF, 1, 2, 3], Array("SSH-2.0-OpenSSH".utf8),
    [0x01, 0x01, 0, 3], [0, 1, 0, 8, 0x21, 0x12, 0xA4, 0x42],
    [0x01, 0x03, 0, 0, 1, 2, 3, 4],
  ])
  func `gives up where no server would begin`(bytes: [UInt8]) throws {
    var reader = RelayStreamReader()
    reader.append(bytes.span)
    let isCookieRight = bytes.starts(with: [0, 1, 0, 8])
    if isCookieRight {
      let none = try reader.next()
      #expect(none == nil)
    } else {
      #expect(throws: WireError.self) { try reader.next() }
    }
  }

  @Test(arguments: [
    ([0x40, 0, 0, 1], true), ([0x4F, 0xFF, 0, 1], true), ([0x00, 0x16, 0, 1], true),
    ([0x00, 0x03, 0, 1], false), ([0x00, 0x17, 0, 1], false), ([0x40], false), ([], false),
  ])
  func `tells packets of calls from requests`(bytes: [UInt8], isMedia: Bool) {
    let found = RelayFraming.isMedia(bytes.span)
    #expect(found == isMedia)
  }
}
