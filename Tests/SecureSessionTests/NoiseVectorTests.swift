import Cryptography
import Primitives
import SecureSession
import Testing
import Vectors

/// What three other authors say that our suite gives, run against the code that ships.
@Suite struct NoiseVectorTests {
  struct File: Decodable, Sendable { let vectors: [Vector] }

  struct Vector: Decodable, Sendable {
    struct Message: Decodable, Sendable {
      let payload: String
      let ciphertext: String
    }

    let protocol_name: String?
    let name: String?
    let init_prologue: String?
    let init_psks: [String]?
    let init_static: String?
    let init_ephemeral: String?
    let init_remote_static: String?
    let resp_prologue: String?
    let resp_psks: [String]?
    let resp_static: String?
    let resp_ephemeral: String?
    let resp_remote_static: String?
    let handshake_hash: String?
    let messages: [Message]

    var fullName: String { protocol_name ?? name ?? "" }
  }

  /// How many entries of our suite each file has. noise-c's old `NoisePSK_` form, which rev. 34
  /// does not know, is left out.
  static let files = [
    (name: "noise/cacophony.txt", count: 59), (name: "noise/snow.txt", count: 51),
    (name: "noise/noise-c-basic.txt", count: 15),
  ]

  @Test(
    .enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"), arguments: files)
  func `gives what other implementations give`(file: (name: String, count: Int)) throws {
    var count = 0
    for vector in try PublishedVectors.json(file.name, as: File.self).vectors
    where vector.fullName.hasPrefix("Noise_")
      && vector.fullName.hasSuffix("_25519_ChaChaPoly_SHA256")
    {
      try run(vector)
      count += 1
    }
    expect(count == file.count)
  }

  private func run(_ vector: Vector) throws {
    let pattern = try unwrap(Self.pattern(vector.fullName), "\(vector.fullName)")
    expect(pattern.protocolName == vector.fullName)
    var initiator = try side(.initiator, pattern, vector)
    var responder = try side(.responder, pattern, vector)
    var initiatorRandom = RandomSource(replaying: bytes(hex: vector.init_ephemeral ?? ""))
    var responderRandom = RandomSource(replaying: bytes(hex: vector.resp_ephemeral ?? ""))
    var index = 0
    while !initiator.isComplete {
      let message = vector.messages[index]
      let payload = bytes(hex: message.payload)
      if index % 2 == 0 {
        let made = try initiator.writeMessage(payload: payload.span, random: &initiatorRandom)
        expect(hex(made) == message.ciphertext, "\(vector.fullName) message \(index)")
        expect(try responder.readMessage(made.span) == payload)
      } else {
        let made = try responder.writeMessage(payload: payload.span, random: &responderRandom)
        expect(hex(made) == message.ciphertext, "\(vector.fullName) message \(index)")
        expect(try initiator.readMessage(made.span) == payload)
      }
      index += 1
    }
    let isComplete = responder.isComplete
    expect(isComplete)
    let hashes = [initiator.handshakeHash, responder.handshakeHash].map { hex($0.bytes) }
    expect(hashes[0] == hashes[1])
    if let hash = vector.handshake_hash { expect(hashes[0] == hash) }
    guard let keys = initiator.split(), let otherKeys = responder.split() else {
      Issue.record("\(vector.fullName): no keys")
      return
    }
    let areEqual =
      keys.initiatorToResponder == otherKeys.initiatorToResponder
      && keys.responderToInitiator == otherKeys.responderToInitiator
    expect(areEqual)
    try runTransport(vector, from: index, pattern, keys)
  }

  private func runTransport(
    _ vector: Vector, from start: Int, _ pattern: HandshakePattern, _ keys: borrowing SplitKeys
  ) throws {
    let nothing: [UInt8] = []
    var forward = CipherState(key: keys.initiatorToResponder.clone())
    var backward = CipherState(key: keys.responderToInitiator.clone())
    for index in start..<vector.messages.count {
      let message = vector.messages[index]
      let payload = bytes(hex: message.payload)
      var sealed: [UInt8] = []
      if pattern.isOneWay || index % 2 == 0 {
        try forward.seal(payload.span, associated: nothing.span, appendingTo: &sealed)
      } else {
        try backward.seal(payload.span, associated: nothing.span, appendingTo: &sealed)
      }
      expect(hex(sealed) == message.ciphertext, "\(vector.fullName) message \(index)")
    }
  }

  private func side(
    _ role: HandshakeState.Role, _ pattern: HandshakePattern, _ vector: Vector
  ) throws -> HandshakeState {
    let isInitiator = role == .initiator
    let remote = isInitiator ? vector.init_remote_static : vector.resp_remote_static
    let psks = (isInitiator ? vector.init_psks : vector.resp_psks) ?? []
    let presharedKeys = bytes(hex: psks.joined())
    let remoteStatic = remote.flatMap { Bytes32(bytes(hex: $0)) }
    let prologue = bytes(hex: (isInitiator ? vector.init_prologue : vector.resp_prologue) ?? "")
    guard let text = isInitiator ? vector.init_static : vector.resp_static else {
      return try HandshakeState(
        pattern, role: role, prologue: prologue.span,
        keys: HandshakeState.Keys(
          remoteStatic: remoteStatic, presharedKeys: SecretBytes(copying: presharedKeys.span)))
    }
    let pair = X25519.KeyPair(privateKey: try secretKey(hex: text))
    return try HandshakeState(
      pattern, role: role, prologue: prologue.span,
      keys: HandshakeState.Keys(
        localStatic: pair, remoteStatic: remoteStatic,
        presharedKeys: SecretBytes(copying: presharedKeys.span)))
  }

  /// Reads `Noise_IKpsk2_…`, `Noise_NXpsk0+psk1_…`.
  private static func pattern(_ protocolName: String) -> HandshakePattern? {
    let name = protocolName.split(separator: "_")[1]
    let base = name.firstRange(of: "psk").map { name[..<$0.lowerBound] } ?? name
    let modifiers = name.dropFirst(base.count).split(separator: "+").compactMap {
      Int($0.dropFirst(3))
    }
    guard let fundamental = HandshakePattern.Fundamental(rawValue: String(base)) else { return nil }
    return HandshakePattern(fundamental, presharedKeys: modifiers)
  }
}
