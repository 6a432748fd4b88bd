import Cryptography
package import Primitives
package import Wire

/// What the keys of pairs are made of: drawn by the relay when it starts, known to its rendezvous
/// (docs/protocol/relay.md §6).
package struct PairSecret: Hashable, Sendable {
  /// 32 random bytes.
  package let bytes: Bytes32

  package init(_ bytes: Bytes32) { self.bytes = bytes }

  /// The name of a pair at the relay: for these two and this call alone.
  package func pair(of one: PeerID, _ other: PeerID, _ request: PairRequest) -> Bytes16 {
    let isLesser = PairSide(of: one, beside: other) == .lesser
    var words: [UInt8] = []
    (isLesser ? one : other).write(to: &words)
    (isLesser ? other : one).write(to: &words)
    request.call.write(to: &words)
    request.program.write(to: &words)
    var hash = BLAKE2b(byteCount: 16, key: bytes.span)
    hash.update("EST1pair")
    hash.update(words.span)
    return hash.finalize16()
  }

  /// What an end proves itself by.
  package func key(of pair: Bytes16, _ side: PairSide, until: UInt64) -> Bytes32 {
    var words: [UInt8] = pair.bytes
    words.append(side.rawValue)
    words.append(littleEndian: until)
    var hash = BLAKE2b(byteCount: 32, key: bytes.span)
    hash.update("EST1side")
    hash.update(words.span)
    return hash.finalize32()
  }
}

/// What ends of pairs and the relay say to each other: fields, and a MAC at the end.
package protocol PairPacket {
  /// What the MAC is over.
  static var coveredByteCount: Int { get }
  var mac: Bytes16 { get }
  func write(to bytes: inout [UInt8])
}

extension PairBindPacket: PairPacket {}
extension PairBoundPacket: PairPacket {}

extension PairPacket {
  /// The packet with its MAC.
  package func sealed(by key: Bytes32) -> [UInt8] {
    var bytes: [UInt8] = []
    write(to: &bytes)
    let mac = Self.mac(of: bytes.span.extracting(0..<Self.coveredByteCount), key)
    bytes.replaceSubrange(Self.coveredByteCount..., with: mac.bytes)
    return bytes
  }

  /// Whether the MAC of the packet that stands in `bytes` is right.
  package func isAuthentic(_ bytes: Span<UInt8>, _ key: Bytes32) -> Bool {
    Self.mac(of: bytes.extracting(0..<Self.coveredByteCount), key).isSame(as: mac)
  }

  private static func mac(of bytes: Span<UInt8>, _ key: Bytes32) -> Bytes16 {
    var hash = BLAKE2b(byteCount: 16, key: key.span)
    hash.update(bytes)
    return hash.finalize16()
  }
}

extension Bytes16 {
  /// Takes as long whatever differs.
  func isSame(as other: Bytes16) -> Bool {
    var difference: UInt8 = 0
    for index in 0..<Self.byteCount { difference |= storage[index] ^ other.storage[index] }
    return difference == 0
  }
}

/// Cookies for the addresses of ends: whoever has one receives what goes there
/// (docs/protocol/relay.md §6).
struct PairCookies {
  private var current: Bytes32
  private var previous: Bytes32
  private var changed: Instant?
  private var random: RandomSource

  init(random: RandomSource) {
    var random = random
    current = Bytes32(random: &random)
    previous = Bytes32(random: &random)
    self.random = random
  }

  /// The cookie of an address now.
  mutating func cookie(of address: SocketAddress, now: Instant) -> Bytes16 {
    renew(now: now)
    return Self.cookie(of: address, current)
  }

  /// Whether it was given to the address, four minutes ago at most.
  mutating func isRight(_ cookie: Bytes16, of address: SocketAddress, now: Instant) -> Bool {
    renew(now: now)
    return cookie.isSame(as: Self.cookie(of: address, current))
      || cookie.isSame(as: Self.cookie(of: address, previous))
  }

  private mutating func renew(now: Instant) {
    let last = changed ?? now
    if changed == nil { changed = now }
    guard now >= last + Self.life else { return }
    // After a long rest neither of the two is known to anybody.
    previous = now >= last + Self.life + Self.life ? Bytes32(random: &random) : current
    current = Bytes32(random: &random)
    changed = now
  }

  private static func cookie(of address: SocketAddress, _ secret: Bytes32) -> Bytes16 {
    var words: [UInt8] = []
    address.write(to: &words)
    var hash = BLAKE2b(byteCount: 16, key: secret.span)
    hash.update(words.span)
    return hash.finalize16()
  }

  private static let life = Duration.seconds(120)
}
