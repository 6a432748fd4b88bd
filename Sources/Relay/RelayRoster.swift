package import Primitives
internal import Wire

/// A TURN server, and how it knows us.
package struct RelayServer: Hashable, Sendable {
  package var server: SocketAddress
  package var transport: RelayURI.Transport
  /// Whom its certificate must name, for TLS.
  package var host: String
  package var credentials: RelayCredentials

  package init(
    server: SocketAddress, transport: RelayURI.Transport = .udp, host: String = "",
    credentials: RelayCredentials
  ) {
    self.server = server
    self.transport = transport
    self.host = host
    self.credentials = credentials
  }

  func isSamePlace(as other: RelayServer) -> Bool {
    server == other.server && transport == other.transport && host == other.host
  }
}

/// What is to be done with streams to TURN servers, by whoever has the sockets.
package enum RelayStreamAction: Hashable, Sendable {
  /// Connect; say `streamOpened` or `streamEnded`. What leaves by the stream goes to it whole, and
  /// what comes from it is handed in message by message (`RelayStreamReader`).
  case open(LocalAddressID, RelayServer)
  case close(LocalAddressID)
}

/// The TURN servers of a program. The first that gives a relay is used; when it fails, the next.
///
/// Servers are asked in their order, each a head start after the one before or as soon as that one
/// fails. Once there is a relay the others are let go.
package struct RelayRoster: Sendable {
  private struct Entry: Sendable {
    let server: RelayServer
    var client: RelayClient
    /// Why it gave no relay the last time; `nil` = it has not said.
    var failure: RelayError?
  }

  /// More servers than this are not asked.
  package static let serverLimit = 4
  /// Three sendings of a request at 0, 250 and 750 ms (`RelayLimits`).
  static let headStart = Duration.seconds(1)

  private var entries: [Entry] = []
  /// Whose relay is in use.
  private var chosen: Int?
  private var isOpen = false
  /// When the next server is asked although the one before has not failed.
  private var nextStart: Instant?
  private var peers: [SocketAddress] = []
  private var events: [RelayEvent] = []
  private var streamActions: [RelayStreamAction] = []
  /// Of the last stream that was asked for.
  private var streamNumber: UInt8 = 0
  private var random: RandomSource

  package init(_ servers: [RelayServer], random: RandomSource) {
    self.random = random
    for server in servers.prefix(Self.serverLimit) { append(server) }
  }

  // MARK: - Commands

  /// Asks for a relay, unless there is one or one was asked for.
  package mutating func start(now: Instant) {
    guard !isOpen else { return }
    isOpen = true
    startNext(now: now)
    settle(now: now)
  }

  /// Other servers from now on, or other credentials of the same. A relay in use stays.
  package mutating func setServers(_ servers: [RelayServer], now: Instant) {
    let wanted = servers.prefix(Self.serverLimit)
    for index in entries.indices.reversed() where index != chosen {
      if wanted.contains(where: { $0.isSamePlace(as: entries[index].server) }) { continue }
      entries[index].client.withdraw(now: now)
      takeStreamActions(index)
      entries.remove(at: index)
      if let place = chosen, index < place { chosen = place - 1 }
    }
    for server in wanted {
      if let index = entries.firstIndex(where: { $0.server.isSamePlace(as: server) }) {
        entries[index].client.renew(server.credentials)
        entries[index].failure = nil
      } else if entries.count <= Self.serverLimit {
        append(server)
      }
    }
    if isOpen, chosen == nil, !isAsking { startNext(now: now) }
    settle(now: now)
  }

  /// Says which hosts may send to us by the relay (`RelayClient.setPeers`).
  package mutating func setPeers(_ addresses: [SocketAddress], now: Instant) {
    peers = addresses
    if let chosen { entries[chosen].client.setPeers(addresses, now: now) }
  }

  /// A stream that `RelayStreamAction.open` named carries bytes.
  package mutating func streamOpened(_ stream: LocalAddressID, now: Instant) {
    guard let index = index(of: stream) else { return }
    entries[index].client.streamOpened(now: now)
  }

  /// It came to nothing, or has ended.
  package mutating func streamEnded(
    _ stream: LocalAddressID, _ error: RelayError, now: Instant
  ) {
    guard let index = index(of: stream) else { return }
    entries[index].client.streamEnded(error, now: now)
    settle(now: now)
  }

  /// Perhaps the relay is no more (`RelayClient.checkAllocation`).
  package mutating func checkAllocation(_ cause: RelayDoubt, now: Instant) {
    if let chosen { entries[chosen].client.checkAllocation(cause, now: now) }
  }

  /// The line carries again (`RelayClient.hurry`).
  package mutating func hurry(now: Instant) {
    for index in entries.indices { entries[index].client.hurry(now: now) }
    settle(now: now)
  }

  /// Gives the relay back, and asks for none.
  package mutating func close(now: Instant) {
    isOpen = false
    nextStart = nil
    chosen = nil
    for index in entries.indices {
      entries[index].client.close(now: now)
      takeStreamActions(index)
    }
  }

  /// Puts the header before a packet that goes to `peer` by the relay.
  ///
  /// - Returns: Where it goes; `nil` where there is no relay, or no room: the packet cannot go.
  @_lifetime(packet: copy packet)
  package mutating func wrap(
    _ packet: inout OutputSpan<UInt8>, to peer: SocketAddress, now: Instant
  ) -> DatagramPath? {
    guard let chosen, entries[chosen].client.wrap(&packet, to: peer, now: now) else { return nil }
    return entries[chosen].client.path
  }

  // MARK: - Inputs

  /// Whether datagrams of `source` that came to `local` are a server's.
  package func owns(
    _ source: SocketAddress, at local: LocalAddressID = .unspecified
  ) -> Bool {
    for entry in entries where entry.client.owns(source, local) { return true }
    return false
  }

  /// Takes a datagram of a server.
  package mutating func handle(
    _ bytes: Span<UInt8>, from source: SocketAddress, at local: LocalAddressID = .unspecified,
    now: Instant
  ) -> RelayClient.Input {
    guard let index = entries.firstIndex(where: { $0.client.owns(source, local) }) else {
      return .control
    }
    let input = entries[index].client.handle(bytes, now: now)
    if case .control = input { settle(now: now) }
    return input
  }

  package mutating func handleTimeout(now: Instant) {
    for index in entries.indices { entries[index].client.handleTimeout(now: now) }
    settle(now: now)
    guard let nextStart, nextStart <= now else { return }
    startNext(now: now)
    settle(now: now)
  }

  // MARK: - Outputs

  /// Writes the next request, and says to which server; `nil` when there is none.
  @_lifetime(packet: copy packet)
  package mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    for index in entries.indices
    where entries[index].client.pollTransmit(into: &packet, now: now) {
      return entries[index].client.path
    }
    return nil
  }

  package mutating func pollEvent() -> RelayEvent? {
    events.isEmpty ? nil : events.removeFirst()
  }

  package mutating func pollStreamAction() -> RelayStreamAction? {
    streamActions.isEmpty ? nil : streamActions.removeFirst()
  }

  package var nextDeadline: Instant? {
    var deadline = nextStart
    for entry in entries { deadline = earliest(deadline, entry.client.nextDeadline) }
    return deadline
  }

  /// Where peers reach us; `nil` while there is no relay.
  package var relayedAddress: SocketAddress? {
    chosen.flatMap { entries[$0].client.relayedAddress }
  }

  /// How many relays were given since the start.
  package private(set) var allocations = 0

  // MARK: - Parts

  private func index(of stream: LocalAddressID) -> Int? {
    entries.firstIndex { $0.client.stream.number == stream }
  }

  private var isAsking: Bool { entries.contains { $0.client.isAsking } }

  private mutating func append(_ server: RelayServer) {
    entries.append(
      Entry(
        server: server,
        client: RelayClient(
          server: server.server, transport: server.transport, credentials: server.credentials,
          random: random.split())))
  }

  /// Streams that the client has let go, or asks for.
  private mutating func takeStreamActions(_ index: Int) {
    if let stream = entries[index].client.stream.abandoned.take() {
      streamActions.append(.close(stream))
    }
    guard entries[index].client.stream.isWanted else { return }
    streamNumber &+= 1
    let stream = LocalAddressID.stream(streamNumber)
    entries[index].client.assign(stream)
    streamActions.append(.open(stream, entries[index].server))
  }

  /// Asks the next server that has not failed, and the one behind it a head start later.
  private mutating func startNext(now: Instant) {
    nextStart = nil
    guard isOpen, chosen == nil else { return }
    let idle = entries.indices.filter {
      entries[$0].client.isIdle && entries[$0].failure == nil
    }
    guard let first = idle.first else { return }
    entries[first].client.start(now: now)
    if idle.count > 1 { nextStart = now + Self.headStart }
  }

  private mutating func settle(now: Instant) {
    for index in entries.indices {
      while let event = entries[index].client.pollEvent() {
        switch event {
        case .allocated: choose(index, event, now: now)
        case .failed(let error): noteFailure(error, of: index, now: now)
        }
      }
    }
    for index in entries.indices { takeStreamActions(index) }
  }

  private mutating func choose(_ index: Int, _ event: RelayEvent, now: Instant) {
    guard isOpen, chosen == nil else { return entries[index].client.withdraw(now: now) }
    chosen = index
    allocations += 1
    nextStart = nil
    for other in entries.indices {
      entries[other].failure = nil
      if other != index { entries[other].client.withdraw(now: now) }
    }
    entries[index].client.setPeers(peers, now: now)
    publish(event)
  }

  private mutating func noteFailure(_ error: RelayError, of index: Int, now: Instant) {
    let wasChosen = chosen == index
    entries[index].failure = error
    if wasChosen { chosen = nil }
    // A server that has only forgotten us is asked again by its client, and has its head start.
    if wasChosen, error == .allocationLost || error == .connectionLost {
      nextStart = now + Self.headStart
    } else {
      startNext(now: now)
    }
    // While another server is asked, nobody needs to hear of this one.
    let others = entries.indices.contains { $0 != index && entries[$0].client.isAsking }
    if wasChosen || !others { publish(.failed(error)) }
  }

  private mutating func publish(_ event: RelayEvent) {
    if events.count < 8 { events.append(event) }
  }
}
