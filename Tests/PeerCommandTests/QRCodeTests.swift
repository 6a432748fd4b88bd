import Arguments
import Earshot
import PeerCommand
import Testing

/// Known codes were made with an independent encoder (qrcode for Python: level L) and are
/// compared module by module, by their FNV-1a hash.
struct QRCodeTests {
  static let known: [(text: String, size: Int, hash: UInt64)] = [
    ("HELLO 45", 21, 0xdef1_259e_53f9_820f),
    (
      "EARSHOT:" + String(repeating: "A1B2C3D4", count: 6) + "9XYZ/192.0.2.1:7400/"
        + String(repeating: "Z", count: 52), 37, 0xbede_8c1b_d04d_0924
    ),
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
    #expect(lines.allSatisfy { $0.count == code.size + 4 })
    #expect(lines.prefix(1).allSatisfy { $0.allSatisfy { $0 == "█" } })
    #expect(QRCode(String(repeating: "a", count: 858)) != nil)
    #expect(QRCode(String(repeating: "a", count: 859)) == nil)
  }

  @Test func `in the C locale it is of ASCII, whole, and a link fits 80 columns`() throws {
    let id = try #require(PeerID("oxrcd4gs6mnmtfr33hfk1y96a19ukyc5noa8rg5kqx7yswxsgt6y"))
    let code = try #require(QRCode(ContactLink(id: id, rendezvous: "192.0.2.1#\(id)").text))
    let lines = code.plainLetters(light: "##").split(separator: "\n").map(Array.init)
    #expect(lines.allSatisfy { $0.count == 2 * code.size + 4 && $0.count <= 80 })
    #expect(lines.count == code.size + 4)
    for row in 0..<code.size {
      for column in 0..<code.size {
        let letters = lines[row + 2][(2 * column + 2)..<(2 * column + 4)]
        #expect(String(letters) == (code[row, column] ? "  " : "##"))
      }
    }
  }

  @Test func `a link is read in small letters and capitals, and its code fits a terminal`() throws {
    let id = try #require(PeerID("oxrcd4gs6mnmtfr33hfk1y96a19ukyc5noa8rg5kqx7yswxsgt6y"))
    let long = ContactLink(id: id, rendezvous: "rendezvous.example.com:7400#\(id)")
    let portless = ContactLink(id: id, rendezvous: "127.0.0.1#\(id)")
    #expect(portless.rendezvous == "127.0.0.1:7400#\(id)")
    #expect(ContactLink(id: id, rendezvous: "[::1]").rendezvous == "[::1]:7400")
    for link in [long, portless, ContactLink(id: id, rendezvous: nil)] {
      #expect(ContactLink(link.text) == link && ContactLink(link.text.lowercased()) == link)
      let code = try #require(QRCode(link.text))
      // With the link in two lines, and a prompt.
      #expect(code.halfBlocks.split(separator: "\n").count <= 21)
    }
    for text in [
      "earshot:", "earshot:abc", "EARSHOT:\(id)/h", "EARSHOT:\(id)/h:1/x", "bob", "\(id)",
    ] {
      #expect(ContactLink(text) == nil)
    }
    // Whatever is cut off its end, it is said to be damaged, or to name no rendezvous.
    let text = long.text
    for count in 9..<text.utf8.count {
      let part = String(text.prefix(count))
      for word in [part, part.lowercased()] {
        for command in ["call", "probe", "send"] {
          let rest = command == "send" ? ["--text", "hi"] : []
          let error = #expect(throws: UsageError.self) {
            switch command {
            case "call": _ = try CallCommand(Arguments([word]), variable: { _ in nil })
            case "probe": _ = try ProbeOptions(Arguments([word]), variable: { _ in nil })
            default: _ = try SendCommand(Arguments([word] + rest), variable: { _ in nil })
            }
          }
          #expect(
            "\(String(describing: error))".contains("link"), "\(command) \(word): \(error as Any)")
        }
      }
    }
  }
}
