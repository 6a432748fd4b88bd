import Foundation
import Primitives
import Storage
import Testing
import Wire

@testable import Earshot

/// What a service has given for a name outlives the program: `ServiceKeeper`.
@Suite struct KeptReceiptTests {
  private func receipt(_ byte: UInt8) throws -> KeptReceipt {
    KeptReceipt(
      service: .zero, name: try #require(PeerName("bob")),
      receipt: try #require(OpaqueReceipt(Array(repeating: byte, count: 27))))
  }

  @Test func `the last receipt is there again, and a damaged file costs a warning`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "identity").path
    for byte in [1, 2] as [UInt8] {
      let known = KnownIdentities(besideIdentity: path)
      known.keep(try receipt(byte))
      known.close()
    }
    let last = try receipt(2)
    let known = KnownIdentities(besideIdentity: path)
    #expect(known.receipt(for: last.name, at: .zero) == last.receipt.bytes && known.fault == nil)
    let other = try #require(PeerName("eve"))
    #expect(known.receipt(for: other, at: .zero).isEmpty)
    known.close()
    let file = URL(filePath: path + ".receipts")
    var bytes = try Data(contentsOf: file)
    bytes[60] ^= 1
    try bytes.write(to: file)
    let after = KnownIdentities(besideIdentity: path)
    #expect(after.receipt(for: last.name, at: .zero).isEmpty && after.fault?.code == .corrupt)
    after.keep(last)
    after.close()
    let again = KnownIdentities(besideIdentity: path)
    #expect(again.receipt(for: last.name, at: .zero) == last.receipt.bytes && again.fault == nil)
    again.close()
  }

  @Test func `without an identity file a receipt is kept in memory alone`() throws {
    let known = KnownIdentities(besideIdentity: nil)
    let last = try receipt(1)
    known.keep(last)
    #expect(known.receipt(for: last.name, at: .zero) == last.receipt.bytes)
    known.close()
  }
}
