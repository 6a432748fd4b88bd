import Primitives
import Storage
import Testing
import Wire

/// Receipts of names, as a file beside the identity.
struct ReceiptsFileTests {
  private let scratch = Scratch()

  private var file: ReceiptsFile { ReceiptsFile(besideIdentity: scratch.file("identity")) }

  private static func receipt(
    _ name: String, at service: UInt64 = 1, _ byte: UInt8 = 7
  ) throws -> KeptReceipt {
    KeptReceipt(
      service: PeerID(word0: service, word1: 0, word2: 0, word3: 0),
      name: try #require(PeerName(name)),
      receipt: try #require(OpaqueReceipt(Array(repeating: byte, count: 27))))
  }

  @Test func `of each service and name the last receipt stays`() throws {
    #expect(try file.read().isEmpty)
    let all = [try Self.receipt("bob"), try Self.receipt("bob", at: 2), try Self.receipt("eve")]
    for receipt in all { try file.keep(receipt) }
    #expect(try file.read() == all)
    let newer = try Self.receipt("bob", 8)
    try file.keep(newer)
    #expect(try file.read() == [all[1], all[2], newer])
    #expect(scratch.mode(file.path) == 0o600)
  }

  @Test func `more than anybody has are not kept, those seen last are`() throws {
    for number in 0..<ReceiptsFile.limit + 2 { try file.keep(try Self.receipt("name-\(number)")) }
    let all = try file.read()
    #expect(all.count == ReceiptsFile.limit)
    #expect(all.last == (try Self.receipt("name-\(ReceiptsFile.limit + 1)")))
  }

  @Test func `a damaged file is said to be, and gives way to the next receipt`() throws {
    try file.keep(try Self.receipt("bob"))
    let whole = scratch.read("identity.receipts")
    for count in 0..<whole.count {
      let cut = Array(whole.prefix(count))
      #expect(throws: StorageError.self) { try file.parse(cut) }
    }
    var bytes = whole
    bytes[60] ^= 1
    scratch.write("identity.receipts", bytes)
    #expect(throws: StorageError.self) { try file.read() }
    try file.keep(try Self.receipt("eve"))
    #expect(try file.read() == [try Self.receipt("eve")])
  }

  @Test func `another program's file is left as it is`() throws {
    let bytes = Array("somebody else's\n".utf8)
    scratch.write("identity.receipts", bytes)
    #expect(throws: StorageError.self) { try file.keep(try Self.receipt("bob")) }
    #expect(scratch.read("identity.receipts") == bytes)
  }
}
