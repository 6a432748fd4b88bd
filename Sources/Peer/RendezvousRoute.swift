import Primitives

/// Between which addresses packets to the rendezvous go: the one that was dialled, and the routes'
/// choice of our own, until only others are answered (docs/protocol/rendezvous.md §2).
struct RendezvousRoute {
  private(set) var path: DatagramPath
  /// Of the rendezvous, the one that was dialled first.
  private var addresses: [SocketAddress]
  /// All that there are.
  private var paths: [DatagramPath]
  /// By which the next PINGs go.
  private var detours: [DatagramPath] = []
  /// Of this host, as far as they were told.
  private var own: (addresses: [SocketAddress], alternates: [AlternateSource]) = ([], [])

  init(_ configuration: PeerConfiguration) {
    addresses = [configuration.rendezvous] + configuration.otherRendezvousAddresses
    paths = addresses.map { DatagramPath($0) }
    path = DatagramPath(configuration.rendezvous)
  }

  /// Whether the rendezvous is to be found there.
  func reaches(_ address: SocketAddress) -> Bool { addresses.contains(address) }

  /// The own addresses or the routes may have changed: the routes' choice comes first again.
  mutating func reset(own: [SocketAddress], alternates: [AlternateSource]) {
    self.own = (own, alternates)
    let usable = addresses.filter { remote in
      own.isEmpty || own.contains { $0.family == remote.family }
    }
    paths = usable.map { DatagramPath($0) }
    for remote in usable {
      for source in alternates where source.family == remote.family {
        paths.append(DatagramPath(remote, local: source.local))
      }
    }
    detours = []
    path = DatagramPath(usable.contains(path.remote) ? path.remote : usable.first ?? path.remote)
  }

  /// Another rendezvous; whether it is one.
  mutating func dial(_ others: [SocketAddress]) -> Bool {
    guard others != addresses, let first = others.first else { return false }
    addresses = others
    path = DatagramPath(first)
    reset(own: own.addresses, alternates: own.alternates)
    return true
  }

  /// Nothing is answered: the next PINGs go by the other ways.
  mutating func beginDetours() { detours = paths.filter { $0 != path } }

  /// Where a PING is to be sent besides; says each once.
  mutating func nextDetour() -> DatagramPath? { detours.isEmpty ? nil : detours.removeFirst() }

  /// The rendezvous answers there.
  mutating func settle(_ answered: DatagramPath) {
    path = answered
    detours = []
  }

  /// How many packets of an attempt go one way, before the next one goes the next: one where the
  /// rendezvous has several addresses (RFC 8305 §5: 250 ms between two), two where only our own
  /// addresses differ, of which the routes' choice is usually right.
  var patience: Int { paths.contains { $0.remote != path.remote } ? 1 : 2 }

  /// What was sent by this way was not answered: the next goes by the next.
  mutating func turn() {
    guard !paths.isEmpty else { return }
    let index = paths.firstIndex(of: path) ?? paths.count - 1
    path = paths[(index + 1) % paths.count]
  }
}
