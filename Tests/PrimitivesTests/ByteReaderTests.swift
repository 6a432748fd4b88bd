import Primitives
import Testing

@Suite struct ByteReaderTests {
  @Test func `numbers are little-endian, and each read steps over its bytes`() throws {
    let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
    var reader = ByteReader(bytes.span)
    let first = try reader.readUInt8("a")
    let second = try reader.readUInt16("b")
    let third = try reader.readUInt32("c")
    let fourth = try reader.readUInt64("d")
    #expect(first == 1 && second == 0x0302 && third == 0x0706_0504)
    #expect(fourth == 0x0F0E_0D0C_0B0A_0908)
    let (isAtEnd, remaining) = (reader.isAtEnd, reader.remaining)
    #expect(isAtEnd && remaining == 0)
  }

  /// - Returns: The error of a read of `bytes` behind `skipped` of them.
  private func fault(
    _ bytes: [UInt8], skipping skipped: Int,
    _ read: (inout ByteReader) throws(WireError) -> Void
  ) -> WireError? {
    var reader = ByteReader(bytes.span)
    do throws(WireError) {
      _ = try reader.readBytes(skipped, "lead")
      try read(&reader)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a read beyond the end says where, and reads nothing`() {
    let bytes: [UInt8] = [1, 2, 3]
    let expected = WireError(.truncated, "x", at: 1)
    #expect(
      fault(bytes, skipping: 1) { r throws(WireError) in _ = try r.readUInt32("x") } == expected)
    #expect(
      fault(bytes, skipping: 1) { r throws(WireError) in _ = try r.readBytes(3, "x") } == expected)
    #expect(
      fault(bytes, skipping: 1) { r throws(WireError) in _ = try r.readRange(3, "x") } == expected)
    #expect(
      fault(bytes, skipping: 1) { r throws(WireError) in _ = try r.readBytes(-1, "x") } == expected)
    let end = WireError(.truncated, "x", at: 3)
    #expect(fault(bytes, skipping: 3) { r throws(WireError) in _ = try r.readUInt8("x") } == end)
  }

  @Test func `what is left over is an error where nothing may be`() {
    let trailing = WireError(.trailing, "end", at: 2)
    #expect(
      fault([1, 2, 3], skipping: 2) { r throws(WireError) in try r.expectEnd("end") } == trailing)
    #expect(fault([1, 2], skipping: 2) { r throws(WireError) in try r.expectEnd("end") } == nil)
  }

  @Test func `text that is not UTF-8 is refused, never repaired`() throws {
    let good = Array("é".utf8)
    var reader = ByteReader(good.span)
    let text = try reader.readText(2, "name")
    #expect(text == "é")
    let invalid = WireError.invalid("name", at: 0)
    #expect(
      fault([0xC3, 0x28], skipping: 0) { r throws(WireError) in _ = try r.readText(2, "name") }
        == invalid)
  }

  @Test func `a range and the rest are what they say`() throws {
    let bytes: [UInt8] = [9, 8, 7, 6, 5]
    var reader = ByteReader(bytes.span)
    let range = try reader.readRange(2, "part")
    let rest = reader.readRest()
    #expect(range == 0..<2 && rest == [7, 6, 5])
  }
}
