import GroupKeys
import Primitives
import Testing
import Vectors

@Suite struct SFrameHeaderTests {
  struct File: Decodable {
    struct Header: Decodable {
      let kid: UInt64
      let ctr: UInt64
      let encoded: String
    }
    let header: [Header]
  }

  static func encoded(_ header: SFrameHeader) -> [UInt8] {
    var bytes = [UInt8](repeating: 0xEE, count: header.byteCount + 1)
    var span = bytes.mutableSpan
    header.write(to: &span, at: 1)
    return Array(bytes.dropFirst())
  }

  static func parsed(_ bytes: [UInt8]) throws(WireError) -> (SFrameHeader, Int) {
    var reader = ByteReader(bytes.span)
    let header = try SFrameHeader(parsing: &reader)
    return (header, reader.offset)
  }

  @Test(.enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"))
  func `all published headers are written and read to the byte`() throws {
    let file = try PublishedVectors.json("sframe/test-vectors.json", as: File.self)
    for vector in file.header {
      let header = SFrameHeader(keyID: vector.kid, counter: vector.ctr)
      #expect(hex(Self.encoded(header)) == vector.encoded)
      let (read, count) = try Self.parsed(bytes(hex: vector.encoded) + [1, 2])
      #expect(read == header)
      #expect(count == vector.encoded.utf8.count / 2)
    }
    #expect(file.header.count == 289)
  }

  /// RFC 9605 §4.3: values below 8 in the config byte, others in the least number of bytes.
  @Test func `there is one encoding for each header`() throws {
    for (text, isValid) in [
      ("77", true), ("ff", false), ("8007", false), ("8008", true), ("900008", false),
      ("900100", true), ("0807", false), ("0808", true), ("0900ff", false), ("09ffff", true),
      ("88", false), ("8808", false), ("880808", true), ("", false), ("f0" + "00ff", false),
    ] {
      let input = bytes(hex: text)
      do throws(WireError) {
        let (header, count) = try Self.parsed(input)
        #expect(isValid && count == input.count, "\(text)")
        #expect(Self.encoded(header) == input)
      } catch {
        #expect(!isValid, "\(text)")
      }
    }
  }

  @Test func `the longest header takes 17 bytes`() {
    let header = SFrameHeader(keyID: .max, counter: .max)
    #expect(header.byteCount == SFrameHeader.maximumByteCount)
    #expect(Self.encoded(header) == Array(repeating: 0xFF, count: 17))
  }
}
