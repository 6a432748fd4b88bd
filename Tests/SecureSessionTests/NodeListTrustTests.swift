import Primitives
import SecureSession
import Testing
import Wire

/// Which lists of nodes a client believes, and which node it tries first
/// (docs/protocol/cluster.md §7).
struct NodeListTrustTests {
  private static func root(_ seed: UInt64 = 1) -> RootKey {
    var random = RandomSource(seed: seed)
    return RootKey(random: &random)
  }

  private static func nodes(_ weights: [Int]) -> [NodeList.Node] {
    weights.enumerated().map { index, weight in
      NodeList.Node(
        id: PeerID(word0: UInt64(index) + 1, word1: 5, word2: 6, word3: 7), weight: weight,
        addresses: [SocketAddress(v4: 192, 0, 2, UInt8(index + 1), port: 7400)])
    }
  }

  private static func list(
    _ weights: [Int] = [1, 1, 1], by key: borrowing RootKey, as root: PeerID? = nil,
    serial: UInt64 = 7
  ) throws(WireError) -> NodeList {
    try NodeList.sign(
      NodeList.Content(
        root: root ?? key.id, serial: serial, notBefore: testDay, notAfter: testDay + 86_400,
        nodes: nodes(weights)), with: key)
  }

  private static func fault(
    _ list: NodeList, _ root: PeerID, after serial: UInt64 = 0, at seconds: UInt64 = testDay
  ) -> NodeListFault? {
    do throws(NodeListFault) {
      try list.verify(root: root, after: serial, unixSeconds: seconds)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a list is believed of its root alone, and unchanged`() throws {
    let key = Self.root()
    let stranger = Self.root(2)
    let list = try Self.list(by: key)
    expect(Self.fault(list, key.id) == nil)
    expect(Self.fault(list, stranger.id) == .wrongRoot)
    // A stranger writes the root's ID into a list of its own.
    let forged = try Self.list(by: stranger, as: key.id)
    expect(Self.fault(forged, key.id) == .wrongSignature)
    for index in list.bytes.indices {
      var bytes = list.bytes
      bytes[index] ^= 1
      guard let changed = try? NodeList(parsing: bytes) else { continue }
      expect(Self.fault(changed, key.id) != nil, "byte \(index)")
    }
  }

  @Test func `a list holds from its beginning to its end, and clocks may differ by 10 minutes`()
    throws
  {
    let key = Self.root()
    let list = try Self.list(by: key)
    expect(Self.fault(list, key.id, at: testDay - 600) == nil)
    expect(Self.fault(list, key.id, at: testDay - 601) == .notYetValid)
    expect(Self.fault(list, key.id, at: testDay + 87_000) == nil)
    expect(Self.fault(list, key.id, at: testDay + 87_001) == .expired)
    expect(Self.fault(list, key.id, at: 0) == .notYetValid)
    expect(Self.fault(list, key.id, at: .max) == .expired)
  }

  @Test func `a serial does not go back`() throws {
    let key = Self.root()
    let list = try Self.list(by: key, serial: 7)
    expect(Self.fault(list, key.id, after: 7) == nil)
    expect(Self.fault(list, key.id, after: 8) == .older)
  }

  @Test func `a root's key is read as it was written, and no other`() throws {
    let key = Self.root()
    let text = key.secretText()
    guard let read = RootKey(text) else {
      expect(false, "it is not read")
      return
    }
    expect(read.id == key.id)
    let other = Self.root(2).secretText()
    let mixed = String(text.prefix(40)) + String(other.dropFirst(40))
    for wrong in ["", "x" + text, String(text.dropLast()), mixed] {
      let isKey = RootKey(wrong) != nil
      expect(!isKey)
    }
  }

  @Test func `clients spread by weight, and one stays where it is`() throws {
    let key = Self.root()
    let list = try Self.list([1, 3, 0], by: key)
    var firsts: [PeerID: Int] = [:]
    for number in 0..<4000 {
      let client = PeerID(word0: UInt64(number), word1: 1, word2: 1, word3: 1)
      let order = list.order(for: client)
      expect(order == list.order(for: client) && Set(order) == Set(list.nodes))
      firsts[order[0].id, default: 0] += 1
      expect(order[2] == list.nodes[2], "a weight of 0 comes last")
    }
    let share = Double(firsts[list.nodes[1].id] ?? 0) / 4000
    expect(abs(share - 0.75) < 0.03, "\(share)")
  }

  @Test func `a node that comes takes no client from one of the others to another`() throws {
    let key = Self.root()
    let (former, grown) = (try Self.list([1, 1], by: key), try Self.list([1, 1, 1], by: key))
    for number in 0..<1000 {
      let client = PeerID(word0: UInt64(number), word1: 1, word2: 1, word3: 1)
      let (before, after) = (former.order(for: client)[0], grown.order(for: client)[0])
      expect(after == before || after == grown.nodes[2])
    }
  }
}
