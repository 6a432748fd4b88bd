internal import Channels
internal import Primitives
internal import Reactor
internal import Relay
internal import Wire

/// Tries one TURN server on a socket of its own.
actor RelayExaminer {
  private let loop: EventLoop
  private let driver: MachineDriver<RelayTrial>
  private let streams: RelayStreams
  private var outcome: RelayEvent?

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor }

  /// How long a server may take.
  static let patience = Duration.seconds(6)

  /// Asks for a relay, and gives it back.
  static func examine(
    _ options: RelayOptions, isOffered: Bool, authorities: String?, bind: String
  ) async -> RelaySighting {
    var sighting = RelaySighting(uri: options.uri, isOffered: isOffered)
    do throws(EarshotError) {
      guard var own = SocketAddress(bind) else { throw .invalidAddress(bind) }
      own.port = 0
      for server in try await options.resolve(matching: own) where sighting.relayed == nil {
        sighting.server = server.server
        sighting.error = nil
        let examiner = try RelayExaminer(server, authorities: authorities, bind: own)
        await examiner.examine(&sighting)
      }
    } catch {
      sighting.error = error
    }
    return sighting
  }

  private init(
    _ server: RelayServer, authorities: String?, bind: SocketAddress
  ) throws(EarshotError) {
    do throws(ReactorError) {
      var socketOptions = UDPSocket.Options()
      socketOptions.slotCount = 4
      socketOptions.localAddresses = .never
      let socket = try UDPSocket(binding: bind, socketOptions)
      let loop = try EventLoop()
      try loop.start()
      self.loop = loop
      driver = MachineDriver(
        RelayTrial(server, random: .system), socket: socket, on: loop)
    } catch {
      throw .systemFailure("opening a socket for a relay", detail: error.reason)
    }
    streams = RelayStreams(authorities: authorities)
  }

  private func examine(_ sighting: inout RelaySighting) async {
    let began = SystemClock.now
    do throws(ReactorError) {
      let streams = streams
      driver.sendByStream = { bytes, stream in streams.send(bytes, by: stream) }
      try driver.start { event in self.handleEvent(event) }
    } catch {
      sighting.error = .systemFailure("asking a TURN server", detail: error.reason)
      return loop.stop()
    }
    driver.withMachine { machine, now in machine.start(now: now) }
    while outcome == nil, SystemClock.now < began + Self.patience, !Task.isCancelled {
      await loop.pause(.milliseconds(5))
    }
    sighting.roundTripMs = driver.readMachine { $0.roundTrip }?.inMilliseconds
    switch outcome ?? .failed(.noAnswer) {
    case .allocated(let address):
      sighting.relayed = address
      sighting.tookMs = (SystemClock.now - began).inMilliseconds
    case .failed(let error): sighting.error = EarshotError(error)
    }
    driver.withMachine { machine, now in machine.close(now: now) }
    driver.stop()
    streams.closeAll()
    loop.stop()
  }

  private func handleEvent(_ event: RelayTrial.Event) {
    switch event {
    case .relay(let event): outcome = outcome ?? event
    case .stream(let action): streams.performAction(action, of: driver, on: loop)
    }
  }
}

extension Duration {
  /// With fractions.
  var inMilliseconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) * 1e3 + Double(attoseconds) / 1e15
  }
}

/// Whether relays for channels are there (docs/protocol/relay.md §2): those of the plan, and the
/// one of which the rendezvous tells.
extension Diagnostician {
  /// A relay, as the rendezvous tells a member of it.
  struct OfferedRelay: Sendable, Equatable {
    let id: PeerID
    let address: SocketAddress
  }

  /// Asks each of them. One that the plan names and the rendezvous too is asked once.
  func askChannelRelays() async throws(EarshotError) -> [ChannelRelaySighting] {
    var sightings: [ChannelRelaySighting] = []
    for text in plan.channelRelays where !Task.isCancelled {
      let target = try RendezvousTarget(text)
      var sighting = ChannelRelaySighting(name: target.text, id: target.id)
      do throws(EarshotError) {
        for address in try await target.addresses(matching: plan.bind)
        where sighting.address == nil || sighting.error != nil {
          try await look(at: address, &sighting)
        }
      } catch {
        guard error.code == .hostNotFound else { throw error }
        sighting.error = error
      }
      sighting.isOffered = offeredRelay.map { $0.isTold(by: sighting) } ?? false
      sightings.append(sighting)
    }
    guard let offeredRelay, !sightings.contains(where: \.isOffered), !Task.isCancelled else {
      return sightings
    }
    var sighting = ChannelRelaySighting(
      name: "\(offeredRelay.address)", isOffered: true, id: offeredRelay.id)
    try await look(at: offeredRelay.address, &sighting)
    return sightings + [sighting]
  }

