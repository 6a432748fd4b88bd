import Arguments
import Cryptography
import Glibc
import Primitives
import Reactor
import SecureSession
import Wire

/// The measurement: register everyone, then one kind of request after the other.
final class LoadRun {
  let options: LoadOptions
  private var sockets: [SocketBox] = []
  var clients: [LoadClient] = []
  var byConnection: [ConnectionID: Int] = [:]
  var random = RandomSource.system
  /// Resident memory when half of the clients were there: the second half shows what a client costs
  /// without what a busy server costs anyway.
  private var halfwayMemory = 0
  /// Of the last answer to a look-up: its message, and its datagram.
  private var answerByteCounts = (body: 0, datagram: 0)
  private var server = SocketAddress(v4: 127, 0, 0, 1, port: 0)
  /// Whom look-ups are of; empty for the own clients.
  private var targets: [PeerID] = []
  /// When the kernel had the datagram that is being read.
  private(set) var arrival = Instant.zero

  /// A socket in an array: the array needs something copyable.
  private final class SocketBox {
    var socket: UDPSocket
    init(_ socket: consuming UDPSocket) { self.socket = socket }
  }

  init(_ options: LoadOptions) { self.options = options }

  func measure() throws(UsageError) -> String {
    let data = "/tmp/earshot-load-\(getpid())"
    ServerProcess.pinSelf(core: 1)
    let process = try ServerProcess(options.server, data: data, core: 0)
    server = process.address
    try openSockets()
    let card = try requestCard()
    let emptyMemory = process.residentByteCount
    let registration = try register(card, process)
    let memory = process.residentByteCount
    targets = try exchangeIDs()
    let pings = requests(process, isLookUp: false, seconds: options.seconds)
    let lookUps = requests(process, isLookUp: true, seconds: options.seconds)
    let memoryAfter = process.residentByteCount
    let besides = try besides(process)
    let storm = options.storm == 0 ? "" : "\"storm\":\(try storm(card, process)),"
    let stopStart = SystemClock.now
    let code = process.stop()
    let stopSeconds = Double(SystemClock.now.nanoseconds(since: stopStart)) / 1e9
    removeData(data)
    return """
      {"clients":\(clients.count),"sources":\(options.sources),"window":\(options.window),\
      "handshakesPerSecond":\(round1(registration.rate)),\
      "handshakeServerMicroseconds":\(round1(registration.processorMicroseconds)),\
      "residentBytesEmpty":\(emptyMemory),"residentBytes":\(memory),\
      "residentBytesAfterRequests":\(memoryAfter),\
      "bytesPerClient":\(round1(Double(memory - emptyMemory) / Double(max(1, clients.count)))),\
      "bytesPerFurtherClient":\
      \(round1(Double(memory - halfwayMemory) / Double(max(1, clients.count - clients.count / 2)))),\
      "ping":\(pings.json),"lookUp":\(lookUps.json),\(besides)\(storm)\
      "stopSeconds":\(round1(stopSeconds * 100) / 100),"exitCode":\(code)}
      """
  }

  private func openSockets() throws(UsageError) {
    do throws(ReactorError) {
      var socketOptions = UDPSocket.Options()
      socketOptions.slotCount = 64
      socketOptions.kernelBufferByteCount = 4 << 20
      for index in 0..<options.sources {
        let local = SocketAddress(v4: 127, 0, 1, UInt8(1 + index), port: 0)
        sockets.append(SocketBox(try UDPSocket(binding: local, socketOptions)))
      }
    } catch { throw UsageError("\(error)") }
  }

  // MARK: - Datagrams

  func send(_ socket: Int, _ write: (inout OutputSpan<UInt8>) -> Void) {
    let room = unsafe sockets[socket].socket.room()
    var packet = unsafe OutputSpan(buffer: room, initializedCount: 0)
    write(&packet)
    let count = unsafe packet.finalize(for: room)
    sockets[socket].socket.commit(count, to: server)
  }

  func flush() {
    for box in sockets { box.socket.flush() }
  }

  /// Hands every datagram that has come to `body`.
  func receive(_ body: (inout MutableSpan<UInt8>) -> Void) {
    for box in sockets {
      let count = box.socket.receive()
      for index in 0..<count {
        guard let message = unsafe box.socket.message(index) else { continue }
        arrival = unsafe message.arrival
        var start = 0
        while unsafe start < message.byteCount {
          let length = unsafe min(message.segmentByteCount, message.byteCount - start)
          var bytes = unsafe MutableSpan(_unsafeStart: message.bytes + start, count: length)
          body(&bytes)
          start += length
        }
      }
    }
  }

