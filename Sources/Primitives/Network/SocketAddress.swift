/// An IP address and a UDP port; no allocation, comparable by value.
public struct SocketAddress: Hashable, Sendable, BitwiseCopyable {
  /// Which internet protocol the address belongs to.
  public enum Family: UInt8, Sendable, BitwiseCopyable {
    /// IPv4.
    case v4 = 4
    /// IPv6.
    case v6 = 6
  }

  /// IPv4 or IPv6.
  public let family: Family
  /// The UDP port in host order; 0 lets the system choose when binding.
  public var port: UInt16
  /// Address bytes 0–7, most significant first (IPv4: its four bytes in the upper half).
  package let high: UInt64
  /// Address bytes 8–15; zero for IPv4.
  package let low: UInt64

  package init(family: Family, high: UInt64, low: UInt64, port: UInt16) {
    self.family = family
    self.high = high
    self.low = low
    self.port = port
  }

  /// An IPv4 address from its four bytes.
  public init(v4 a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8, port: UInt16) {
    let word = UInt64(a) << 24 | UInt64(b) << 16 | UInt64(c) << 8 | UInt64(d)
    self.init(family: .v4, high: word << 32, low: 0, port: port)
  }

  /// The IPv4 address that an IPv4-mapped IPv6 address (`::ffff:a.b.c.d`, RFC 4291 §2.5.5.2) stands
  /// for; any other address as it is. Two forms of one host would count as two.
  package var withoutMapping: SocketAddress {
    guard family == .v6, high == 0, low >> 32 == 0xFFFF else { return self }
    return SocketAddress(family: .v4, high: low << 32, low: 0, port: port)
  }

  /// Byte `index` of the address in network order; 0..<4 for IPv4, 0..<16 for IPv6.
  package func byte(_ index: Int) -> UInt8 {
    let word = index < 8 ? high : low
    return UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * (index & 7)))
  }

  /// Whether two addresses name the same host, whatever the port.
  package func isSameHost(as other: SocketAddress) -> Bool {
    family == other.family && high == other.high && low == other.low
  }

  /// The part of the address that limits count together: all of an IPv4 address, the /64 of an
  /// IPv6 address (docs/protocol/session.md §9).
  package var limitPrefix: UInt64 { family == .v4 ? high | 1 : high }

  /// What IP and UDP put before a datagram to this address, in bytes, without options.
  package var headerByteCount: Int { family == .v4 ? 28 : 48 }

  package var isLoopback: Bool {
    family == .v4 ? high >> 56 == 127 : high == 0 && low == 1
  }

  package var isUnspecified: Bool { high == 0 && low == 0 }

  /// Multicast, broadcast, unspecified or port 0: nothing is ever sent there.
  package var isUnsendable: Bool {
    if port == 0 || isUnspecified { return true }
    if family == .v4 { return high >> 60 == 0xE || high >> 32 == 0xFFFF_FFFF }
    return high >> 56 == 0xFF
  }
}

// MARK: - The wire form: family 1, address 16, port 2 (docs/protocol/README.md §2)

extension SocketAddress {
  package static let wireByteCount = 19

  package init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    guard let family = Family(rawValue: try reader.readUInt8("address family")) else {
      throw .invalid("address family", at: start)
    }
    let high = try reader.readUInt64("address").byteSwapped
    let low = try reader.readUInt64("address").byteSwapped
    guard family == .v6 || (low == 0 && high & 0xFFFF_FFFF == 0) else {
      throw .invalid("IPv4 address padding", at: start)
    }
    self.init(family: family, high: high, low: low, port: try reader.readUInt16("port"))
    // One form for one host (docs/protocol/README.md §2).
    guard withoutMapping == self else { throw .invalid("IPv4-mapped address", at: start) }
  }

  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>) {
    packet.append(family.rawValue)
    packet.append(littleEndian: high.byteSwapped)
    packet.append(littleEndian: low.byteSwapped)
    packet.append(littleEndian: port)
  }

  package func write(to bytes: inout [UInt8]) {
    bytes.append(family.rawValue)
    bytes.append(littleEndian: high.byteSwapped)
    bytes.append(littleEndian: low.byteSwapped)
    bytes.append(littleEndian: port)
  }
}
