package import Cryptography
package import Primitives
package import Wire

/// Our own identity: the Ed25519 key that is our address, and the device static keys that it
/// vouches for (docs/protocol/README.md §3).
///
/// Wall time is an argument everywhere, in seconds since 1970 UTC.
package struct LocalIdentity: ~Copyable, Sendable {
  /// How long a device static key is used, and then kept for as long again.
  package enum Kind: UInt8, Sendable {
    case peer = 1
    case rendezvous = 2

    package var rotationPeriod: UInt64 {
      switch self {
      case .peer: 7 * 86_400
      case .rendezvous: 30 * 86_400
      }
    }
  }

  package let kind: Kind
  private let signingKey: Ed25519.PrivateKey
  package private(set) var staticKey: X25519.KeyPair
  /// The key before, which others may still have on a card of ours.
  package private(set) var previousStaticKey: X25519.KeyPair?
  /// When the present static key was made.
  private var createdAt: UInt64
  private var lastSerial: UInt64

  /// A new identity.
  package init(kind: Kind, unixSeconds: UInt64, random: inout RandomSource) {
    self.kind = kind
    signingKey = Ed25519.PrivateKey(seed: SecretKey(random: &random))
    staticKey = X25519.KeyPair(random: &random)
    createdAt = unixSeconds
    lastSerial = 0
  }

  package var id: PeerID { PeerID(signingKey.publicKey) }

  /// The same identity once more, for another machine of the same program.
  package borrowing func copy() -> LocalIdentity {
    do throws(IdentityFileFault) {
      return try LocalIdentity(stored: stored().span)
    } catch {
      preconditionFailure("what was just written can be read")
    }
  }

  /// Signs what a PASETO has signed, for a rendezvous' grants (docs/protocol/relay.md §2). It
  /// begins with a count of pieces in 8 bytes, so it is never what a card has signed.
  package borrowing func signToken(_ message: Span<UInt8>) -> [UInt8] { signingKey.sign(message) }

  /// When `rotateIfDue` next has something to do.
  package var nextRotation: UInt64 { createdAt &+ kind.rotationPeriod }

  /// Replaces the device static key when its time has come; true when something has changed, and
  /// the identity must be stored and a new card made.
  package mutating func rotateIfDue(unixSeconds: UInt64, random: inout RandomSource) -> Bool {
    let period = kind.rotationPeriod
    // A key from the future was made under a wrong clock and would never rotate.
    let isFromFuture = createdAt > unixSeconds &+ period
    guard unixSeconds >= nextRotation || isFromFuture else { return false }
    if kind == .peer {
      stepKeys(until: unixSeconds, isFromFuture: isFromFuture)
      return true
    }
    var fresh = X25519.KeyPair(random: &random)
    swap(&staticKey, &fresh)
    let isStillWanted = unixSeconds < createdAt &+ 2 &* period
    previousStaticKey = isStillWanted ? fresh.clone() : nil
    createdAt = unixSeconds
    return true
  }

  /// Replaces the device static key by a random one: for an owner whose key somebody may have
  /// copied. The one before opens nothing any more.
  package mutating func replaceStaticKey(unixSeconds: UInt64, random: inout RandomSource) {
    let age = max(unixSeconds, createdAt) - min(unixSeconds, createdAt)
    // A whole period later it would pass for the step of a week (`ContactCard.Content.supersedes`).
    createdAt = age == kind.rotationPeriod ? unixSeconds - 1 : unixSeconds
    staticKey = X25519.KeyPair(random: &random)
    previousStaticKey = nil
  }

  /// The next card gets a serial above `serial`; `false` when it would anyway, or when nobody can
  /// have made one so high by the clock.
  package mutating func raiseSerial(above serial: UInt64) -> Bool {
    guard serial > lastSerial, serial < Self.highestSerial else { return false }
    lastSerial = serial
    return true
  }

  /// Serials are seconds since 1970, or one above the last: this one is 34 000 years away.
  private static let highestSerial: UInt64 = 1 << 40

  /// The device static key that comes after the present one: every program of a peer's identity
  /// makes the same one, each by itself (decision 0039).
  package borrowing func nextStaticKey() -> X25519.KeyPair {
    X25519.KeyPair(privateKey: staticKey.privateKey.derive("EST1next", 1))
  }

  private mutating func stepKeys(until unixSeconds: UInt64, isFromFuture: Bool) {
    var steps = 0
    repeat {
      var next = nextStaticKey()
      swap(&staticKey, &next)
      previousStaticKey = consume next
      createdAt = createdAt &+ kind.rotationPeriod
      steps += 1
    } while unixSeconds >= nextRotation && steps < Self.mostSteps && !isFromFuture
    if isFromFuture || unixSeconds >= nextRotation { createdAt = unixSeconds }
  }

  /// Ten years of weeks: a clock further ahead than that is wrong.
  private static let mostSteps = 520

  /// A card for the present static key, with a higher serial than every card before.
  ///
  /// - Throws: When `home` has a host longer than 64 bytes or lacks one of its parts.
  package mutating func makeCard(
    home: ContactCard.Home? = nil, name: PeerName? = nil, unixSeconds: UInt64
  ) throws(WireError) -> ContactCard {
    lastSerial = max(lastSerial &+ 1, unixSeconds)
    let notBefore = min(createdAt, unixSeconds)
    let content = ContactCard.Content(
      id: id, staticKey: staticKey.publicKey, notBefore: notBefore,
      notAfter: notBefore &+ min(2 * kind.rotationPeriod, ContactCard.maximumLife),
      serial: lastSerial, home: home, name: name)
    return try ContactCard.sign(content, with: signingKey)
  }
}

