import Primitives
import Testing

/// The letters of JSON, for whoever reads a whole text.
struct JSONScannerTests {
  private func scan<Value>(_ text: String, _ body: (inout JSONScanner) -> Value) -> Value {
    var scanner = JSONScanner(Array(text.utf8))
    return body(&scanner)
  }

  @Test(arguments: ["0", "-0", "7", "120", "-3", "0.5", "1.25", "1e9", "1E+9", "-0.5e-07"])
  func `a number is read to its end`(text: String) {
    for rest in ["", " ", ",", "]", "x"] {
      let (number, next) = scan(text + rest) { ($0.number(), $0.next) }
      #expect(number == text && next == rest.utf8.first, "\(rest)")
    }
  }

  @Test(arguments: [
    "", "-", "01", "-01", "00", ".5", "1.", "1.e5", "1e", "1e+", "+1", "NaN", "e1", "--1", "-e",
  ])
  func `what is no number is refused`(text: String) {
    #expect(scan(text) { $0.number() } == nil)
  }

  @Test func `words are read whole`() {
    for word in ["true", "false", "null"] {
      #expect(scan(word) { $0.word() } == word)
      #expect(scan(word + ",") { $0.word() } == word)
      #expect(scan(word + "x") { $0.word() } == nil)
      #expect(scan(String(word.dropLast())) { $0.word() } == nil)
    }
    #expect(scan("True") { $0.word() } == nil)
    #expect(scan("") { $0.word() } == nil)
  }

  @Test(arguments: [
    ("\"\"", ""), (#""a b""#, "a b"), (#""\n\r\t\b\f""#, "\n\r\t\u{8}\u{C}"),
    (#""\"\\\/""#, "\"\\/"),
    (#""\u0041\u00e9\u20AC""#, "A\u{E9}\u{20AC}"), (#""\ud83d\ude00""#, "\u{1F600}"),
    ("\"\u{1F600}\"", "\u{1F600}"), ("\"\u{7F}\"", "\u{7F}"),
  ])
  func `texts are read with their escapes`(json: String, text: String) {
    let (read, isAtEnd) = scan(json) { ($0.text(), $0.next == nil) }
    #expect(read == text && isAtEnd)
  }

  @Test func `what is no text is refused`() {
    for json in [
      "", "a", "'a'", "\"", #""a"#, #""\"#, #""\x""#, #""\u12""#, #""\u00g0""#, #""\u+041""#,
      #""\ud83d""#, #""\ud83d\n""#, #""\ud83d\u0041""#, #""\ude00""#, "\"\u{1}\"", "\"\n\"",
    ] {
      #expect(scan(json) { $0.text() } == nil, "\(json)")
    }
    let noUTF8: [[UInt8]] = [
      [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
    ]
    for bytes in noUTF8 {
      var scanner = JSONScanner(bytes)
      #expect(scanner.text() == nil, "\(bytes)")
    }
  }

  @Test func `space is skipped, and a letter taken where it stands`() {
    var scanner = JSONScanner(Array(" \t\r\n{x".utf8))
    scanner.skipSpace()
    let steps = [scanner.skip("}"), scanner.skip("{"), scanner.skip("{"), scanner.skip("x")]
    #expect(steps == [false, true, false, true])
    #expect(scanner.next == nil)
    let isTaken = scanner.skip("x")
    #expect(!isTaken, "at the end")
  }
}
