import Primitives
import SecureSession
import Storage
import Testing
import Wire

/// The lists of nodes that a client has seen, as a file beside its identity.
struct NodesFileTests {
  private let scratch = Scratch()

  private var file: NodesFile { NodesFile(besideIdentity: scratch.file("identity")) }

  private static func list(_ seed: UInt64, serial: UInt64) throws -> NodeList {
    var random = RandomSource(seed: seed)
    let key = RootKey(random: &random)
    let node = NodeList.Node(
      id: key.id, weight: 1, addresses: [SocketAddress(v4: 192, 0, 2, 1, port: 7400)])
    return try NodeList.sign(
      NodeList.Content(root: key.id, serial: serial, notBefore: 1, notAfter: 2, nodes: [node]),
      with: key)
  }

  @Test func `of each root the newest list stays`() throws {
    #expect(try file.read().isEmpty)
    let (one, other) = (try Self.list(1, serial: 7), try Self.list(2, serial: 3))
    #expect(try file.keep(one) && file.keep(other))
    #expect(try !file.keep(try Self.list(1, serial: 6)), "an older one")
    #expect(try !file.keep(one), "the same")
    #expect(try Set(file.read()) == [one, other])
    let newer = try Self.list(1, serial: 8)
    #expect(try file.keep(newer))
    #expect(try Set(file.read()) == [newer, other])
    #expect(scratch.mode(file.path) == 0o600)
  }

  @Test func `more roots than anybody has are not kept, those seen last are`() throws {
    for seed in 1...UInt64(NodesFile.limit) + 2 { try file.keep(try Self.list(seed, serial: 1)) }
    let lists = try file.read()
    #expect(lists.count == NodesFile.limit)
    #expect(lists.last == (try Self.list(UInt64(NodesFile.limit) + 2, serial: 1)))
  }

  @Test func `a damaged file is left as it is`() throws {
    try file.keep(try Self.list(1, serial: 7))
    var bytes = scratch.read("identity.nodes")
    bytes[30] ^= 1
    scratch.write("identity.nodes", bytes)
    #expect(throws: StorageError.self) { try file.read() }
    #expect(throws: StorageError.self) { try file.keep(try Self.list(1, serial: 8)) }
    #expect(scratch.read("identity.nodes") == bytes)
    for count in 0..<bytes.count {
      let cut = Array(bytes.prefix(count))
      #expect(throws: StorageError.self) { try file.parse(cut) }
    }
  }
}
