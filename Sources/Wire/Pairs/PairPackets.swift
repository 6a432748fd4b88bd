package import Primitives

/// One of the two ends of a pair: 0 has the lesser ID (docs/protocol/relay.md §6).
package enum PairSide: UInt8, Sendable, BitwiseCopyable {
  case lesser = 0
  case greater = 1

  package init(of one: PeerID, beside other: PeerID) {
    self = Bytes32(one).bytes.lexicographicallyPrecedes(Bytes32(other).bytes) ? .lesser : .greater
  }

  package var other: PairSide { self == .lesser ? .greater : .lesser }
}

/// Connection IDs of the other end, at most four; the rest are `.none`.
package struct PairIDs: Hashable, Sendable, BitwiseCopyable {
  package static let count = 4
  package var one = ConnectionID.none
  package var two = ConnectionID.none
  package var three = ConnectionID.none
  package var four = ConnectionID.none

  package init() {}

  package func contains(_ id: ConnectionID) -> Bool {
    id != .none && (id == one || id == two || id == three || id == four)
  }
}

/// PAIR_BIND: an end of a pair says where it is (docs/protocol/relay.md §6). Always 88 bytes.
package struct PairBindPacket: Hashable, Sendable {
  package static let byteCount = 88
  package static let firstByte: UInt8 = 0xC8
  /// What the MAC is over.
  package static let coveredByteCount = 72

  package var pair: Bytes16
  /// Milliseconds since 1970 UTC.
  package var until: UInt64
  package var side: PairSide
  /// Whether the binding ends.
  package var isEnd: Bool
  package var number: UInt64
  package var cookie: Bytes16
  package var ids: PairIDs
  package var mac = Bytes16.zero

  package init(
    pair: Bytes16, until: UInt64, side: PairSide, isEnd: Bool, number: UInt64, cookie: Bytes16,
    ids: PairIDs
  ) {
    self.pair = pair
    self.until = until
    self.side = side
    self.isEnd = isEnd
    self.number = number
    self.cookie = cookie
    self.ids = ids
  }

  /// Whether a datagram is one by first byte and length.
  package static func isOne(_ bytes: Span<UInt8>) -> Bool {
    bytes.count == byteCount && bytes[0] == firstByte
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    guard bytes.count == Self.byteCount else { throw .invalid("packet length", at: 0) }
    var reader = ByteReader(bytes)
    try reader.readPairPreamble(Self.firstByte)
    try reader.readZeros(2, "zero")
    pair = try Bytes16(parsing: &reader, "pair")
    until = try reader.readUInt64("end of the ticket")
    guard let side = PairSide(rawValue: try reader.readUInt8("side")) else {
      throw .invalid("side", at: 28)
    }
    self.side = side
    let kind = try reader.readUInt8("kind")
    guard kind <= 1 else { throw .invalid("kind", at: 29) }
    isEnd = kind == 0
    try reader.readZeros(2, "zero")
    number = try reader.readUInt64("number")
    cookie = try Bytes16(parsing: &reader, "cookie")
    ids = PairIDs()
    ids.one = try ConnectionID(parsing: &reader, "connection ID")
    ids.two = try ConnectionID(parsing: &reader, "connection ID")
    ids.three = try ConnectionID(parsing: &reader, "connection ID")
    ids.four = try ConnectionID(parsing: &reader, "connection ID")
    mac = try Bytes16(parsing: &reader, "MAC")
  }

  package func write(to bytes: inout [UInt8]) {
    bytes += [Self.firstByte, SessionWire.version, 0, 0]
    bytes.append(pair)
    bytes.append(littleEndian: until)
    bytes += [side.rawValue, isEnd ? 0 : 1, 0, 0]
    bytes.append(littleEndian: number)
    bytes.append(cookie)
    for id in [ids.one, ids.two, ids.three, ids.four] { id.write(to: &bytes) }
    bytes.append(mac)
  }
}

/// PAIR_BOUND: the relay's answer (docs/protocol/relay.md §6). Always 64 bytes.
package struct PairBoundPacket: Hashable, Sendable {
  package static let byteCount = 64
  package static let firstByte: UInt8 = 0xC9
  /// What the MAC is over.
  package static let coveredByteCount = 48

  package enum Status: UInt8, Sendable, BitwiseCopyable {
    case bound = 0
    /// The cookie is not that of the address.
    case cookie = 1
    case full = 2
    case ended = 3
  }

  package var status: Status
  package var isOtherBound: Bool
  package var pair: Bytes16
  package var number: UInt64
  package var cookie: Bytes16
  package var mac = Bytes16.zero

  package init(
    _ status: Status, isOtherBound: Bool, pair: Bytes16, number: UInt64, cookie: Bytes16 = .zero
  ) {
    self.status = status
    self.isOtherBound = isOtherBound
    self.pair = pair
    self.number = number
    self.cookie = cookie
  }

  /// Whether a datagram is one by first byte and length.
  package static func isOne(_ bytes: Span<UInt8>) -> Bool {
    bytes.count == byteCount && bytes[0] == firstByte
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    guard bytes.count == Self.byteCount else { throw .invalid("packet length", at: 0) }
    var reader = ByteReader(bytes)
    try reader.readPairPreamble(Self.firstByte)
    guard let status = Status(rawValue: try reader.readUInt8("status")) else {
      throw .invalid("status", at: 2)
    }
    self.status = status
    let flag = try reader.readUInt8("other end")
    guard flag <= 1 else { throw .invalid("other end", at: 3) }
    isOtherBound = flag == 1
    pair = try Bytes16(parsing: &reader, "pair")
    number = try reader.readUInt64("number")
    cookie = try Bytes16(parsing: &reader, "cookie")
    guard status == .cookie || cookie == .zero else { throw .invalid("cookie", at: 28) }
    try reader.readZeros(4, "zero")
    mac = try Bytes16(parsing: &reader, "MAC")
  }

  package func write(to bytes: inout [UInt8]) {
    bytes += [Self.firstByte, SessionWire.version, status.rawValue, isOtherBound ? 1 : 0]
    bytes.append(pair)
    bytes.append(littleEndian: number)
    bytes.append(cookie)
    bytes.append(zeros: 4)
    bytes.append(mac)
  }
}

extension ByteReader {
  @_lifetime(self: copy self)
  fileprivate mutating func readPairPreamble(_ firstByte: UInt8) throws(WireError) {
    guard try readUInt8("type") == firstByte else { throw .invalid("type", at: 0) }
    guard try readUInt8("version") == SessionWire.version else { throw .invalid("version", at: 1) }
  }
}
