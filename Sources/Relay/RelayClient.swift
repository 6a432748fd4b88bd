package import Primitives
internal import Wire

/// A TURN client (RFC 8656): one address at a server, by which peers reach us where they
/// cannot reach us directly.
///
/// A pure machine. The owner hands in what comes from the server, sends what `pollTransmit` writes
/// to the server, and lets `wrap` put a header before each packet that goes by the relay.
package struct RelayClient: Sendable {
  /// What a datagram of the server was.
  package enum Input: Equatable, Sendable {
    /// An answer, or nothing of ours.
    case control
    /// A packet of `peer`, at this place in the datagram.
    case packet(peer: SocketAddress, Range<Int>)
  }

  enum State: Sendable {
    case idle
    /// Waits for the stream to the server.
    case connecting
    case allocating
    case allocated(SocketAddress)
    case closing
  }

  /// Where the server listens.
  package let server: SocketAddress
  /// How it is spoken to.
  package let transport: RelayURI.Transport
  /// Where that is not UDP.
  var stream = RelayStream()
  /// Those of the allocation that stands or is asked for.
  var credentials: RelayCredentials
  /// Those of the next one.
  private(set) var nextCredentials: RelayCredentials
  let limits: RelayLimits
  var random: RandomSource
  var state = State.idle
  var authentication: RelayAuthentication?
  var transactions: [RelayTransaction] = []
  var permissions = RelayPermissions()
  var channels: RelayChannels
  var losses = RelayLosses()
  var refreshAt: Instant?
  /// When a relay is asked for again, after a failure.
  var retryAt: Instant?
  private var events: [RelayEvent] = []
  package internal(set) var counters = RelayCounters()

  package init(
    server: SocketAddress, transport: RelayURI.Transport = .udp, credentials: RelayCredentials,
    limits: RelayLimits = RelayLimits(), random: RandomSource
  ) {
    self.server = server
    self.transport = transport
    self.credentials = credentials
    nextCredentials = credentials
    self.limits = transport == .udp ? limits : limits.reliable
    channels = RelayChannels(self.limits)
    self.random = random
  }

  // MARK: - Inputs

  /// Takes a datagram of the server.
  package mutating func handle(_ bytes: Span<UInt8>, now: Instant) -> Input {
    stream.lastHeard = now
    if let (channel, payload) = RelayFraming.channelData(in: bytes) {
      guard let peer = channels.peer(of: channel) else { return ignored() }
      counters.packetsReceived &+= 1
      return .packet(peer: peer, payload)
    }
    do throws(WireError) {
      let message = try STUNMessage(parsing: bytes)
      switch message.messageClass {
      case .indication:
        guard message.method == .data, relayedAddress != nil, let peer = message.peerAddress,
          let data = message.data, !peer.isUnsendable
        else { return ignored() }
        counters.packetsReceived &+= 1
        return .packet(peer: peer, data)
      case .success, .failure: handleAnswer(message, bytes, now: now)
      case .request: return ignored()
      }
    } catch {
      return ignored()
    }
    return .control
  }

  private mutating func ignored() -> Input {
    counters.ignored &+= 1
    return .control
  }

  package mutating func handleTimeout(now: Instant) {
    if let retryAt, retryAt <= now { start(now: now) }
    expireStream(now: now)
    expireTransactions(now: now)
    guard case .allocated = state else { return }
    if let refreshAt, refreshAt <= now {
      self.refreshAt = nil
      begin(.refresh(limits.lifetime), now: now)
    }
    renewPermissions(now: now)
    renewChannels(now: now)
  }

  // MARK: - Commands

  /// Asks for a relay, unless there is one or one was asked for.
  package mutating func start(now: Instant) {
    guard case .idle = state else { return }
    retryAt = nil
    credentials = nextCredentials
    authentication = nil
    guard transport == .udp else {
      state = .connecting
      stream.isWanted = true
      stream.connectBy =
        now + (losses.isMissed(now: now) ? limits.connectingAgain : limits.connecting)
      return
    }
    state = .allocating
    begin(.allocate, now: now)
  }

  /// Other credentials, for the next allocation: one that stands keeps its own (RFC 8656 §5).
  package mutating func renew(_ credentials: RelayCredentials) { nextCredentials = credentials }

  /// Says which hosts may send to us by the relay; ports do not matter. Others no longer may, when
  /// the server forgets them.
  package mutating func setPeers(_ addresses: [SocketAddress], now: Instant) {
    permissions.replace(with: addresses, limit: limits.peers, now: now)
    transactions.removeAll { transaction in
      guard case .permit(let host) = transaction.purpose else { return false }
      return !permissions.contains(host)
    }
    if case .allocated = state { renewPermissions(now: now) }
  }

  /// Perhaps the server no longer knows us. It says so, and a new relay is asked for.
  package mutating func checkAllocation(_ cause: RelayDoubt, now: Instant) {
    guard case .allocated = state, !isUnderWay(.refresh(limits.lifetime)) else { return }
    if transport != .udp {
      guard let patience = limits.patience(of: cause) else { return }
      // What carries another call is left alone.
      if cause == .longSilence, let heard = stream.lastHeard, now < heard + patience { return }
      stream.answerBy = now + patience
    }
    refreshAt = nil
    begin(.refresh(limits.lifetime), now: now)
  }

  /// The line carries again: a server that did not answer is asked at once.
  package mutating func hurry(now: Instant) {
    guard losses.old != nil else { return }
    if case .idle = state, retryAt != nil { return start(now: now) }
    for index in transactions.indices { transactions[index].hurry(now: now) }
  }

  /// Gives the relay back for good; one request, whose answer nobody waits for.
  package mutating func close(now: Instant) {
    giveBack(now: now)
    state = .closing
  }

  /// Gives the relay back, if there is one, and asks for none until `start`.
  package mutating func withdraw(now: Instant) {
    if case .closing = state { return }
    giveBack(now: now)
    state = .idle
  }

  private mutating func giveBack(now: Instant) {
    let proof = relayedAddress == nil || transport != .udp ? nil : authentication
    forgetAllocation()
    retryAt = nil
    losses.forgetOld()
    guard let proof else { return }
    authentication = proof
    begin(.refresh(0), now: now)
  }

  /// Puts the header before a packet that goes to `peer` by the relay.
  ///
  /// - Returns: `false` where there is no relay, or no room: the packet cannot go.
  @_lifetime(packet: copy packet)
  package mutating func wrap(
    _ packet: inout OutputSpan<UInt8>, to peer: SocketAddress, now: Instant
  ) -> Bool {
    guard case .allocated = state, peer.family == .v4, !peer.isUnsendable else { return false }
    counters.packetsSent &+= 1
    switch channels.use(for: peer, now: now) {
    case .bound(let number):
      return RelayFraming.wrap(&packet, channel: number, isPadded: transport != .udp)
    case .unbound: break
    case .unknown:
      if let number = channels.open(to: peer, now: now) { begin(.bind(number, peer), now: now) }
    }
    return RelayFraming.wrap(&packet, to: peer, makeID())
  }

  // MARK: - Outputs

  /// Writes the next request to the server; `false` when there is none.
  @_lifetime(packet: copy packet)
  package mutating func pollTransmit(into packet: inout OutputSpan<UInt8>, now: Instant) -> Bool {
    let due = transactions.firstIndex { $0.nextAt <= now && $0.attempts < limits.attempts }
    guard let due else { return false }
    let bytes = request(transactions[due])
    transactions[due].countSent(isAuthenticated: authentication != nil, limits, now: now)
    counters.requests &+= 1
    // Nobody waits for the answer, unless another relay is asked for next.
    let isLast = transactions[due].purpose == .refresh(0) && !isAsking
    if isLast { transactions.remove(at: due) }
    guard bytes.count <= packet.freeCapacity else { return false }
    packet.append(bytes: bytes)
    return true
  }

  package mutating func pollEvent() -> RelayEvent? {
    events.isEmpty ? nil : events.removeFirst()
  }

  package var nextDeadline: Instant? {
    var deadline = earliest(retryAt, stream.nextDeadline)
    for transaction in transactions { deadline = earliest(deadline, transaction.nextAt) }
    guard case .allocated = state else { return deadline }
    deadline = earliest(deadline, refreshAt)
    return earliest(deadline, earliest(permissions.nextDeadline, channels.nextDeadline))
  }

  // MARK: - Getters

  /// Where peers reach us; `nil` while there is no relay.
  package var relayedAddress: SocketAddress? {
    if case .allocated(let address) = state { address } else { nil }
  }

  /// Whether the server is being asked for a relay.
  var isAsking: Bool {
    switch state {
    case .connecting, .allocating: true
    case .idle, .allocated, .closing: false
    }
  }

  /// Whether no relay is there, asked for, or to be asked for after a pause.
  var isIdle: Bool { if case .idle = state { retryAt == nil } else { false } }

  /// Whether the server refused credentials that are not the newest.
  var hasNewerCredentials: Bool { nextCredentials != credentials }

  // MARK: - Parts

  /// At most one of each, and nobody polls a client that has no owner.
  mutating func publish(_ event: RelayEvent) {
    if events.count < 8 { events.append(event) }
  }

  mutating func makeID() -> STUNTransactionID {
    STUNTransactionID(high: UInt32(truncatingIfNeeded: random.next()), low: random.next())
  }

  mutating func begin(_ purpose: RelayTransaction.Purpose, now: Instant) {
    if case .refresh = purpose {
      // One at a time, and the relay ends without it.
    } else if transactions.count >= limits.transactions {
      return fail(purpose, .noAnswer, now: now)
    }
    transactions.append(RelayTransaction(purpose, makeID(), at: now))
  }

  func isUnderWay(_ purpose: RelayTransaction.Purpose) -> Bool {
    transactions.contains { $0.purpose == purpose }
  }
}

/// What has gone by the relay.
package struct RelayCounters: Hashable, Sendable {
  package var requests: UInt64 = 0
  package var packetsSent: UInt64 = 0
  package var packetsReceived: UInt64 = 0
  /// Datagrams of the server that are nothing of ours, or not authentic.
  package var ignored: UInt64 = 0
}