  // MARK: - Registering

  private func requestCard() throws(UsageError) -> ContactCard {
    var request: [UInt8] = []
    CardRequestPacket(nonce: 1).write(to: &request)
    send(0) { $0.append(bytes: request) }
    flush()
    var card: ContactCard?
    let end = SystemClock.now + .seconds(2)
    while card == nil, SystemClock.now < end {
      receive { bytes in
        var reader = ByteReader(bytes.span)
        do throws(WireError) { card = try CardPacket(parsing: &reader).card } catch { return }
      }
    }
    guard let card else { throw UsageError("the server did not send its card") }
    return card
  }

  private func register(
    _ card: ContactCard, _ process: ServerProcess
  ) throws(UsageError) -> (rate: Double, processorMicroseconds: Double) {
    let start = SystemClock.now
    let startCPU = process.processorSeconds
    var handshakes = HandshakeStore(limit: 64)
    let end = start + .seconds(240)
    var registered = 0
    while registered < options.clients {
      guard SystemClock.now < end else { throw UsageError("registering took too long") }
      while clients.count < options.clients, handshakes.hasRoom {
        try begin(card, &handshakes)
      }
      flush()
      receive { [self] bytes in
        guard bytes.count == ResponsePacket.byteCount else { return }
        var reader = ByteReader(bytes.span)
        guard let packet = try? ResponsePacket(parsing: &reader),
          let index = byConnection[packet.initiator]
        else { return }
        handshakes.finish(index, bytes.span, client: &clients[index])
        guard clients[index].isRegistered else { return }
        registered += 1
        if registered == options.clients / 2 { halfwayMemory = process.residentByteCount }
        send(clients[index].socket) { clients[index].writePing(into: &$0) }
      }
      handshakes.repeatOld { bytes, client in
        send(clients[client].socket) { $0.append(bytes: bytes) }
      }
    }
    flush()
    let seconds = Double(SystemClock.now.nanoseconds(since: start)) / 1e9
    let cpu = process.processorSeconds - startCPU
    // The last confirmations, and the store's last batch.
    let settled = SystemClock.now + .milliseconds(500)
    while SystemClock.now < settled { receive { _ in } }
    return (Double(registered) / seconds, cpu * 1e6 / Double(registered))
  }

  private func begin(
    _ card: ContactCard, _ handshakes: inout HandshakeStore
  ) throws(UsageError) {
    let (client, initiation) = try addClient(card, &handshakes)
    send(clients[client].socket) { $0.append(bytes: initiation) }
  }

  /// A new client that has sent nothing yet, and its INIT.
  func addClient(
    _ card: ContactCard, _ handshakes: inout HandshakeStore
  ) throws(UsageError) -> (client: Int, initiation: [UInt8]) {
    let connection = ConnectionID(random: &random)
    let index = clients.count
    do {
      let handshake = try LoadHandshake(
        to: card, connection: connection,
        unixMilliseconds: SystemClock.wallNanoseconds / 1_000_000, random: &random)
      clients.append(
        LoadClient(
          id: handshake.id, socket: index % options.sources, connection: connection))
      byConnection[connection] = index
      let initiation = handshake.initiation
      handshakes.add(index, handshake)
      return (index, initiation)
    } catch { throw UsageError("cannot write INIT: \(error)") }
  }

  // MARK: - Requests

  private struct Result {
    var perSecond: Double
    var p50: Double
    var p99: Double
    var processorMicroseconds: Double
    var lost: Int

    var json: String {
      "{\"perSecond\":\(round1(perSecond)),\"p50Microseconds\":\(round1(p50)),"
        + "\"p99Microseconds\":\(round1(p99)),"
        + "\"serverMicroseconds\":\(round1(processorMicroseconds * 100) / 100),\"lost\":\(lost)}"
    }
  }

  /// What one kind of request has come to so far.
  private struct Turn {
    let isLookUp: Bool
    var latencies: [UInt32] = []
    var next = 0
    var underWay = 0
    var lost = 0
    var lastAnswer = SystemClock.now

    init(isLookUp: Bool) {
      self.isLookUp = isLookUp
      latencies.reserveCapacity(4_000_000)
    }
  }

