package import Primitives
package import Relay
import Wire

/// A TURN server of a world (RFC 8656): as much of one as calls need, over UDP. It believes whoever
/// repeats its nonce, lets in only the hosts that its client has named, and forgets what is not
/// renewed. What a server checks of a client is tested with `TestServer` and with coturn.
package struct RelayServerMachine: ~Copyable, DatagramMachine {
  package enum Event: Sendable {}

  private struct Allocation {
    var client: SocketAddress
    /// Of the relayed addresses.
    var place: Int
    var expires: Instant
    var permissions: [(host: SocketAddress, until: Instant)] = []
    var channels: [(number: UInt16, peer: SocketAddress, until: Instant)] = []

    func lets(in source: SocketAddress, now: Instant) -> Bool {
      permissions.contains { $0.host.isSameHost(as: source) && now < $0.until }
    }
  }

  package static var roomByteCount: Int {
    Datagram.maximumByteCount + Datagram.maximumRelayHeaderByteCount
  }

  /// Bytes that it passed on, without its own headers.
  package private(set) var relayedByteCount = 0
  private let credentials: RelayCredentials
  private let relayed: [(address: SocketAddress, local: LocalAddressID)]
  private var allocations: [Allocation] = []
  private var nextPlace = 0
  private var outbox: [(bytes: [UInt8], path: DatagramPath)] = []
  private var nextIndication: UInt64 = 0

  /// - Parameter relayed: Its further addresses: each client has one.
  package init(
    _ credentials: RelayCredentials, relayed: [(address: SocketAddress, local: LocalAddressID)]
  ) {
    self.credentials = credentials
    self.relayed = relayed
  }

  package var nextDeadline: Instant? { nil }
  package mutating func handleTimeout(now: Instant) {}
  package mutating func pollEvent() -> Event? { nil }

  @_lifetime(packet: copy packet)
  package mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    guard !outbox.isEmpty else { return nil }
    let (bytes, path) = outbox.removeFirst()
    packet.append(span: bytes.span)
    return path
  }

  @_lifetime(bytes: copy bytes)
  package mutating func handle(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant
  ) {
    allocations.removeAll { $0.expires <= now }
    var packet: [UInt8] = []
    packet.append(addingCapacity: bytes.count) { $0.append(span: bytes.span) }
    if let place = relayed.firstIndex(where: { $0.local == marks.local }) {
      return pass(packet, from: source, to: place, now: now)
    }
    guard let index = allocations.firstIndex(where: { $0.client == source }) else {
      return answer(packet, from: source, nil, now: now)
    }
    if let (number, place) = RelayFraming.channelData(in: packet.span) {
      let channel = allocations[index].channels.first { $0.number == number && now < $0.until }
      if let peer = channel?.peer { forward(Array(packet[place]), index, to: peer, now: now) }
      return
    }
    answer(packet, from: source, index, now: now)
  }

  // MARK: - What is passed on

  private mutating func forward(_ data: [UInt8], _ index: Int, to peer: SocketAddress, now: Instant)
  {
    guard allocations[index].lets(in: peer, now: now) else { return }
    relayedByteCount += data.count
    let local = relayed[allocations[index].place].local
    outbox.append((data, DatagramPath(peer, local: local)))
  }

  private mutating func pass(_ data: [UInt8], from peer: SocketAddress, to place: Int, now: Instant)
  {
    guard let allocation = allocations.first(where: { $0.place == place }),
      allocation.lets(in: peer, now: now)
    else { return }
    relayedByteCount += data.count
    let channel = allocation.channels.first { $0.peer == peer && now < $0.until }
    outbox.append((framed(data, of: peer, channel?.number), DatagramPath(allocation.client)))
  }

  private mutating func framed(
    _ data: [UInt8], of peer: SocketAddress, _ channel: UInt16?
  ) -> [UInt8] {
    if let channel {
      return [
        UInt8(channel >> 8), UInt8(truncatingIfNeeded: channel), UInt8(data.count >> 8),
        UInt8(truncatingIfNeeded: data.count),
      ] + data
    }
    nextIndication += 1
    var writer = STUNWriter(.indication, .data, STUNTransactionID(high: 0, low: nextIndication))
    writer.append(.xorPeerAddress, peer)
    writer.append(.data, data)
    return writer.bytes
  }

  // MARK: - Requests

  private mutating func answer(
    _ bytes: [UInt8], from client: SocketAddress, _ index: Int?, now: Instant
  ) {
    guard let message = try? STUNMessage(parsing: bytes.span) else { return }
    if message.messageClass == .indication {
      if let index, let peer = message.peerAddress, let data = message.data {
        forward(Array(bytes[data]), index, to: peer, now: now)
      }
      return
    }
    guard message.messageClass == .request else { return }
    let answer: [UInt8]
    if message.nonce == nil {
      answer = refusal(of: message, 401)
    } else if let index {
      answer = renew(message, index, now: now)
    } else if message.method == .allocate {
      answer = allocate(message, client, now: now)
    } else {
      answer = refusal(of: message, 437)
    }
    outbox.append((answer, DatagramPath(client)))
  }

  private mutating func allocate(
    _ message: STUNMessage, _ client: SocketAddress, now: Instant
  ) -> [UInt8] {
    guard allocations.count < relayed.count else { return refusal(of: message, 486) }
    while allocations.contains(where: { $0.place == nextPlace % relayed.count }) { nextPlace += 1 }
    let place = nextPlace % relayed.count
    nextPlace += 1
    allocations.append(Allocation(client: client, place: place, expires: now + Self.lifetime))
    return success(of: message) { writer in
      writer.append(.xorRelayedAddress, relayed[place].address)
      writer.append(.lifetime, 600)
    }
  }

  private mutating func renew(_ message: STUNMessage, _ index: Int, now: Instant) -> [UInt8] {
    switch message.method {
    case .allocate: return refusal(of: message, 437)
    case .refresh:
      let isEnd = message.lifetime == 0
      // What is given back is kept for a second all the same, as coturn does.
      allocations[index].expires = now + (isEnd ? .seconds(1) : Self.lifetime)
      return success(of: message) { $0.append(.lifetime, isEnd ? 0 : 600) }
    case .createPermission:
      if let peer = message.peerAddress { permit(peer, index, now: now) }
    case .channelBind:
      guard let peer = message.peerAddress, let number = message.channelNumber else {
        return refusal(of: message, 400)
      }
      permit(peer, index, now: now)
      allocations[index].channels.removeAll { $0.number == number || $0.peer == peer }
      allocations[index].channels.append((number, peer, now + .seconds(600)))
    case .binding, .send, .data: return refusal(of: message, 400)
    }
    return success(of: message) { _ in }
  }

  private mutating func permit(_ peer: SocketAddress, _ index: Int, now: Instant) {
    allocations[index].permissions.removeAll { $0.host.isSameHost(as: peer) }
    allocations[index].permissions.append((peer, now + .seconds(300)))
  }

  private func refusal(of message: STUNMessage, _ code: UInt32) -> [UInt8] {
    var writer = STUNWriter(.failure, message.method, message.transactionID)
    writer.append(.errorCode, (code / 100) << 8 | code % 100)
    if code == 401 {
      writer.append(.realm, Self.realm)
      writer.append(.nonce, Self.nonce)
    } else if let authentication {
      writer.append(.messageIntegrity, byteCount: 20, authenticate: authentication.code)
    }
    return writer.bytes
  }

  private func success(
    of message: STUNMessage, _ fill: (inout STUNWriter) -> Void
  ) -> [UInt8] {
    var writer = STUNWriter(.success, message.method, message.transactionID)
    fill(&writer)
    if let authentication {
      writer.append(.messageIntegrity, byteCount: 20, authenticate: authentication.code)
    }
    return writer.bytes
  }

  private var authentication: RelayAuthentication? {
    RelayAuthentication(credentials, realm: Self.realm, nonce: Self.nonce, offered: nil)
  }

  private static let realm = Array("a world".utf8)
  private static let nonce = Array("nonce".utf8)
  private static let lifetime = Duration.seconds(600)
}

