import Primitives
import Testing

@Suite struct PrintableTests {
  @Test func `what gives orders to a terminal is left out`() {
    #expect(Printable.only("a\u{1B}[2Jb\u{7}\u{9B}c\u{7F}") == "a[2Jbc")
    #expect(Printable.only("abc\u{202E}def\u{2066}") == "abcdef", "directions of writing")
    #expect(Printable.only("a\u{2028}b\nc") == "abc")
    #expect(Printable.only("Grüße, 世界 👋") == "Grüße, 世界 👋")
  }

  @Test func `line feeds stay where several lines may stand`() {
    #expect(Printable.lines("a\r\n\u{1B}b") == "a\nb")
  }

  @Test func `a letter that is not printable is escaped in JSON`() {
    var text = ""
    for scalar in "\"\\\n\u{1B}\u{E0001}é".unicodeScalars {
      Printable.appendJSON(scalar, to: &text)
    }
    #expect(text == #"\"\\\n\u001b\udb40\udc01é"#)
  }
}
