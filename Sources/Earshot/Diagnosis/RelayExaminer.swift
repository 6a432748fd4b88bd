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