/// The TURN server of a world: its addresses stay, its process comes and goes.
package final class SimulatedRelay {
  package let host: SimulatedHost<RelayServerMachine>
  package let server: RelayServer
  private let simulator: Simulator
  private let relayed: [(address: SocketAddress, local: LocalAddressID)]

  /// - Parameter clients: How many may have a relay at once.
  package init(on host: SimulatedNetwork.HostID, simulator: Simulator, clients: Int = 8) {
    self.simulator = simulator
    let network = simulator.network
    relayed = (1...clients).map { number in
      (network.addAddress(to: host), LocalAddressID(rawValue: UInt16(number)))
    }
    server = RelayServer(
      server: network.address(of: host),
      credentials: RelayCredentials(user: "world", password: "of its own"))
    self.host = SimulatedHost(
      host, on: network, clock: SimulatedClock(origin: .zero, partsPerMillion: 0))
  }

  package func start() {
    host.start(RelayServerMachine(server.credentials, relayed: relayed), now: simulator.now)
  }

  /// With all that it had given.
  package func crash() { host.crash(now: simulator.now) }
}

extension CallWorld {
  /// A TURN server at a place of its own; peers know of it by what `configure` of theirs says.
  package func addRelay(_ access: AccessConditions = .lan) -> SimulatedRelay {
    let host = network.addHost(at: network.addSite(access), port: 3478)
    let relay = SimulatedRelay(on: host, simulator: simulator)
    simulator.add(relay.host)
    relay.start()
    self.relay = relay
    return relay
  }

  /// What peers had of it as addresses is gone with it.
  package func crash(_ relay: SimulatedRelay) {
    relay.crash()
    for peer in peers { network.addressChanges[peer.hostID.index] = now }
  }
}
