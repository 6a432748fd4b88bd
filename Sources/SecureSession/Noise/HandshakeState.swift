package import Cryptography
package import Primitives

/// One side of a handshake (Noise rev. 34 §5.3). Messages are written and read in turn; a message
/// that fails changes nothing.
package struct HandshakeState: ~Copyable {
  package enum Role: Sendable { case initiator, responder }

  /// What a side knows before the first message. Keys that the pattern does not use are ignored.
  package struct Keys: ~Copyable {
    let localStatic: SecretKey
    let localStaticPublic: Bytes32?
    let remoteStatic: Bytes32?
    /// One of 32 bytes for each psk token, one after the other.
    let presharedKeys: SecretBytes

    package init(
      localStatic: borrowing X25519.KeyPair, remoteStatic: Bytes32? = nil,
      presharedKeys: consuming SecretBytes = SecretBytes(zeros: 0)
    ) {
      self.localStatic = localStatic.privateKey.clone()
      localStaticPublic = localStatic.publicKey
      self.remoteStatic = remoteStatic
      self.presharedKeys = presharedKeys
    }

    /// For a side that has no static key in this pattern.
    package init(
      remoteStatic: Bytes32?, presharedKeys: consuming SecretBytes = SecretBytes(zeros: 0)
    ) {
      localStatic = SecretKey()
      localStaticPublic = nil
      self.remoteStatic = remoteStatic
      self.presharedKeys = presharedKeys
    }

    fileprivate borrowing func clone() -> Keys {
      Keys(
        localStatic: localStatic.clone(), localStaticPublic: localStaticPublic,
        remoteStatic: remoteStatic, presharedKeys: SecretBytes(copying: presharedKeys.span))
    }

    private init(
      localStatic: consuming SecretKey, localStaticPublic: Bytes32?, remoteStatic: Bytes32?,
      presharedKeys: consuming SecretBytes
    ) {
      self.localStatic = localStatic
      self.localStaticPublic = localStaticPublic
      self.remoteStatic = remoteStatic
      self.presharedKeys = presharedKeys
    }
  }

  package let pattern: HandshakePattern
  package let role: Role
  private var progress: Progress
  private let keys: Keys

  /// The part that messages change.
  private struct Progress: ~Copyable {
    var symmetric: SymmetricState
    var ephemeral = SecretKey()
    var ephemeralPublic: Bytes32?
    var remoteEphemeral: Bytes32?
    var remoteStatic: Bytes32?
    var messageIndex = 0
    var presharedKeyIndex = 0

    borrowing func clone() -> Progress {
      Progress(
        symmetric: symmetric.clone(), ephemeral: ephemeral.clone(),
        ephemeralPublic: ephemeralPublic, remoteEphemeral: remoteEphemeral,
        remoteStatic: remoteStatic, messageIndex: messageIndex,
        presharedKeyIndex: presharedKeyIndex)
    }
  }

  package init(
    _ pattern: HandshakePattern, role: Role, prologue: Span<UInt8>, keys: consuming Keys
  ) throws(HandshakeError) {
    guard keys.presharedKeys.count == 32 * pattern.presharedKeyCount else { throw .missingKey }
    let localPublic = keys.localStaticPublic
    let (initiatorStatic, responderStatic) =
      role == .initiator ? (localPublic, keys.remoteStatic) : (keys.remoteStatic, localPublic)
    var symmetric = SymmetricState(protocolName: pattern.protocolName)
    symmetric.mixHash(prologue)
    if pattern.initiatorPremessage.contains(.s) {
      guard let initiatorStatic else { throw .missingKey }
      symmetric.mixHash(initiatorStatic.span)
    }
    if pattern.responderPremessage.contains(.s) {
      guard let responderStatic else { throw .missingKey }
      symmetric.mixHash(responderStatic.span)
    }
    self.pattern = pattern
    self.role = role
    progress = Progress(symmetric: symmetric, remoteStatic: keys.remoteStatic)
    self.keys = keys
  }

  /// A copy for a trial run, whose outcome the caller wants to judge before it counts. Nothing that
  /// writes messages is ever cloned: two copies would use one nonce twice.
  borrowing func clone() -> HandshakeState {
    HandshakeState(pattern: pattern, role: role, progress: progress.clone(), keys: keys.clone())
  }

  private init(
    pattern: HandshakePattern, role: Role, progress: consuming Progress, keys: consuming Keys
  ) {
    self.pattern = pattern
    self.role = role
    self.progress = progress
    self.keys = keys
  }

  /// The next message, with `payload` inside; the ephemeral key is drawn from `random`.
  package mutating func writeMessage(
    payload: Span<UInt8>, random: inout RandomSource
  ) throws(HandshakeError) -> [UInt8] {
    let tokens = try tokensOfNextMessage(writing: true)
    var trial = progress.clone()
    var message: [UInt8] = []
    message.reserveCapacity(32 + 48 + payload.count + 16)
    for token in tokens {
      switch token {
      case .e:
        trial.ephemeral = SecretKey(random: &random)
        let key = X25519.publicKey(of: trial.ephemeral)
        trial.ephemeralPublic = key
        message.append(contentsOf: key.bytes)
        mixEphemeral(key, into: &trial)
      case .s:
        guard let key = keys.localStaticPublic else { throw .missingKey }
        try trial.symmetric.sealAndHash(key.span, appendingTo: &message)
      default: try mix(token, into: &trial)
      }
    }
    try trial.symmetric.sealAndHash(payload, appendingTo: &message)
    trial.messageIndex += 1
    progress = trial
    return message
  }

  /// The payload of the other side's message. After an error everything is as before.
  package mutating func readMessage(_ message: Span<UInt8>) throws(HandshakeError) -> [UInt8] {
    let tokens = try tokensOfNextMessage(writing: false)
    var trial = progress.clone()
    var reader = ByteReader(message)
    for token in tokens {
      switch token {
      case .e:
        let range = try Self.readRange(Bytes32.byteCount, from: &reader)
        guard let key = Bytes32(copying: message.extracting(range)) else { throw .malformed }
        trial.remoteEphemeral = key
        mixEphemeral(key, into: &trial)
      case .s:
        let count = Bytes32.byteCount + trial.symmetric.tagByteCount
        let range = try Self.readRange(count, from: &reader)
        trial.remoteStatic = Bytes32(try trial.symmetric.openAndHash(message.extracting(range)))
      default: try mix(token, into: &trial)
      }
    }
    let payload = try trial.symmetric.openAndHash(
      message.extracting(reader.offset..<message.count))
    trial.messageIndex += 1
    progress = trial
    return payload
  }

  package var isComplete: Bool { progress.messageIndex == pattern.messages.count }

  /// The other side's static key: known beforehand, or from the messages read so far.
  package var remoteStatic: Bytes32? { progress.remoteStatic }

  package var handshakeHash: Bytes32 { progress.symmetric.hash }

  /// The keys of the session; `nil` before the last message.
  package consuming func split() -> SplitKeys? {
    guard isComplete else { return nil }
    return progress.symmetric.clone().split()
  }
}