  /// Keeps `window` requests under way for so many seconds, each from the next client in turn.
  private func requests(
    _ process: ServerProcess, isLookUp: Bool, seconds: Double
  ) -> Result {
    var turn = Turn(isLookUp: isLookUp)
    let start = SystemClock.now
    let startCPU = process.processorSeconds
    let end = start + .nanoseconds(Int64(seconds * 1e9))
    var now = start
    while now < end {
      ask(&turn, now)
      flush()
      readAnswers(&turn, now)
      now = SystemClock.now
      if now.nanoseconds(since: turn.lastAnswer) > 200_000_000 {
        // What is missing by now was dropped by a full socket.
        turn.lost += turn.underWay
        turn.underWay = 0
        turn.lastAnswer = now
      }
    }
    flush()
    let passed = Double(now.nanoseconds(since: start)) / 1e9
    let cpu = process.processorSeconds - startCPU
    let latencies = turn.latencies.sorted()
    return Result(
      perSecond: Double(latencies.count) / passed, p50: percentile(latencies, 0.5),
      p99: percentile(latencies, 0.99),
      processorMicroseconds: cpu * 1e6 / Double(max(1, latencies.count)), lost: turn.lost)
  }

  private func ask(_ turn: inout Turn, _ now: Instant) {
    while turn.underWay < options.window {
      let next = turn.next
      let target =
        targets.isEmpty ? clients[(next + 1) % clients.count].id : targets[next % targets.count]
      clients[next].sentAt = now
      send(clients[next].socket) { packet in
        if turn.isLookUp {
          clients[next].writeLookUp(target, into: &packet)
        } else {
          clients[next].writePing(into: &packet)
        }
      }
      turn.next = (next + 1) % clients.count
      turn.underWay += 1
    }
  }

  private func readAnswers(_ turn: inout Turn, _ now: Instant) {
    receive { [self] bytes in
      guard let index = byConnection[SealedPacket.connectionID(of: bytes.span)] else { return }
      let byteCount = bytes.count
      switch clients[index].open(&bytes) {
      case .pong where !turn.isLookUp: break
      case .result(let number, let body) where turn.isLookUp:
        answerByteCounts = (body, byteCount)
        send(clients[index].socket) {
          clients[index].writeFeedback(number, into: &$0, now: now)
        }
      default: return
      }
      turn.underWay -= 1
      turn.lastAnswer = now
      let elapsed = SystemClock.now.nanoseconds(since: clients[index].sentAt)
      turn.latencies.append(UInt32(clamping: elapsed))
    }
  }

  // MARK: - Beside a C program

  /// Look-ups of the rendezvous and of the C program in turns; empty without one.
  private func besides(_ process: ServerProcess) throws(UsageError) -> String {
    guard let program = options.beside else { return "" }
    let card = answerByteCounts.body - LoadClient.resultByteCount
    let beside = try BesideServer(program, clients, cardByteCount: card, random: &random)
    var (ours, plain): ([String], [String]) = ([], [])
    var (others, address) = (beside.clients, beside.process.address)
    var sizes: [Int] = []
    for _ in 0..<options.turns {
      ours.append(requests(process, isLookUp: true, seconds: options.seconds).json)
      settle()
      sizes.append(answerByteCounts.datagram)
      swap(&clients, &others)
      swap(&server, &address)
      plain.append(requests(beside.process, isLookUp: true, seconds: options.seconds).json)
      settle()
      sizes.append(answerByteCounts.datagram)
      swap(&clients, &others)
      swap(&server, &address)
    }
    _ = beside.stop()
    return """
      "besides":{"lookUp":[\(ours.joined(separator: ","))],"c":[\(plain.joined(separator: ","))],\
      "answerBytes":\(sizes)},
      """
  }

  /// Reads what is still under way: who had no FEEDBACK would send it again in the other's turn.
  private func settle() {
    var rest = Turn(isLookUp: true)
    let end = SystemClock.now + .milliseconds(100)
    while SystemClock.now < end {
      readAnswers(&rest, SystemClock.now)
      flush()
    }
  }

  func percentile(_ sorted: [UInt32], _ share: Double) -> Double {
    guard !sorted.isEmpty else { return 0 }
    return Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]) / 1000
  }

  private func removeData(_ path: String) {
    for name in ["identity", "registrations.db", "registrations.db-wal", ""] {
      _ = unsafe remove(name.isEmpty ? path : path + "/" + name)
    }
  }
}

/// Rounded to a tenth.
func round1(_ value: Double) -> Double { (value * 10).rounded() / 10 }
