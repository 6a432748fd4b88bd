import Primitives
import Relay
import Wire

extension FuzzTarget {
  static let relay: [FuzzTarget] = [stunMessage, relayURI, relayStream, relayClient]

  private static let peer = SocketAddress(v4: 198, 51, 100, 4, port: 4000)

  /// Whole answers of a TURN server, without codes.
  private static func answers(_ id: STUNTransactionID) -> [[UInt8]] {
    var asks = STUNWriter(.failure, .allocate, id)
    asks.append(.errorCode, UInt32(4 << 8 | 1))
    asks.append(.realm, Array("earshot.test".utf8))
    asks.append(.nonce, Array("obMatJos2gAAAxyz".utf8))
    asks.append(.passwordAlgorithms, [0, 2, 0, 0, 0, 1, 0, 0])
    var success = STUNWriter(.success, .allocate, id)
    success.append(.xorRelayedAddress, peer)
    success.append(.xorMappedAddress, SocketAddress(family: .v6, high: 1, low: 2, port: 3))
    success.append(.lifetime, 600)
    success.append(.messageIntegrity, byteCount: 20) { _ in Array(repeating: 1, count: 20) }
    success.append(.messageIntegritySHA256, byteCount: 32) { _ in Array(repeating: 2, count: 32) }
    success.append(.fingerprint, 5)
    var data = STUNWriter(.indication, .data, id)
    data.append(.xorPeerAddress, peer)
    data.append(.data, [1, 2, 3, 4, 5])
    return [asks.bytes, success.bytes, data.bytes, [0x40, 0, 0, 3, 1, 2, 3, 0]]
  }

  /// Goal: every place lies in the packet, in the part that it belongs to.
  private static let stunMessage = FuzzTarget(
    "stun-message", seeds: { answers(STUNTransactionID(high: 1, low: 2)) },
    run: { bytes in
      if let (channel, payload) = RelayFraming.channelData(in: bytes.span) {
        expect(STUNLimits.channels.contains(channel), "a channel has its number")
        expect(payload.lowerBound == 4 && payload.upperBound <= bytes.count, "data lies inside")
      }
      guard let message = try? STUNMessage(parsing: bytes.span) else { return }
      for place in [message.realm, message.nonce, message.data, message.passwordAlgorithms] {
        expect(place.map { $0.upperBound <= bytes.count } ?? true, "texts lie inside")
      }
      for code in [message.integrity, message.integritySHA256] {
        guard let code else { continue }
        expect(code.value.lowerBound == code.offset + 4, "a code follows its header")
        expect(code.value.upperBound <= bytes.count, "codes lie inside")
      }
      expect(message.errorCode.map { (300..<700).contains($0) } ?? true, "an error has its number")
    })

  /// Goal: messages of a stream are the same however it is cut, and none is lost or made up.
  private static let relayStream = FuzzTarget(
    "relay-stream", maximumByteCount: 3000,
    seeds: { [answers(STUNTransactionID(high: 1, low: 2)).flatMap { $0 }] },
    run: { bytes in
      var whole = RelayStreamReader()
      whole.append(bytes.span)
      var messages: [[UInt8]] = []
      while let message = try? whole.next() { messages.append(message) }
      let found = messages.reduce(0) { $0 + $1.count }
      expect(Array(messages.joined()) == Array(bytes.prefix(found)), "messages are the stream")
      var cut = RelayStreamReader()
      var pieces: [[UInt8]] = []
      for start in stride(from: 0, to: bytes.count, by: 7) {
        cut.append(bytes[start..<min(start + 7, bytes.count)].span)
        while let message = try? cut.next() { pieces.append(message) }
      }
      expect(pieces.starts(with: messages), "a cut changes nothing")
    })

  private static let relayURI = FuzzTarget(
    "relay-uri", maximumByteCount: 300,
    seeds: {
      [
        "turn:h", "turns:relay.example:443?transport=tcp", "turn:[2001:db8::1]:9?transport=udp",
        "TURN:192.0.2.1?transport=TCP",
      ].map { Array($0.utf8) }
    },
    run: { bytes in
      if RelaySecret(bytes) != nil { expect(bytes.count >= 16, "a secret cannot be guessed") }
      guard let uri = RelayURI(String(decoding: bytes, as: UTF8.self)) else { return }
      expect(!uri.host.isEmpty && uri.port > 0, "a server has a place")
      let scheme = uri.transport == .tls ? "turns" : "turn"
      let query = uri.transport == .tcp ? "?transport=tcp" : ""
      expect(RelayURI("\(scheme):\(uri.place)\(query)") == uri, "a URI reads back")
    })

  /// Goal: a hostile server, or whoever forges its address, moves nothing but what RFC 8656 lets
  /// it.
  /// Method: pieces of the input, with a length before each, come in turn as answers of the server
  /// to whatever was asked last, while packets leave and time passes.
  private static let relayClient = FuzzTarget(
    "relay-client", maximumByteCount: 2000,
    seeds: {
      let pieces = answers(STUNTransactionID(high: 0, low: 0))
      return [pieces.flatMap { [UInt8(clamping: $0.count), 1] + $0 }]
    },
    run: { bytes in
      var client = RelayClient(
        server: peer, credentials: RelayCredentials(user: "u", password: "p"),
        random: RandomSource(seed: 1))
      var now = Instant(nanoseconds: 1)
      client.start(now: now)
      client.setPeers([peer], now: now)
      var reader = ByteReader(bytes.span)
      while let count = try? reader.readUInt8("count"), let wait = try? reader.readUInt8("wait") {
        let request = transmitted(&client, now: now)
        var piece = (try? reader.readBytes(min(Int(count), reader.remaining), "piece")) ?? []
        // The transaction is known to the server, and hard to guess for a fuzzer.
        for index in 8..<20 where piece.count >= 20 && request.count >= 20 {
          piece[index] = request[index]
        }
        if case .packet(_, let place) = client.handle(piece.span, now: now) {
          expect(place.upperBound <= piece.count, "a packet lies in its datagram")
        }
        now = now + .milliseconds(Int64(wait) * Int64(wait))
        client.handleTimeout(now: now)
        while client.pollEvent() != nil {}
      }
      expect(client.relayedAddress == nil, "no relay without the password")
    })

  private static func transmitted(_ client: inout RelayClient, now: Instant) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: Datagram.maximumByteCount) { output in
      _ = client.pollTransmit(into: &output, now: now)
      guard output.isEmpty else { return }
      output.append(1)
      _ = client.wrap(&output, to: peer, now: now)
    }
    return bytes
  }
}
