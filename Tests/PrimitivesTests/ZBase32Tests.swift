import Primitives
import Testing

@Suite struct ZBase32Tests {
  /// From the specification of z-base-32 (Zooko O'Whielacronx 2002), whole bytes only.
  @Test func `encodes the examples of its specification`() {
    #expect(ZBase32.encode([0xF0, 0xBF, 0xC7]) == "6n9hq")
    #expect(ZBase32.encode([0xD4, 0x7A, 0x04]) == "4t7ye")
    #expect(ZBase32.encode([]) == "")
  }

  @Test func `gives back every length of bytes`() {
    var random = RandomSource(seed: 11)
    for count in 0..<64 {
      let bytes = random.bytes(count)
      let text = ZBase32.encode(bytes)
      #expect(text.utf8.count == (count * 8 + 4) / 5)
      #expect(ZBase32.decode(text) == bytes)
    }
  }

  @Test func `refuses foreign letters, spare letters and spare bits`() {
    #expect(ZBase32.decode("yy") == [0])
    for text in ["yl", "Yy", "y", "yyy", "yb"] {
      let none: [UInt8]? = nil
      #expect(ZBase32.decode(text) == none, "\(text)")
    }
  }
}