  /// A relay registers nobody who has no grant, and says so under its key: that is all that is
  /// wanted of it.
  private func look(
    at address: SocketAddress, _ sighting: inout ChannelRelaySighting
  ) async throws(EarshotError) {
    sighting.address = address
    let text = sighting.id.map { "\(address)#\($0)" } ?? "\(address)"
    let began = SystemClock.now
    let endpoint = try await open(
      Place(text: text, name: sighting.name, address: address), bind: anyPort, token: nil)
    // In steps of 1 ms: it is told how long it took.
    while await endpoint.registration == .connecting, !Task.isCancelled,
      SystemClock.now < began + plan.patience
    {
      await endpoint.pause(.milliseconds(1))
    }
    sighting.error = await Self.error(of: endpoint, at: address, expected: sighting.id)
    if sighting.error == nil {
      sighting.tookMs = (SystemClock.now - began).inMilliseconds.rounded(.up)
    }
    await endpoint.close()
  }
}

extension Diagnostician.OfferedRelay {
  fileprivate func isTold(by sighting: ChannelRelaySighting) -> Bool {
    sighting.error == nil && (sighting.id.map { $0 == id } ?? (sighting.address == address))
  }
}

extension Diagnostician {
  /// What is the matter with the relay that was asked to register this program.
  private static func error(
    of endpoint: Endpoint, at address: SocketAddress, expected: PeerID?
  ) async -> EarshotError? {
    let error: EarshotError
    switch await endpoint.registration {
    case .registered: return .rendezvousAsRelay(address)
    case .failed(let found), .reconnecting(.some(let found)): error = found
    case .connecting, .reconnecting(nil):
      error = await endpoint.presentTrouble ?? .rendezvousUnreachable(address)
    }
    if error == .relayAsRendezvous(address) { return nil }
    if error == .nothingListens(address) { return .noChannelRelay(address) }
    switch error.code {
    case .rendezvousUnreachable where error == .rendezvousUnreachable(address),
      .rendezvousNotUnderstood:
      return .channelRelaySilent(address)
    case .identityChanged: return .channelRelayChanged(address, expected: expected)
    case .tokenNeeded, .tokenRefused: return .noSignOfRelay(address)
    default: return error
    }
  }

  /// The relay that the rendezvous gives to members of a channel: the program joins one of its own
  /// for a moment. `nil` = there is none, or nothing came in time.
  static func channelRelay(
    offeredTo endpoint: Endpoint, within patience: Duration
  ) async -> OfferedRelay? {
    var random = RandomSource.system
    let text = "doctor-\(String(random.next(), radix: 36))"
    guard let name = ChannelName(text) else { return nil }
    let (events, end) = (await endpoint.events(), SystemClock.now + patience)
    let channel: Channel
    do throws(EarshotError) {
      channel = try await endpoint.join(name, as: .audience)
    } catch {
      return nil  // Only what has closed cannot join.
    }
    let search = Task { await firstRelay(in: channel, events) }
    let watch = Task {
      while SystemClock.now < end, !Task.isCancelled { await endpoint.pause(.milliseconds(20)) }
      search.cancel()
    }
    let found = await withTaskCancellationHandler {
      await search.value
    } onCancel: {
      search.cancel()
    }
    watch.cancel()
    await channel.leave()
    return found
  }

  /// Asks for a relay as soon as the channel is joined.
  private static func firstRelay(
    in channel: Channel, _ events: AsyncStream<EndpointEvent>
  ) async -> OfferedRelay? {
    for await case .channel(let name, let step) in events where name == channel.name {
      switch step {
      case .joined: await RelayedMembership.ask(channel.endpoint, name, lost: nil)
      case .relayGranted(let granted):
        return OfferedRelay(id: granted.relay, address: granted.grant.address)
      case .relayUnavailable, .stateChanged(.failed, _): return nil
      default: break
      }
    }
    return nil
  }
}
