import Primitives
import Testing
import Wire

struct TransferMessageTests {
  private static let offer = TransferOffer(
    .file, byteCount: 77, hash: [UInt8](repeating: 3, count: 32), name: "Zoë")

  @Test(
    arguments: [
      .offer(offer), .go(offset: 5), .data([1, 2]), .result(.damaged),
    ] as [TransferMessage])
  func `a message is read as it was written`(message: TransferMessage) throws {
    #expect(try TransferMessage(parsing: message.bytes.span) == message)
    guard message != .data([1, 2]) else { return }
    for count in 0..<message.bytes.count {
      #expect(throws: WireError.self) {
        _ = try TransferMessage(parsing: Array(message.bytes.prefix(count)).span)
      }
    }
    #expect(throws: WireError.self) {
      _ = try TransferMessage(parsing: (message.bytes + [0]).span)
    }
  }

  @Test func `an offer is these bytes`() {
    let bytes = TransferMessage.offer(Self.offer).bytes
    #expect(bytes[..<3] == [1, 1, 0] && bytes[3..<11] == [77, 0, 0, 0, 0, 0, 0, 0])
    #expect(bytes[43..<45] == [4, 0] && Array(bytes[45...]) == Array("Zoë".utf8))
  }

  @Test func `what the protocol does not have is refused`() {
    for bytes: [UInt8] in [[], [0], [5], [3], [4, 8], [1, 2, 0], [1, 1, 2]] {
      #expect(throws: WireError.self) { _ = try TransferMessage(parsing: bytes.span) }
    }
    let long = TransferOffer(
      .file, byteCount: 1, hash: [UInt8](repeating: 0, count: 32),
      name: String(repeating: "é", count: 600))
    #expect(long.name.utf8.count == 1024)
    var bytes = TransferMessage.offer(long).bytes
    (bytes[43], bytes[44]) = (1, 4)
    bytes.append(65)
    #expect(throws: WireError.self) { _ = try TransferMessage(parsing: bytes.span) }
  }
}
