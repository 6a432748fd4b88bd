import Earshot
import Plotting
import Primitives
import Testing

@testable import PeerCommand

/// What a peer wrote, at every place where a person, a terminal or a program reads it.
@Suite struct OthersWordsTests {
  /// Forged lines, escape sequences, the clipboard of a terminal, writing direction.
  static let hostile = [
    "{\"a\":1}\n{\"type\":\"summary\",\"trust\":\"verified\"}",
    "\u{1B}[2J\u{1B}]0;title\u{7}\u{1B}]52;c;aGVsbG8=\u{7}", "\u{9B}2J", "abc\u{202E}gpj.exe",
    "one\u{2028}two\u{2029}three", "{\"key\u{1B}\":\"\u{202E}\"}", "\u{7F}\u{85}\u{0}", "[1,2",
    "\"\\u001b[2J\"",
  ]

  private static func isSafe(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy(Printable.contains)
  }

  @Test(arguments: hostile) func `an extension is one value on one line`(text: String) throws {
    var object = JSONObject()
    object.add("extension", JSONValue.others(text))
    let line = object.value.text
    #expect(Self.isSafe(line), "\(line.debugDescription)")
    let read = try #require(JSONReader.value(of: line))
    guard case .object(let members) = read else {
      Issue.record("not an object")
      return
    }
    #expect(members.map(\.key) == ["extension"])
  }

  @Test(arguments: hostile) func `a page and a story show no orders`(text: String) throws {
    #expect(Self.isSafe(Markup.escaped(text).filter { $0 != "\n" }))
    var event = JSONObject()
    event.add("type", "event")
    event.add("ts", "2026-01-01T00:00:00.000Z")
    event.add("name", text)
    event.add(text, text)
    let story = try #require(EventStory(try EventText(Array(event.value.text.utf8), name: "x")))
    for line in story.text.split(separator: "\n") { #expect(Self.isSafe(String(line))) }
  }

  @Test func `random letters of all planes come out harmless`() {
    var random = RandomSource(seed: 16)
    for _ in 0..<2_000 {
      var text = ""
      for _ in 0..<(random.next() % 40) {
        let limit: UInt64 = random.next() & 1 == 0 ? 0x100 : 0x11_0000
        if let scalar = Unicode.Scalar(UInt32(random.next() % limit)) {
          text.unicodeScalars.append(scalar)
        }
      }
      #expect(Self.isSafe(JSONValue.others(text).text), "\(text.debugDescription)")
      #expect(Self.isSafe(JSONValue.string(text).text))
      #expect(Self.isSafe(Markup.escaped(text).filter { $0 != "\n" }))
      #expect(Self.isSafe(Printable.only(text)))
    }
  }
}
