package import Peer
package import Primitives
import Rendezvous
package import SecureSession
package import Wire

/// Nodes on one Redis, a root that signs the list of them, and people who pin the root.
package final class SimulatedService {
  package let world: CallWorld
  package let root: RootKey
  private let cluster: SimulatedCluster
  private var peerCount = 0

  /// - Parameters:
  ///   - serial: Of the list that all nodes have.
  ///   - pace: How many handshakes each node answers in a second; `nil` = as many as usual.
  package init(seed: UInt64, nodeCount: Int = 3, serial: UInt64 = 7, pace: UInt64? = nil) {
    var random = RandomSource(seed: seed)
    root = RootKey(random: &random)
    world = CallWorld(seed: seed, keepsText: true) { SimulatedCluster.share($0) }
    world.mediaInterval = .milliseconds(20)
    cluster = SimulatedCluster(world, nodeCount: nodeCount)
    if let pace {
      for node in cluster.nodes { node.rendezvous.limits.keyAgreementsPerSecond = pace }
    }
    if let list = list(serial: serial) { give(list) }
    world.run(.seconds(2))
  }

  package var nodeCount: Int { cluster.nodes.count }

  package func id(of node: Int) -> PeerID { cluster.nodes[node].rendezvous.id }

  package func address(of node: Int) -> SocketAddress { cluster.nodes[node].rendezvous.address }

  /// A list of some of the nodes, signed now.
  ///
  /// - Parameter stranger: The seed of the key that signs it instead of the root's.
  package func list(
    serial: UInt64, of nodes: Range<Int>? = nil, for life: UInt64 = 90 * 86_400,
    signedBy stranger: UInt64? = nil
  ) -> NodeList? {
    let seconds = UInt64(world.wallClock / 1_000)
    let content = NodeList.Content(
      root: root.id, serial: serial, notBefore: seconds, notAfter: seconds + life,
      nodes: (nodes ?? 0..<nodeCount).map {
        NodeList.Node(id: id(of: $0), weight: 1, addresses: [address(of: $0)])
      })
    do throws(WireError) {
      guard let stranger else { return try NodeList.sign(content, with: root) }
      var random = RandomSource(seed: stranger)
      return try NodeList.sign(content, with: RootKey(random: &random))
    } catch {
      return nil
    }
  }

  /// All nodes start anew, with that list.
  package func give(_ list: NodeList) {
    for node in cluster.nodes {
      node.rendezvous.nodes = list
      node.crash()
      node.start()
    }
  }

  /// The nodes that run have another list from now on.
  package func replace(_ list: NodeList) {
    for node in cluster.nodes {
      node.rendezvous.nodes = list
      node.rendezvous.host.command(now: world.now) { machine, now in
        machine.admit(.everyone, tokenKey: nil, relays: [], nodes: list, now: now)
      }
    }
  }

  /// - Parameter dialled: The node whose address the program is given.
  package func addPeer(
    _ access: AccessConditions = .lan, dialling dialled: Int = 0, nodes: NodeList? = nil,
    configure: ((inout PeerConfiguration) -> Void)? = nil
  ) -> SimulatedPeer? {
    peerCount += 1
    guard let name = PeerName("person-\(peerCount)-of-the-canaries") else { return nil }
    let (address, pin) = (address(of: dialled), root.id)
    return world.addPeer(name, access) {
      $0.rendezvous = address
      $0.rendezvousID = pin
      $0.rendezvousNodes = nodes?.bytes ?? []
      configure?(&$0)
    }
  }

  // MARK: - Faults

  /// INITs and CARD_REQUESTs that the nodes which run have had.
  package var initiations: UInt64 {
    cluster.nodes.reduce(0) { $0 + ($1.counters?.initiations ?? 0) }
  }

  package var cardsSent: UInt64 {
    cluster.nodes.reduce(0) { $0 + ($1.counters?.cardsSent ?? 0) }
  }

  package func kill(_ node: Int) { cluster.nodes[node].crash() }

  package func start(_ node: Int) { cluster.nodes[node].start() }

  /// It tells its clients, and ends 200 ms later.
  package func drain(_ node: Int) {
    cluster.nodes[node].rendezvous.host.command(now: world.now) { machine, now in
      machine.goAway(now: now)
    }
    world.simulator.plan(after: .milliseconds(200)) { [self] in kill(node) }
  }

  /// The nodes that have a session of that identity.
  package func homes(of peer: SimulatedPeer) -> [Int] {
    cluster.nodes.indices.filter { cluster.nodes[$0].hasSession(of: peer.id) }
  }
}