// MARK: - Tokens

extension HandshakeState {
  private func tokensOfNextMessage(
    writing: Bool
  ) throws(HandshakeError) -> [HandshakePattern.Token] {
    guard !isComplete else { throw .outOfTurn }
    let isInitiatorsTurn = progress.messageIndex % 2 == 0
    guard (isInitiatorsTurn == (role == .initiator)) == writing else { throw .outOfTurn }
    return pattern.messages[progress.messageIndex]
  }

  /// With a psk in the pattern, e is mixed into the key as well (Noise rev. 34 §9.2).
  private func mixEphemeral(_ key: Bytes32, into trial: inout Progress) {
    trial.symmetric.mixHash(key.span)
    if pattern.presharedKeyCount > 0 { trial.symmetric.mixKey(key.span) }
  }

  private func mix(
    _ token: HandshakePattern.Token, into trial: inout Progress
  ) throws(HandshakeError) {
    let isInitiator = role == .initiator
    switch token {
    case .e, .s: return
    case .ee: try agree(ephemeral: true, with: trial.remoteEphemeral, into: &trial)
    case .ss: try agree(ephemeral: false, with: trial.remoteStatic, into: &trial)
    case .es where isInitiator, .se where !isInitiator:
      try agree(ephemeral: true, with: trial.remoteStatic, into: &trial)
    case .es, .se: try agree(ephemeral: false, with: trial.remoteEphemeral, into: &trial)
    case .psk:
      let start = 32 * trial.presharedKeyIndex
      trial.presharedKeyIndex += 1
      trial.symmetric.mixKeyAndHash(keys.presharedKeys.span.extracting(start..<(start + 32)))
    }
  }

  /// DH of our ephemeral or static key with the other side's; an all-zero result is a failure.
  private func agree(
    ephemeral: Bool, with remote: Bytes32?, into trial: inout Progress
  ) throws(HandshakeError) {
    guard let remote else { throw .missingKey }
    guard ephemeral ? trial.ephemeralPublic != nil : keys.localStaticPublic != nil else {
      throw .missingKey
    }
    do throws(CryptographyError) {
      let secret =
        ephemeral
        ? try X25519.agree(trial.ephemeral, with: remote)
        : try X25519.agree(keys.localStatic, with: remote)
      trial.symmetric.mixKey(secret.span)
    } catch {
      throw .notAuthentic
    }
  }

  private static func readRange(
    _ count: Int, from reader: inout ByteReader
  ) throws(HandshakeError) -> Range<Int> {
    do throws(WireError) {
      return try reader.readRange(count, "Noise message")
    } catch {
      throw .malformed
    }
  }
}
