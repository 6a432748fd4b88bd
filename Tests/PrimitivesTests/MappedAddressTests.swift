import Primitives
import Testing

struct MappedAddressTests {
  private static let v4 = SocketAddress(v4: 192, 0, 2, 33, port: 7400)

  @Test func `an IPv4-mapped address is the IPv4 address in text, and invalid on the wire`() throws
  {
    #expect(SocketAddress("[::ffff:c000:221]:7400") == Self.v4)
    var bytes: [UInt8] = [6] + Array(repeating: 0, count: 10) + [0xFF, 0xFF, 192, 0, 2, 33]
    bytes += [UInt8(7400 & 0xFF), UInt8(7400 >> 8)]
    var reader = ByteReader(bytes.span)
    var error: WireError?
    do throws(WireError) {
      _ = try SocketAddress(parsing: &reader)
    } catch let found {
      error = found
    }
    #expect(error != nil)
  }

  @Test(arguments: ["[::1]:1", "[2001:db8::ffff:c000:221]:9", "[::fffe:c000:221]:9"])
  func `other addresses stay as they are`(text: String) {
    #expect(SocketAddress(text)?.family == .v6)
    #expect(SocketAddress(text)?.description == text)
  }
}
