import PeerCommand
import Testing

/// Known codes were made with an independent encoder (qrcode for Python: level L, bytes) and are
/// compared module by module, by their FNV-1a hash.
struct QRCodeTests {
  static let known: [(text: String, size: Int, hash: UInt64)] = [
    ("HELLO earshot", 21, 0x6d0e_cf69_c55c_55dd),
    ("earshot:" + String(repeating: "A", count: 100), 41, 0xde32_27bd_6536_9e9f),
    ("earshot:" + String(repeating: "xyz", count: 110), 65, 0x915e_7933_0e7a_8676),
    ("earshot:" + String(repeating: "0123456789", count: 80), 97, 0x2f46_a149_1028_ec33),
  ]

  @Test(arguments: known.indices) func `draws what another encoder draws`(index: Int) throws {
    let expected = Self.known[index]
    let code = try #require(QRCode(expected.text))
    #expect(code.size == expected.size)
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for module in code.modules { hash = (hash ^ (module ? 1 : 0)) &* 0x100_0000_01b3 }
    #expect(hash == expected.hash)
  }

  @Test func `has a quiet zone around, and refuses what does not fit`() throws {
    let code = try #require(QRCode("earshot"))
    let lines = code.halfBlocks.split(separator: "\n")
    #expect(lines.allSatisfy { $0.count == code.size + 8 })
    #expect(lines.prefix(2).allSatisfy { $0.allSatisfy { $0 == "█" } })
    #expect(QRCode(String(repeating: "a", count: 858)) != nil)
    #expect(QRCode(String(repeating: "a", count: 859)) == nil)
  }
}
