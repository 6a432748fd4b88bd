import Primitives
import Wire

@testable import Relay

/// As much of a TURN server as a client can see, with faults to order.
struct TestServer {
  var credentials = RelayCredentials(user: "alice", password: "secret")
  var realm = Array("earshot.test".utf8)
  var nonce = Array("nonce-1".utf8)
  /// PASSWORD-ALGORITHMS of its 401 and 438; `nil` = SHA-1 and MD5.
  var algorithms: [UInt8]?
  /// What it answers to the next authentic requests instead of a success.
  var refusals: [UInt16] = []
  var lifetime: UInt32 = 600
  var relayed = SocketAddress(v4: 203, 0, 113, 9, port: 50_000)
  /// Leaves the message authentication code of successes out.
  var isUnauthentic = false
  private(set) var requests: [STUNMessage] = []
  /// Whether it has given a relay that did not come back.
  private(set) var hasAllocation = false
  private(set) var channels: [UInt16: SocketAddress] = [:]

  /// The answer to a datagram; `nil` for none.
  mutating func answer(_ bytes: [UInt8]) -> [UInt8]? {
    guard let message = try? STUNMessage(parsing: bytes.span), message.messageClass == .request
    else { return nil }
    requests.append(message)
    guard let authentication, message.nonce != nil else { return refuse(message, 401, asks: true) }
    guard message.nonce.map({ $0.map { bytes[$0] } }) == nonce else {
      return refuse(message, 438, asks: true)
    }
    guard isAuthentic(message, bytes, authentication) else {
      return refuse(message, 401, asks: true)
    }
    if !refusals.isEmpty { return refuse(message, refusals.removeFirst(), asks: false) }
    if let number = message.channelNumber, let peer = message.peerAddress {
      channels[number] = peer
    }
    if message.method == .allocate { hasAllocation = true }
    if message.method == .refresh, message.lifetime == 0 { hasAllocation = false }
    return succeed(message, authentication)
  }

  private var authentication: RelayAuthentication? {
    RelayAuthentication(credentials, realm: realm, nonce: nonce, offered: algorithms)
  }

  private func isAuthentic(
    _ message: STUNMessage, _ bytes: [UInt8], _ authentication: RelayAuthentication
  ) -> Bool {
    let place = algorithms == nil ? message.integrity : message.integritySHA256
    guard let place else { return false }
    return authentication.code(Array(bytes[..<place.offset])) == place.value.map { bytes[$0] }
  }

  private func refuse(_ message: STUNMessage, _ code: UInt16, asks: Bool) -> [UInt8] {
    var writer = STUNWriter(.failure, message.method, message.transactionID)
    writer.append(.errorCode, UInt32(code / 100) << 8 | UInt32(code % 100))
    if asks {
      writer.append(.realm, realm)
      writer.append(.nonce, nonce)
      if let algorithms { writer.append(.passwordAlgorithms, algorithms) }
    }
    return writer.bytes
  }

  private func succeed(_ message: STUNMessage, _ authentication: RelayAuthentication) -> [UInt8] {
    var writer = STUNWriter(.success, message.method, message.transactionID)
    if message.method == .allocate { writer.append(.xorRelayedAddress, relayed) }
    if message.method == .allocate || message.method == .refresh {
      writer.append(.lifetime, message.lifetime == 0 ? 0 : lifetime)
    }
    guard !isUnauthentic else { return writer.bytes }
    if algorithms == nil {
      writer.append(.messageIntegrity, byteCount: 20, authenticate: authentication.code)
    } else {
      writer.append(.messageIntegritySHA256, byteCount: 32, authenticate: authentication.code)
    }
    return writer.bytes
  }
}

/// A client and its server, in simulated time.
struct ClientAndServer {
  var client: RelayClient
  var server = TestServer()
  var now = Instant(nanoseconds: 1_000_000_000)
  var isServerAway = false
  var events: [RelayEvent] = []

  static let address = SocketAddress(v4: 192, 0, 2, 1, port: 3478)

  init(password: String = "secret") {
    client = RelayClient(
      server: Self.address, credentials: RelayCredentials(user: "alice", password: password),
      random: RandomSource(seed: 7))
  }

  /// One that has its relay.
  static func allocated() -> ClientAndServer {
    var pair = ClientAndServer()
    pair.client.start(now: pair.now)
    pair.settle()
    return pair
  }

  /// Lets requests and answers pass until nobody has more to say at this moment.
  mutating func settle() {
    for _ in 0..<100 {
      guard let bytes = transmit() else { break }
      if isServerAway { continue }
      if let answer = server.answer(bytes) { _ = client.handle(answer.span, now: now) }
    }
    while let event = client.pollEvent() { events.append(event) }
  }

  /// Goes from deadline to deadline.
  mutating func run(for duration: Duration) {
    let end = now + duration
    for _ in 0..<10_000 {
      guard let next = client.nextDeadline, next <= end else { break }
      now = max(now, next)
      client.handleTimeout(now: now)
      settle()
    }
    now = end
  }

  mutating func transmit() -> [UInt8]? {
    var bytes: [UInt8] = []
    var isSent = false
    bytes.append(addingCapacity: 1200) { output in
      isSent = client.pollTransmit(into: &output, now: now)
    }
    return isSent ? bytes : nil
  }

  /// A packet to `peer` as it leaves; `nil` where it cannot.
  mutating func wrap(_ packet: [UInt8], to peer: SocketAddress) -> [UInt8]? {
    var bytes: [UInt8] = []
    var isSent = false
    bytes.append(addingCapacity: packet.count + Datagram.maximumRelayHeaderByteCount) { output in
      output.append(bytes: packet)
      isSent = client.wrap(&output, to: peer, now: now)
    }
    return isSent ? bytes : nil
  }
}
