/// 16 bytes that are compared and copied as one value: a MAC, a token, a call ID.
package struct Bytes16: Hashable, Sendable, BitwiseCopyable {
  package static let byteCount = 16
  package static let zero = Bytes16(InlineArray(repeating: 0))

  package var storage: InlineArray<16, UInt8>

  package init(_ storage: InlineArray<16, UInt8>) { self.storage = storage }

  /// `nil` unless there are exactly 16 bytes.
  package init?(_ bytes: [UInt8]) { self.init(copying: bytes.span) }

  /// `nil` unless there are exactly 16 bytes.
  package init?(copying bytes: Span<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    storage = InlineArray { index in bytes[index] }
  }

  package init(parsing reader: inout ByteReader, _ field: StaticName) throws(WireError) {
    let low = try reader.readUInt64(field)
    let high = try reader.readUInt64(field)
    storage = InlineArray { index in
      UInt8(truncatingIfNeeded: (index < 8 ? low : high) >> UInt64(8 * (index & 7)))
    }
  }

  package init(random: inout RandomSource) {
    let low = random.next()
    let high = random.next()
    storage = InlineArray { index in
      UInt8(truncatingIfNeeded: (index < 8 ? low : high) >> UInt64(8 * (index & 7)))
    }
  }

  package var span: Span<UInt8> {
    @_lifetime(borrow self)
    get { storage.span }
  }

  package var bytes: [UInt8] { (0..<Self.byteCount).map { storage[$0] } }

  /// Not for secrets: takes as long as the common beginning is.
  package static func == (left: Bytes16, right: Bytes16) -> Bool {
    for index in 0..<byteCount where left.storage[index] != right.storage[index] { return false }
    return true
  }

  package func hash(into hasher: inout Hasher) {
    for index in 0..<Self.byteCount { hasher.combine(storage[index]) }
  }
}

/// 32 bytes that are compared and copied as one value: a digest, an X25519 public key.
package struct Bytes32: Hashable, Sendable, BitwiseCopyable {
  package static let byteCount = 32
  package static let zero = Bytes32(InlineArray(repeating: 0))

  package var storage: InlineArray<32, UInt8>

  package init(_ storage: InlineArray<32, UInt8>) { self.storage = storage }

  package init(_ id: PeerID) {
    storage = InlineArray { index in
      let word =
        switch index >> 3 {
        case 0: id.word0
        case 1: id.word1
        case 2: id.word2
        default: id.word3
        }
      return UInt8(truncatingIfNeeded: word >> UInt64(8 * (index & 7)))
    }
  }

  /// `nil` unless there are exactly 32 bytes.
  package init?(_ bytes: [UInt8]) { self.init(copying: bytes.span) }

  /// `nil` unless there are exactly 32 bytes.
  package init?(copying bytes: Span<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    storage = InlineArray { index in bytes[index] }
  }

  package init(parsing reader: inout ByteReader, _ field: StaticName) throws(WireError) {
    self.init(try PeerID(parsing: &reader, field))
  }

  package init(random: inout RandomSource) {
    let words = (random.next(), random.next(), random.next(), random.next())
    self.init(PeerID(word0: words.0, word1: words.1, word2: words.2, word3: words.3))
  }

  package var span: Span<UInt8> {
    @_lifetime(borrow self)
    get { storage.span }
  }

  package var bytes: [UInt8] { (0..<Self.byteCount).map { storage[$0] } }

  /// Not for secrets: takes as long as the common beginning is.
  package static func == (left: Bytes32, right: Bytes32) -> Bool {
    for index in 0..<byteCount where left.storage[index] != right.storage[index] { return false }
    return true
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(PeerID(self))
  }
}

extension PeerID {
  /// The same 32 bytes as an ID.
  package init(_ bytes: Bytes32) {
    func word(_ start: Int) -> UInt64 {
      (0..<8).reduce(0) { $0 | UInt64(bytes.storage[start + $1]) << UInt64(8 * $1) }
    }
    self.init(word0: word(0), word1: word(8), word2: word(16), word3: word(24))
  }
}
