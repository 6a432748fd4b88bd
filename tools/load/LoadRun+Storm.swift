import Arguments
import Cryptography
import Glibc
import Primitives
import Reactor
import SecureSession
import Wire

/// Many clients that begin at the same moment, as after a restart, while others look up.
extension LoadRun {
  /// One JSON object.
  func storm(_ card: ContactCard, _ process: ServerProcess) throws(UsageError) -> String {
    let alone = try keyAgreementSeconds(min(options.storm, 2000))
    let others = clients.count
    var handshakes = HandshakeStore(limit: options.storm)
    let initiations = try prepare(card, &handshakes)
    let start = SystemClock.now
    let startCPU = process.processorSeconds
    var asking = StormLookUps(others, start)
    var next = 0
    var looked = start
    var now = start
    while handshakes.count > 0, now.nanoseconds(since: start) < Self.longestStorm {
      for _ in 0..<64 where next < initiations.count {
        send(clients[initiations[next].client].socket) {
          $0.append(bytes: initiations[next].bytes)
        }
        next += 1
      }
      ask(&asking, now)
      flush()
      readStorm(&handshakes, &asking)
      now = SystemClock.now
      guard next == initiations.count, looked + .milliseconds(20) < now else { continue }
      looked = now
      handshakes.repeatOld(doubles: true) { bytes, client in
        send(clients[client].socket) { $0.append(bytes: bytes) }
      }
    }
    flush()
    let seconds = Double(now.nanoseconds(since: start)) / 1e9
    let processor = process.processorSeconds - startCPU
    let cost = alone * Double(options.storm)
    return """
      {"clients":\(options.storm),"seconds":\(seconds),"processorSeconds":\(processor),\
      "agreementMicroseconds":\(round1(alone * 1e6)),"agreementSeconds":\(cost),\
      "silent":\(handshakes.count),\(json(asking))}
      """
  }

  /// Those who will begin, and their INITs, which are not sent yet.
  private func prepare(
    _ card: ContactCard, _ handshakes: inout HandshakeStore
  ) throws(UsageError) -> [(client: Int, bytes: [UInt8])] {
    var initiations: [(client: Int, bytes: [UInt8])] = []
    for _ in 0..<options.storm {
      let (client, initiation) = try addClient(card, &handshakes)
      initiations.append((client, initiation))
    }
    handshakes.restart()
    return initiations
  }

  private func json(_ asking: StormLookUps) -> String {
    let latencies = asking.latencies.sorted()
    return """
      "lookUps":\(asking.sent),"answered":\(latencies.count),\
      "lookUpP50Microseconds":\(round1(percentile(latencies, 0.5))),\
      "lookUpP99Microseconds":\(round1(percentile(latencies, 0.99)))
      """
  }

  /// One look-up a millisecond, each by the next client in turn that waits for none.
  private func ask(_ asking: inout StormLookUps, _ now: Instant) {
    while asking.due <= now {
      asking.due = asking.due + .milliseconds(1)
      let index = asking.next
      asking.next = (index + 1) % asking.count
      if asking.isWaiting[index], clients[index].sentAt + .seconds(1) > now { continue }
      asking.isWaiting[index] = true
      asking.sent += 1
      let target = clients[asking.next].id
      clients[index].sentAt = SystemClock.now
      send(clients[index].socket) { clients[index].writeLookUp(target, into: &$0) }
      flush()
    }
  }

  private func readStorm(_ handshakes: inout HandshakeStore, _ asking: inout StormLookUps) {
    receive { [self] bytes in
      if bytes.count == ResponsePacket.byteCount {
        var reader = ByteReader(bytes.span)
        // What is no RESP is a packet of a session: read below. Counted by `silent`.
        if let packet = try? ResponsePacket(parsing: &reader),
          let index = byConnection[packet.initiator]
        {
          handshakes.finish(index, bytes.span, client: &clients[index])
          guard clients[index].isRegistered else { return }
          return send(clients[index].socket) { clients[index].writePing(into: &$0) }
        }
      }
      guard let index = byConnection[SealedPacket.connectionID(of: bytes.span)],
        case .result(let number, _) = clients[index].open(&bytes)
      else { return }
      send(clients[index].socket) {
        clients[index].writeFeedback(number, into: &$0, now: SystemClock.now)
      }
      guard index < asking.count, asking.isWaiting[index] else { return }
      asking.isWaiting[index] = false
      asking.latencies.append(UInt32(clamping: arrival.nanoseconds(since: clients[index].sentAt)))
    }
  }

  /// Seconds of processor time that the answer to one INIT takes without a server: the key
  /// agreements, and the signatures of the card. On the server's core, while that does nothing.
  private func keyAgreementSeconds(_ count: Int) throws(UsageError) -> Double {
    do {
      let seconds = SystemClock.wallNanoseconds / 1_000_000_000
      var identity = LocalIdentity(kind: .rendezvous, unixSeconds: seconds, random: &random)
      let card = try identity.makeCard(unixSeconds: seconds)
      var initiations: [(connection: ConnectionID, bytes: [UInt8])] = []
      for _ in 0..<count {
        let connection = ConnectionID(random: &random)
        let handshake = try LoadHandshake(
          to: card, connection: connection, unixMilliseconds: seconds * 1000, random: &random)
        initiations.append((connection, handshake.initiation))
      }
      ServerProcess.pinSelf(core: 0)
      defer { ServerProcess.pinSelf(core: 1) }
      let plain = [UInt8](repeating: 1, count: ResponsePayload.byteCount)
      let start = ServerProcess.ownProcessorSeconds
      for (connection, bytes) in initiations {
        let context = HandshakeContext(
          purpose: .register, connectionID: connection, responder: identity.id)
        var state = try HandshakeState(
          context, role: .responder, localStatic: identity.staticKey)
        let payload = try state.readMessage(bytes.span.extracting(InitPacket.noiseRange))
        var reader = ByteReader(payload.span)
        try InitPayload(parsing: &reader).card.verify(unixSeconds: seconds)
        _ = try state.writeMessage(payload: plain.span, random: &random)
        _ = state.split()
      }
      return (ServerProcess.ownProcessorSeconds - start) / Double(count)
    } catch { throw UsageError("cannot measure key agreements: \(error)") }
  }

  private static var longestStorm: UInt64 { 120_000_000_000 }
}

/// The look-ups of those who are registered while others begin.
struct StormLookUps {
  /// Clients who ask: the first so many.
  let count: Int
  var due: Instant
  var next = 0
  var sent = 0
  var isWaiting: [Bool]
  /// Nanoseconds.
  var latencies: [UInt32] = []

  init(_ count: Int, _ start: Instant) {
    self.count = count
    due = start
    isWaiting = Array(repeating: false, count: count)
  }
}
