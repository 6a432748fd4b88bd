import Cryptography
import Primitives
import Wire

/// The MACs and cookies of INITs, and how many key agreements there may be
/// (docs/protocol/session.md §3, §9).
///
/// Keeps nothing of an INIT; under load the cookie proves the address instead.
struct InitiationGate {
  /// What the MACs of an INIT say.
  struct Finding: Equatable {
    /// The one of our static keys that MAC1 was made for.
    var keyIndex: Int
    /// MAC2 proves the source's address.
    var isProven: Bool
  }

  /// For each static key of ours that is valid, newest first.
  private let macKeys: [Bytes32]
  private let cookieKeys: [Bytes32]
  private var work: Rate
  private let burst: UInt64
  /// The key agreements that wait, as a bucket that empties at the pace of the work.
  private var workDue: UInt64 = 0
  private var loadEnd: UInt64 = 0
  private var secret: Bytes32
  private var formerSecret: Bytes32
  private var secretSince: UInt64?
  /// Those whose key agreement waits.
  var waiting: HandshakeQueue

  private static let secretLife: UInt64 = 120_000_000_000
  private static let loadHold: UInt64 = 1_000_000_000

  init(
    staticKeys: [Bytes32], workPerSecond: UInt64, waitingLimit: Int, random: inout RandomSource
  ) {
    macKeys = staticKeys.map { Self.derive("EST1mac1", $0) }
    cookieKeys = staticKeys.map { Self.derive("EST1cook", $0) }
    burst = UInt64(max(8, waitingLimit))
    work = Rate(perSecond: workPerSecond, burst: burst)
    secret = Bytes32(random: &random)
    formerSecret = secret
    waiting = HandshakeQueue(limit: Int(burst))
  }

  func isUnderLoad(now: Instant) -> Bool { now.nanoseconds < loadEnd }

  /// Looks at the MACs of an INIT; `nil` when MAC1 is wrong.
  mutating func inspect(
    _ packet: InitPacket, _ bytes: Span<UInt8>, from source: SocketAddress, now: Instant,
    random: inout RandomSource
  ) -> Finding? {
    guard let keyIndex = keyIndex(packet, bytes) else { return nil }
    renewSecret(now: now, random: &random)
    return Finding(keyIndex: keyIndex, isProven: hasCookie(packet, bytes, source))
  }

  /// From now on INITs need cookies for a second.
  mutating func noteLoad(now: Instant) { loadEnd = now.nanoseconds &+ Self.loadHold }

  /// Another pace of key agreements from now on.
  mutating func setWorkPerSecond(_ count: UInt64) { work = Rate(perSecond: count, burst: burst) }

  /// How many thousandths of the handshakes that may wait do: by the pace that is allowed, or where
  /// the host has less, by those that do wait.
  func workFill(now: Instant) -> UInt64 {
    let due = workDue <= now.nanoseconds ? 0 : workDue &- now.nanoseconds
    return max(due * 1000 / max(1, work.tolerance), waiting.fill)
  }

  /// Counts one key agreement about to be done; `false` when too many wait.
  mutating func takeWork(now: Instant) -> Bool {
    let base = max(workDue, now.nanoseconds)
    let ahead = base &- now.nanoseconds
    guard ahead <= work.tolerance else { return false }
    workDue = base &+ work.interval
    // An eighth of the queue: from here on addresses are to be proven.
    if ahead >= work.tolerance / 8 { noteLoad(now: now) }
    return true
  }

  /// COOKIE for an INIT (docs/protocol/session.md §3).
  mutating func cookieAnswer(
    to packet: InitPacket, keyIndex: Int, from source: SocketAddress, now: Instant,
    random: inout RandomSource
  ) -> [UInt8]? {
    renewSecret(now: now, random: &random)
    let nonce = random.bytes(CookiePacket.nonceByteCount)
    guard let key = SecretKey(copying: cookieKeys[keyIndex].span) else { return nil }
    do throws(CryptographyError) {
      let sealed = try XChaChaPoly.seal(
        cookie(for: source, secret).span, associated: packet.mac1.span, key: key,
        nonce: nonce.span)
      var answer: [UInt8] = []
      CookiePacket(initiator: packet.connectionID, nonce: nonce, sealedCookie: sealed)
        .write(to: &answer, purpose: packet.purpose)
      return answer
    } catch {
      return nil
    }
  }

  // MARK: - MACs

  private func keyIndex(_ packet: InitPacket, _ bytes: Span<UInt8>) -> Int? {
    for (index, key) in macKeys.enumerated() {
      let mac = Self.mac(key.span, bytes.extracting(InitPacket.mac1Coverage))
      if Secret.areEqual(mac.span, packet.mac1.span) { return index }
    }
    return nil
  }

  private func hasCookie(
    _ packet: InitPacket, _ bytes: Span<UInt8>, _ source: SocketAddress
  ) -> Bool {
    guard packet.mac2 != .zero else { return false }
    for secret in [secret, formerSecret] {
      let mac = Self.mac(
        cookie(for: source, secret).span, bytes.extracting(InitPacket.mac2Coverage))
      if Secret.areEqual(mac.span, packet.mac2.span) { return true }
    }
    return false
  }

  private func cookie(for source: SocketAddress, _ secret: Bytes32) -> Bytes16 {
    var address: [UInt8] = []
    source.write(to: &address)
    return Self.mac(secret.span, address.span)
  }

  /// The secret before stays valid for as long again.
  private mutating func renewSecret(now: Instant, random: inout RandomSource) {
    guard let since = secretSince else {
      secretSince = now.nanoseconds
      return
    }
    let age = now.nanoseconds &- since
    guard age >= Self.secretLife else { return }
    formerSecret = age < 2 * Self.secretLife ? secret : Bytes32(random: &random)
    secret = Bytes32(random: &random)
    secretSince = now.nanoseconds
  }

  private static func mac(_ key: Span<UInt8>, _ message: Span<UInt8>) -> Bytes16 {
    var hash = BLAKE2b(byteCount: 16, key: key)
    hash.update(message)
    return hash.finalize16()
  }

  static func derive(_ label: StaticString, _ staticKey: Bytes32) -> Bytes32 {
    var hash = BLAKE2b(byteCount: 32)
    hash.update(Array(label.description.utf8).span)
    hash.update(staticKey.span)
    return hash.finalize32()
  }
}
