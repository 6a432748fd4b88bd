import Cryptography
import Primitives
import Testing
import Vectors

@Suite struct PacketProtectionTests {
  @Test(.enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"))
  func `masks and seals the packet of RFC 9001 A5`() throws {
    struct Sample: Decodable {
      let key, nonce, hp, unprotected_header, plaintext, ciphertext, sample, mask: String
      let protected_header: String
    }
    let sample = try PublishedVectors.json("quic/rfc9001-a5-chacha20.json", as: Sample.self)
    let headerKey = try secretKey(hex: sample.hp)
    let mask = try HeaderMask(sample: bytes(hex: sample.sample).span, key: headerKey)
    #expect(hex((0..<5).map { mask.bytes[$0] }) == sample.mask)

    var header = bytes(hex: sample.unprotected_header)
    let key = try secretKey(hex: sample.key)
    let nonce = try nonce(hex: sample.nonce)
    var text = bytes(hex: sample.plaintext) + Array(repeating: 0, count: 16)
    var span = text.mutableSpan
    try ChaChaPoly.seal(&span, from: 0, associated: header.span, key: key, nonce: nonce)
    #expect(hex(text) == sample.ciphertext)
    header[0] ^= mask.bytes[0] & 0x1F
    for index in 1..<4 { header[index] ^= mask.bytes[index] }
    #expect(hex(header) == sample.protected_header)
  }

  @Test(.enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"))
  func `makes masks from the key stream of RFC 8439`() throws {
    let records = try PublishedVectors.records("pyca/chacha20-rfc7539.txt")
    for record in records {
      let key = try secretKey(hex: record["key"] ?? "")
      let counter = try #require(UInt32(record["initial_block_counter"] ?? ""))
      var sample: [UInt8] = []
      sample.append(littleEndian: counter)
      sample += bytes(hex: record["nonce"] ?? "")
      let mask = try HeaderMask(sample: sample.span, key: key)
      let stream = zip(
        bytes(hex: record["plaintext"] ?? ""), bytes(hex: record["ciphertext"] ?? "")
      ).map { $0 ^ $1 }
      #expect((0..<5).map { mask.bytes[$0] } == Array(stream.prefix(5)))
    }
    #expect(records.count >= 3)
  }

  @Test func `puts every byte where the protocol says`() throws {
    // Composed by hand from the two primitives (docs/protocol/session.md §6).
    let aead = Self.key(1)
    let header = Self.key(2)
    let frames = Array("some frames".utf8)
    var expected: [UInt8] = [0x60, 0xEF, 0xBE, 0xAD, 0xDE, 0x04, 0x03, 0x02, 0x01]
    var text = frames + Array(repeating: 0, count: 16)
    var span = text.mutableSpan
    try ChaChaPoly.seal(
      &span, from: 0, associated: expected.span, key: aead,
      nonce: ChaChaPoly.Nonce(counter: 0x0102_0304))
    let mask = try HeaderMask(sample: text.span.extracting(0..<16), key: header)
    expected[0] ^= mask.bytes[0] & 0x1F
    for index in 1..<5 { expected[4 + index] ^= mask.bytes[index] }
    #expect(try Self.seal(frames) == expected + text)
    let compact = PacketKeys(aead: aead, header: header)
    #expect(try Self.seal(frames, with: compact) == expected + text)
  }

  @Test(arguments: [0, 1, 7, 60, 1175]) func `opens what it has sealed`(count: Int) throws {
    let frames = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let packet = try Self.seal(frames)
    #expect(packet.count == count + PacketProtection.overheadByteCount)
    #expect(try Self.open(packet) == frames)
  }

  @Test func `opens nothing that has been changed or cut anywhere`() throws {
    let packet = try Self.seal(Array("not to be touched".utf8))
    for index in packet.indices where !(1...4).contains(index) {
      for bit in 0..<8 {
        var changed = packet
        changed[index] ^= 1 << UInt8(bit)
        #expect(throws: CryptographyError.self) { try Self.open(changed) }
      }
    }
    for count in 0..<packet.count {
      #expect(throws: CryptographyError.self) { try Self.open(Array(packet.prefix(count))) }
    }
    // The connection ID is authenticated too.
    var changed = packet
    changed[2] ^= 1
    #expect(throws: CryptographyError.notAuthentic) { try Self.open(changed) }
  }

  @Test func `refuses packets without room for header or tag`() throws {
    let aead = Self.key(1)
    let header = Self.key(2)
    let keys = PacketKeys(aead: aead, header: header)
    for count in [0, 8] {
      var packet: [UInt8] = []
      packet.append(addingCapacity: 64) { output in
        output.append(repeating: 0, count: count)
        #expect(Self.isRefused(&output, keys))
      }
    }
    var packet: [UInt8] = []
    packet.append(addingCapacity: 64) { output in
      output.append(repeating: 0, count: output.freeCapacity - 15)
      #expect(Self.isRefused(&output, keys))
      _ = output.removeLast()
      #expect(!Self.isRefused(&output, keys))
    }
  }

  @Test func `erased keys open nothing`() throws {
    let aead = Self.key(1)
    let header = Self.key(2)
    var keys = PacketKeys(aead: aead, header: header)
    var packet = try Self.seal([1, 2, 3], with: keys)
    keys.erase()
    var span = packet.mutableSpan
    #expect(throws: CryptographyError.self) {
      let number = try keys.unmask(&span)
      _ = try keys.open(&span, number: number)
    }
  }

  // MARK: -

  private static func key(_ seed: UInt64) -> SecretKey {
    var random = RandomSource(seed: seed)
    return SecretKey(random: &random)
  }

  @_lifetime(output: copy output)
  private static func isRefused(_ output: inout OutputSpan<UInt8>, _ keys: PacketKeys) -> Bool {
    do throws(CryptographyError) {
      try keys.seal(&output, connectionID: 1, number: 0)
      return false
    } catch {
      return error == .wrongLength
    }
  }

  private static func seal(_ frames: [UInt8], with compact: PacketKeys? = nil) throws -> [UInt8] {
    var packet: [UInt8] = []
    try packet.append(addingCapacity: 9 + frames.count + 16) { output throws(CryptographyError) in
      output.append(repeating: 0, count: 9)
      output.append(bytes: frames)
      if let compact {
        try compact.seal(&output, connectionID: 0xDEAD_BEEF, number: 0x0102_0304)
      } else {
        let cipher = PacketCipher(aead: key(1), header: key(2))
        try cipher.seal(&output, connectionID: 0xDEAD_BEEF, number: 0x0102_0304)
      }
    }
    return packet
  }

  @discardableResult
  private static func open(_ packet: [UInt8]) throws(CryptographyError) -> [UInt8] {
    let cipher = PacketCipher(aead: key(1), header: key(2))
    var packet = packet
    var span = packet.mutableSpan
    let number = try cipher.unmask(&span)
    let frames = try cipher.open(&span, number: number)
    return Array(packet[frames])
  }
}
