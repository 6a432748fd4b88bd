import Primitives
import Testing
import Wire

@Suite struct ContactCardTests {
  private static let signature = Array(repeating: UInt8(0x55), count: 64)

  /// A card with every field as long as it may be.
  static func largest() -> ContactCard {
    do throws(WireError) {
      return try ContactCard(content: content(), signature: signature)
    } catch {
      preconditionFailure("the sample card does not parse: \(error)")
    }
  }

  private static func content(
    host: String = String(repeating: "h", count: 64), port: UInt16 = 7400,
    notAfter: UInt64 = 1000 + ContactCard.maximumLife
  ) -> ContactCard.Content {
    ContactCard.Content(
      id: PeerID(word0: 1, word1: 2, word2: 3, word3: 4),
      staticKey: Bytes32(InlineArray(repeating: 0x33)), notBefore: 1000, notAfter: notAfter,
      serial: 7,
      home: ContactCard.Home(
        id: PeerID(word0: 5, word1: 6, word2: 7, word3: 8), host: host, port: port),
      name: PeerName(String(repeating: "n", count: 63)))
  }

  @Test func `fields stand where the table says`() throws {
    // docs/protocol/README.md §4
    let card = Self.largest()
    #expect(card.bytes.count == ContactCard.maximumByteCount && card.bytes.count <= 330)
    #expect(Array(card.bytes[0..<6]) == Array("ECC1".utf8) + [1, 0])
    #expect(Array(card.bytes[6..<38]) == card.id.bytes)
    #expect(Array(card.bytes[38..<70]) == Array(repeating: 0x33, count: 32))
    #expect(Array(card.bytes[70..<78]) == [0xE8, 3, 0, 0, 0, 0, 0, 0])
    #expect(card.bytes[86] == 7 && card.bytes[94] == 5 && card.bytes[126] == 64)
    #expect(Array(card.bytes[191..<194]) == [0xE8, 0x1C, 63])
    #expect(card.signedByteCount == card.bytes.count - 64)
    #expect(Array(card.bytes.suffix(64)) == Self.signature)
  }

  @Test func `has one encoding for one content`() throws {
    let card = Self.largest()
    let read = try ContactCard(parsing: card.bytes)
    #expect(read == card && read.content == Self.content())
    #expect(read.content.encoded + Self.signature == card.bytes)
    let plain = ContactCard.Content(
      id: card.id, staticKey: card.staticKey, notBefore: 0, notAfter: 0, serial: 0)
    let smallest = try ContactCard(content: plain, signature: Self.signature)
    #expect(smallest.bytes.count == ContactCard.minimumByteCount)
    #expect(try ContactCard(parsing: smallest.bytes).content == plain)
  }

  @Test func `cut anywhere or followed by anything it is refused`() {
    let bytes = Self.largest().bytes
    for count in bytes.indices {
      #expect(throws: WireError.self) { try ContactCard(parsing: Array(bytes.prefix(count))) }
    }
    #expect(throws: WireError.self) { try ContactCard(parsing: bytes + [0]) }
  }

  @Test func `limits hold to the byte and to the second`() throws {
    _ = try Self.card(Self.content(notAfter: 1000))
    #expect(throws: WireError.self) { try Self.card(Self.content(notAfter: 999)) }
    #expect(throws: WireError.self) {
      try Self.card(Self.content(notAfter: 1001 + ContactCard.maximumLife))
    }
    #expect(throws: WireError.self) {
      try Self.card(Self.content(host: String(repeating: "h", count: 65)))
    }
    // A rendezvous without a host or a port is no rendezvous.
    #expect(throws: WireError.self) { try Self.card(Self.content(host: "")) }
    #expect(throws: WireError.self) { try Self.card(Self.content(port: 0)) }
    for (index, value) in [(0, 0x46), (3, 0x32), (4, 2), (5, 1), (127, 0xFF), (194, 0x20)] {
      var bytes = Self.largest().bytes
      bytes[index] = UInt8(value)
      #expect(throws: WireError.self, "byte \(index)") { try ContactCard(parsing: bytes) }
    }
  }

  @discardableResult
  private static func card(_ content: ContactCard.Content) throws(WireError) -> ContactCard {
    try ContactCard(content: content, signature: signature)
  }
}
