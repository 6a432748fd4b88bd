internal import Cryptography
package import Primitives
package import Wire

/// Why a well-formed list of nodes is not believed (docs/protocol/cluster.md §7).
package enum NodeListFault: Error, Equatable, Sendable {
  /// Another root's than the one that is pinned.
  case wrongRoot
  case wrongSignature
  /// "Not before" is more than 10 minutes ahead: one of the two clocks is wrong.
  case notYetValid
  case expired
  /// Its serial is lower than one that was believed.
  case older
}

extension NodeList {
  /// Checks everything that makes a list believable.
  ///
  /// - Parameters:
  ///   - root: The pinned one.
  ///   - serial: The highest that was believed.
  ///   - unixSeconds: Seconds since 1970 UTC.
  package func verify(
    root: PeerID, after serial: UInt64 = 0, unixSeconds: UInt64
  ) throws(NodeListFault) {
    guard root == self.root else { throw .wrongRoot }
    let message = Self.signedMessage(Array(bytes.prefix(signedByteCount)))
    let signature = Array(bytes.suffix(Self.signatureByteCount))
    guard Ed25519.isValid(signature.span, over: message.span, by: Bytes32(root)) else {
      throw .wrongSignature
    }
    guard self.serial >= serial else { throw .older }
    let notBefore = content.notBefore
    guard unixSeconds >= notBefore || notBefore - unixSeconds <= ContactCard.clockTolerance else {
      throw .notYetValid
    }
    guard !hasExpired(at: unixSeconds) else { throw .expired }
  }

  /// Whether its time is over by more than clocks may differ.
  package func hasExpired(at unixSeconds: UInt64) -> Bool {
    unixSeconds > content.notAfter && unixSeconds - content.notAfter > ContactCard.clockTolerance
  }

  /// Signs `content`, whose root must be the signer.
  package static func sign(
    _ content: Content, with key: borrowing RootKey
  ) throws(WireError) -> NodeList {
    let message = signedMessage(content.encoded)
    return try NodeList(content: content, signature: key.sign(message.span))
  }

  private static func signedMessage(_ content: [UInt8]) -> [UInt8] {
    Array("EST1 nodes".utf8) + [0] + content
  }
}

extension NodeList {
  /// The nodes in the order in which a client tries them: another one for each client, so that
  /// clients spread by weight, and the same each time (docs/protocol/cluster.md §7).
  ///
  /// A node that comes or goes moves none but its own clients: each node's place is decided by its
  /// own draws alone.
  package func order(for client: PeerID) -> [Node] {
    let ranked = nodes.map { node in (node: node, draw: Self.draw(of: node, client)) }
    let sorted = ranked.sorted { one, other in
      if (one.node.weight == 0) != (other.node.weight == 0) { return other.node.weight == 0 }
      return one.draw == other.draw
        ? one.node.id.bytes.lexicographicallyPrecedes(other.node.id.bytes) : one.draw > other.draw
    }
    return sorted.map(\.node)
  }

  /// The highest of as many draws as the node has weight.
  private static func draw(of node: Node, _ client: PeerID) -> UInt64 {
    var hash = BLAKE2b(byteCount: 16, key: Bytes32(client).span)
    hash.update(Array("EST1node".utf8).span)
    hash.update(Bytes32(node.id).span)
    let digest = hash.finalize16().bytes
    let seed = (0..<8).reduce(UInt64(0)) { $0 | UInt64(digest[$1]) << UInt64(8 * $1) }
    var random = RandomSource(seed: seed)
    return (0..<max(1, node.weight)).reduce(0) { highest, _ in max(highest, random.next()) }
  }
}