// MARK: - The stored form

/// Why stored bytes are not an identity of ours.
package enum IdentityFileFault: Error, Equatable, Sendable {
  /// Some other file: it does not begin as ours do.
  case foreign
  /// Made by a later version of Earshot.
  case newerVersion
  case truncated
  /// The checksum does not fit: the file has been damaged.
  case damaged
}

extension LocalIdentity {
  private static let magic = Array("EARSHOT-IDENTITY-".utf8)
  private static let version = UInt8(ascii: "1")
  private static let checksumByteCount = 16
  private static let storedByteCount = 18 + 1 + 32 + 8 + 32 + 1 + 32 + 8 + checksumByteCount

  /// "EARSHOT-IDENTITY-1" 18, kind 1, Ed25519 seed 32, time made 8, static key 32, 1 if there is a
  /// previous key 1, previous key 32, last serial 8, BLAKE2b-128 of all before 16.
  package borrowing func stored() -> SecretBytes {
    var blob = SecretBytes(zeros: Self.storedByteCount)
    let head = Self.magic + [Self.version, kind.rawValue]
    blob.replace(from: 0, with: head.span)
    blob.replace(from: 19, with: signingKey.seed)
    blob.replace(from: 51, with: Self.encode(createdAt).span)
    blob.replace(from: 59, with: staticKey.privateKey.span)
    switch previousStaticKey {
    case .some(let previous):
      blob.replace(from: 91, with: [1].span)
      blob.replace(from: 92, with: previous.privateKey.span)
    case .none: break
    }
    blob.replace(from: 124, with: Self.encode(lastSerial).span)
    blob.replace(from: 132, with: Self.checksum(of: blob.span).span)
    return blob
  }

  /// Reads what `stored` gives.
  package init(stored bytes: Span<UInt8>) throws(IdentityFileFault) {
    try Self.check(bytes)
    guard let kind = Kind(rawValue: bytes[18]),
      let seed = SecretKey(copying: bytes.extracting(19..<51)),
      let current = SecretKey(copying: bytes.extracting(59..<91))
    else { throw .damaged }
    self.kind = kind
    signingKey = Ed25519.PrivateKey(seed: seed)
    createdAt = Self.decode(bytes.extracting(51..<59))
    staticKey = X25519.KeyPair(privateKey: current)
    previousStaticKey = Self.previousKey(bytes)
    lastSerial = Self.decode(bytes.extracting(124..<132))
  }

  private static func previousKey(_ bytes: Span<UInt8>) -> X25519.KeyPair? {
    guard bytes[91] == 1, let key = SecretKey(copying: bytes.extracting(92..<124)) else {
      return nil
    }
    return X25519.KeyPair(privateKey: key)
  }

  private static func check(_ bytes: Span<UInt8>) throws(IdentityFileFault) {
    for index in 0..<min(bytes.count, magic.count) where bytes[index] != magic[index] {
      throw .foreign
    }
    guard bytes.count > magic.count else { throw bytes.count == 0 ? .foreign : .truncated }
    guard bytes[magic.count] == version else { throw .newerVersion }
    guard bytes.count >= storedByteCount else { throw .truncated }
    guard bytes.count == storedByteCount,
      Secret.areEqual(
        checksum(of: bytes).span, bytes.extracting((storedByteCount - 16)..<storedByteCount)),
      bytes[91] <= 1
    else { throw .damaged }
  }

  private static func checksum(of bytes: Span<UInt8>) -> Bytes16 {
    var hash = BLAKE2b(byteCount: checksumByteCount)
    hash.update(bytes.extracting(0..<(storedByteCount - checksumByteCount)))
    return hash.finalize16()
  }

  private static func encode(_ value: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: value)
    return bytes
  }

  private static func decode(_ bytes: Span<UInt8>) -> UInt64 {
    var value: UInt64 = 0
    for index in 0..<8 { value |= UInt64(bytes[index]) << UInt64(8 * index) }
    return value
  }
}
