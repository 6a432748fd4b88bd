internal import Peer
internal import Primitives
internal import Reactor
internal import Relay
internal import Wire

/// The connections to TURN servers over TCP and TLS, on the event loop's thread.
final class RelayStreams {
  /// One connection, and what a datagram would not need: an end of each message, and a limit on
  /// what waits.
  final class Link {
    let server: SocketAddress
    var connection: StreamConnection?
    var reader = RelayStreamReader()
    private var backlog = StreamBacklog()

    init(server: SocketAddress) { self.server = server }

    /// Sends one message, unless the ones before it have waited for too long.
    func send(_ bytes: [UInt8], now: Instant) {
      guard let connection else { return }
      let isMedia = RelayFraming.isMedia(bytes.span)
      if isMedia, !backlog.admits(unsent: connection.unsentByteCount, now: now) { return }
      backlog.append(byteCount: connection.send(bytes), now: now)
    }
  }

  /// `Configuration.relayAuthorities`.
  let authorities: String?
  private var links: [LocalAddressID: Link] = [:]
  /// What the rendezvous offered last, until the addresses of its servers are asked for.
  private var offer: RelayOffer?
  /// The same, for whoever examines the servers.
  private(set) var lastOffer: RelayOffer?
  private var isResolving = false

  init(authorities: String?) { self.authorities = authorities }

  func link(_ stream: LocalAddressID) -> Link? { links[stream] }

  func add(_ link: Link, as stream: LocalAddressID) { links[stream] = link }

  /// Keeps an offer, and no other before it; `true` = somebody is to ask for its addresses.
  func keep(_ offer: RelayOffer) -> Bool {
    self.offer = offer
    lastOffer = offer
    defer { isResolving = true }
    return !isResolving
  }

  /// The next offer whose addresses are to be asked for; `nil` = there is none, and `keep` says
  /// `true` again.
  func takeOffer() -> RelayOffer? {
    isResolving = offer != nil
    return offer.take()
  }

  func send(_ bytes: [UInt8], by stream: LocalAddressID) {
    links[stream]?.send(bytes, now: SystemClock.now)
  }

  func close(_ stream: LocalAddressID) {
    links.removeValue(forKey: stream)?.connection?.close()
  }

  func closeAll() {
    for stream in links.keys.sorted(by: { $0.rawValue < $1.rawValue }) { close(stream) }
  }
}

extension RelayStreams {
  /// Whether a file holds authorities (`Configuration.relayAuthorities`).
  static func check(authorities path: String) throws(EarshotError) {
    do throws(ReactorError) {
      try TLSOptions(host: "localhost", authorities: path).check()
    } catch {
      throw EarshotError(
        .fileUnusable, "The authorities of TURN servers are of no use: \(error.reason).",
        advice: "Give a PEM file with the certificate of the authority (--turn-ca).")
    }
  }
}

/// A machine that speaks with TURN servers, by streams too.
protocol RelayStreamMachine: DatagramMachine, ~Copyable {
  mutating func relayStreamOpened(_ stream: LocalAddressID, now: Instant)
  mutating func relayStreamEnded(
    _ stream: LocalAddressID, _ error: RelayError, now: Instant)
}

extension PeerMachine: RelayStreamMachine {}

extension RelayStreams {
  /// Does what a machine wants done with a stream, and tells it what comes of it.
  func performAction<Machine: RelayStreamMachine & ~Copyable>(
    _ action: RelayStreamAction, of driver: MachineDriver<Machine>, on loop: EventLoop
  ) {
    switch action {
    case .close(let stream): close(stream)
    case .open(let stream, let server): open(stream, to: server, of: driver, on: loop)
    }
  }

  private func open<Machine: RelayStreamMachine & ~Copyable>(
    _ stream: LocalAddressID, to server: RelayServer, of driver: MachineDriver<Machine>,
    on loop: EventLoop
  ) {
    let link = RelayStreams.Link(server: server.server)
    add(link, as: stream)
    var options: TLSOptions?
    if server.transport == .tls {
      options = TLSOptions(host: server.host, authorities: authorities)
    }
    do throws(ReactorError) {
      link.connection = try StreamConnection(to: server.server, tls: options, on: loop) { event in
        self.handleEvent(event, by: stream, of: driver)
      }
    } catch {
      let failure =
        error.action == "verify" ? RelayError.untrusted(error.reason) : RelayError.noAnswer
      end(stream, failure, of: driver)
    }
  }

  private func handleEvent<Machine: RelayStreamMachine & ~Copyable>(
    _ event: StreamConnection.Event, by stream: LocalAddressID, of driver: MachineDriver<Machine>
  ) {
    switch event {
    case .connected:
      driver.withMachine { machine, now in machine.relayStreamOpened(stream, now: now) }
    case .received(let bytes): receive(bytes, by: stream, of: driver)
    case .ended(let failure): end(stream, RelayError(failure), of: driver)
    }
  }

  private func receive<Machine: RelayStreamMachine & ~Copyable>(
    _ bytes: [UInt8], by stream: LocalAddressID, of driver: MachineDriver<Machine>
  ) {
    guard let link = link(stream) else { return }
    link.reader.append(bytes.span)
    do throws(WireError) {
      // What a reading brought is answered at once, as a batch of datagrams is.
      try driver.withMachine { machine, now throws(WireError) in
        while var message = try link.reader.next() {
          var span = message.mutableSpan
          machine.handle(
            &span, from: link.server, marks: DatagramMarks(local: stream), now: now)
        }
      }
    } catch {
      end(stream, .notUnderstood, of: driver)
    }
  }

  private func end<Machine: RelayStreamMachine & ~Copyable>(
    _ stream: LocalAddressID, _ error: RelayError, of driver: MachineDriver<Machine>
  ) {
    close(stream)
    driver.withMachine { machine, now in
      machine.relayStreamEnded(stream, error, now: now)
    }
  }
}

extension Endpoint {
  func performAction(_ action: RelayStreamAction) {
    if case .open = action, isClosed { return }
    relayStreams.performAction(action, of: driver, on: loop)
  }
}

extension RelayError {
  init(_ failure: StreamFailure) {
    switch failure {
    case .unreachable: self = .noAnswer
    case .untrusted(let reason), .insecure(let reason): self = .untrusted(reason)
    case .lost: self = .connectionLost
    }
  }
}
