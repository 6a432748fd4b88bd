import Foundation
import Primitives
import SecureSession
import Testing
import Wire

@testable import Earshot

/// The list of a service's nodes outlives the program that learnt it.
@Suite struct KnownNodesTests {
  private static func list(serial: UInt64) throws -> NodeList {
    var random = RandomSource(seed: 3)
    let key = RootKey(random: &random)
    let node = NodeList.Node(
      id: key.id, weight: 1, addresses: [SocketAddress(v4: 192, 0, 2, 1, port: 7400)])
    return try NodeList.sign(
      NodeList.Content(root: key.id, serial: serial, notBefore: 1, notAfter: 2, nodes: [node]),
      with: key)
  }

  @Test func `the newest list of a root is there again`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "identity").path
    let list = try Self.list(serial: 7)
    for list in [list, try Self.list(serial: 8)] {
      let known = KnownIdentities(besideIdentity: path)
      known.keep(list)
      #expect(known.nodes(of: list.root) == list.bytes)
      known.close()
    }
    let known = KnownIdentities(besideIdentity: path)
    #expect(known.nodes(of: list.root) == (try Self.list(serial: 8)).bytes)
    #expect(known.nodes(of: .zero).isEmpty && known.fault == nil)
    known.close()
  }

  @Test func `without an identity file a list is kept in memory alone`() throws {
    let known = KnownIdentities(besideIdentity: nil)
    let list = try Self.list(serial: 7)
    known.keep(list)
    #expect(known.nodes(of: list.root) == list.bytes)
    known.close()
  }
}
