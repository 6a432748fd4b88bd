import Primitives
import Wire

extension FuzzTarget {
  static let primitives: [FuzzTarget] = [reader, tlv, socketAddress, text, printable]

  /// Reads fields in an order and of lengths that the input itself prescribes.
  private static let reader = FuzzTarget(
    "byte-reader",
    seeds: { [[0, 1, 2, 3, 4, 5, 6, 7, 0xFF, 0x80, 65, 66, 67] + Array(0..<40)] },
    run: { bytes in
      var script = ByteReader(bytes.span)
      var reader = ByteReader(bytes.span)
      while let choice = try? script.readUInt8("choice"), reader.offset < bytes.count {
        let before = reader.offset
        do throws(WireError) {
          try readOne(choice, &reader)
          expect(reader.offset >= before, "a reader never goes back")
        } catch {
          expect(reader.offset == before || reader.remaining >= 0, "a failed read stays inside")
          return
        }
      }
    })

  @_lifetime(reader: copy reader)
  private static func readOne(_ choice: UInt8, _ reader: inout ByteReader) throws(WireError) {
    let count = Int(choice >> 3)
    switch choice & 7 {
    case 0: _ = try reader.readUInt8("field")
    case 1: _ = try reader.readUInt16("field")
    case 2: _ = try reader.readUInt32("field")
    case 3: _ = try reader.readUInt64("field")
    case 4: expect(try reader.readBytes(count, "field").count == count, "all bytes or an error")
    case 5: expect(try reader.readRange(count, "field").count == count, "all bytes or an error")
    case 6: expect(try reader.readText(count, "field").utf8.count == count, "text is not repaired")
    default: _ = try reader.readBytes(-count - 1, "field")
    }
  }

  private static let tlv = FuzzTarget(
    "tlv-list",
    seeds: {
      var list = TLVList()
      list.append(.name, Array("bob".utf8))
      list.append(.candidates, Array(repeating: 1, count: 20))
      list.append(.userExtension, Array("{}".utf8))
      var bytes: [UInt8] = []
      list.write(to: &bytes)
      return [bytes, bytes + [0, 0, 0], [200, 2, 0, 1, 1] + bytes]
    },
    run: { bytes in
      var reader = ByteReader(bytes.span)
      guard let list = try? TLVList(parsing: &reader) else { return }
      expect(reader.isAtEnd, "a list is read to its end")
      var written: [UInt8] = []
      list.write(to: &written)
      var again = ByteReader(written.span)
      guard let second = try? TLVList(parsing: &again) else {
        return expect(false, "what was written can be read")
      }
      for code in UInt8(1)...7 {
        guard let type = TLVType(rawValue: code) else { continue }
        expect(list[type] == second[type], "a list survives being written")
      }
    })

  private static let socketAddress = FuzzTarget(
    "socket-address", maximumByteCount: 19,
    seeds: {
      [SocketAddress("192.0.2.1:7400"), SocketAddress("[2001:db8::1]:7400")].compactMap { $0 }
        .map { address in
          var bytes: [UInt8] = []
          address.write(to: &bytes)
          return bytes
        }
    },
    run: { bytes in
      var reader = ByteReader(bytes.span)
      guard let address = try? SocketAddress(parsing: &reader) else { return }
      var written: [UInt8] = []
      address.write(to: &written)
      expect(written == Array(bytes.prefix(19)), "an address has one encoding")
      expect(SocketAddress(address.description) == address, "an address survives as text")
    })

  /// What somebody else chose, on its way to a terminal, a file or a page.
  private static let printable = FuzzTarget(
    "printable-text", maximumByteCount: 256,
    seeds: { hostileWords.map { Array($0.utf8) } },
    run: { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      let only = Printable.only(text)
      expect(only.unicodeScalars.allSatisfy(Printable.contains), "only what can be shown is left")
      expect(Printable.only(only) == only, "what is left once is left again")
      expect(
        Printable.lines(text).unicodeScalars.allSatisfy { $0 == "\n" || Printable.contains($0) },
        "lines have line feeds besides")
      var json = ""
      for scalar in text.unicodeScalars { Printable.appendJSON(scalar, to: &json) }
      expect(json.unicodeScalars.allSatisfy(Printable.contains), "JSON holds no control")
      let reason = ReasonText(clipping: text).description
      expect(reason.unicodeScalars.allSatisfy(Printable.contains), "a reason holds no control")
      expect(reason.utf8.count <= ReasonText.maximumByteCount, "a reason has its limit")
    })

  /// Text that a person or a file gives: addresses, names, IDs.
  private static let text = FuzzTarget(
    "text-forms", maximumByteCount: 96,
    seeds: {
      ["192.0.2.1:7400", "[2001:db8::1]:7400", "[::]:0", "alice.b-c_d", PeerID.zero.description]
        .map { Array($0.utf8) }
    },
    run: { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      if let address = SocketAddress(text) {
        expect(SocketAddress(address.description) == address, "an address survives as text")
      }
      if let name = PeerName(text) {
        expect(name.description == text && PeerID(text) == nil, "a name is kept, and no ID is one")
      }
      expect(PeerName(bytes: bytes)?.bytes ?? bytes == bytes, "a name survives as bytes")
      if let id = PeerID(text) { expect(id.description == text, "an ID has one text") }
      if let decoded = ZBase32.decode(text) {
        expect(ZBase32.encode(decoded) == text, "z-base-32 has one text for some bytes")
      }
      if let id = CallID(text) {
        expect(CallID(id.description) == id, "a call ID survives as text")
      }
    })
}
