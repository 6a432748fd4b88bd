package import LinkModel
package import Primitives
package import Reactor

/// A line between programs that speak UDP: they send to the proxy's ports instead of to each other.
///
/// It behaves as a home router with one address does: each inner program (a client) gets an outer
/// port of its own, whoever it speaks with; whoever writes to that port appears inside as a port of
/// the proxy. Everything crosses the one line, in both directions. No root, no kernel qdisc.
///
///     client ── portal (inner port) ══ up, down ══ outer port of the client ── remote
package final class LineProxy: CarriedLine {
  /// Where inner programs send, and whom that stands for.
  package struct Forward: Equatable, Sendable {
    package var listen: SocketAddress
    package var target: SocketAddress

    package init(listen: SocketAddress, target: SocketAddress) {
      self.listen = listen
      self.target = target
    }
  }

  /// Clients, and remotes, at most: a stranger must not use up the host's ports.
  package static let maxSockets = 64

  package private(set) var relay: LineRelay
  package private(set) var rebindings = 0
  /// The longest a datagram came out after its time.
  package private(set) var latest = Duration.zero
  /// What could not be opened on the way, once for each.
  package private(set) var faults: [ReactorError] = []
  /// Writes down what crosses, while there is one.
  package var journal: LineJournal?
  private let loop: EventLoop
  private var timer: EventLoop.Token?
  private var portals: [ProxySocket] = []
  private var clients: [ProxySocket] = []
  private var buffer: [UInt8] = []

  package init(
    _ forwards: [Forward], _ relay: LineRelay, on loop: EventLoop
  ) throws(ReactorError) {
    self.relay = relay
    self.loop = loop
    timer = try loop.addTimer { [unowned self] now in deliver(now: now) }
    for forward in forwards { try openPortal(forward.listen, for: forward.target) }
  }

  /// Where inner programs send, in the order of the forwards; afterwards come those of remotes that
  /// wrote unasked.
  package var innerAddresses: [SocketAddress] { portals.map(\.address) }
  package var entrances: [String] { innerAddresses.map(\.description) }
  /// Where the outside sees the clients.
  package var outerAddresses: [SocketAddress] { clients.map(\.address) }

  package func change(
    _ direction: LineRelay.Direction, _ change: (inout LinkConditions) -> Void
  ) {
    relay.change(direction, change)
  }

  /// Gives every client a new outer port, as a router does that was started anew. What was sent to
  /// the old ones is lost.
  package func rebind() {
    for client in clients {
      do throws(ReactorError) {
        try client.reopen(on: loop)
        rebindings += 1
      } catch {
        faults.append(error)
      }
    }
  }

  /// Closes everything.
  package func stop() {
    for socket in portals + clients { socket.close(on: loop) }
    portals = []
    clients = []
    if let timer { loop.removeTimer(timer) }
    timer = nil
  }

  // MARK: - Datagrams

  private func deliver(now: Instant) {
    while let delivery = relay.pop(at: now, into: &buffer) {
      latest = max(latest, now - delivery.due)
      let route = delivery.route
      guard route.portal < portals.count, route.client < clients.count else { continue }
      let (portal, client) = (portals[route.portal], clients[route.client])
      switch delivery.direction {
      case .up: client.send(buffer, to: portal.partner, ecn: delivery.ecn)
      case .down: portal.send(buffer, to: client.partner, ecn: delivery.ecn)
      }
    }
    arm()
  }

  private func arm() {
    if let timer { loop.setDeadline(timer, relay.nextTime) }
  }

  private func take(
    _ bytes: Span<UInt8>, at portal: Int, from source: SocketAddress, ecn: UInt8, now: Instant
  ) {
    guard let client = place(of: source, in: clients) ?? openClient(source, beside: portal) else {
      return
    }
    let route = LineRelay.Route(client: client, portal: portal)
    let passage = relay.take(bytes, .up, route, ecn: ecn, now: now)
    journal?.note(passage, .up, byteCount: bytes.count, at: now)
  }

  private func take(
    _ bytes: Span<UInt8>, of client: Int, from source: SocketAddress, ecn: UInt8, now: Instant
  ) {
    guard let portal = place(of: source, in: portals) ?? openPortal(forStranger: source) else {
      return
    }
    let route = LineRelay.Route(client: client, portal: portal)
    let passage = relay.take(bytes, .down, route, ecn: ecn, now: now)
    journal?.note(passage, .down, byteCount: bytes.count, at: now)
  }

  private func place(of partner: SocketAddress, in sockets: [ProxySocket]) -> Int? {
    sockets.firstIndex { $0.partner == partner }
  }

  // MARK: - Sockets

  private func openPortal(
    _ listen: SocketAddress, for target: SocketAddress
  ) throws(ReactorError) {
    let socket = try ProxySocket(binding: listen, partner: target)
    let place = portals.count
    try socket.open(on: loop) { [unowned self] bytes, source, ecn, now in
      take(bytes, at: place, from: source, ecn: ecn, now: now)
    } afterBatch: { [unowned self] in
      arm()
    }
    portals.append(socket)
  }

  private func openPortal(forStranger remote: SocketAddress) -> Int? {
    guard portals.count < Self.maxSockets, var listen = portals.first?.address else { return nil }
    listen.port = 0
    do throws(ReactorError) {
      try openPortal(listen, for: remote)
      return portals.count - 1
    } catch {
      faults.append(error)
      return nil
    }
  }

  private func openClient(_ source: SocketAddress, beside portal: Int) -> Int? {
    guard clients.count < Self.maxSockets else { return nil }
    let isV4 = portals[portal].partner.family == .v4
    let anywhere = SocketAddress(isV4 ? "0.0.0.0:0" : "[::]:0")
    guard let anywhere else { return nil }
    do throws(ReactorError) {
      let socket = try ProxySocket(binding: anywhere, partner: source)
      let place = clients.count
      try socket.open(on: loop) { [unowned self] bytes, source, ecn, now in
        take(bytes, of: place, from: source, ecn: ecn, now: now)
      } afterBatch: { [unowned self] in
        arm()
      }
      clients.append(socket)
      return place
    } catch {
      faults.append(error)
      return nil
    }
  }
}
