import PeerCommand
import Testing

struct HelpLayoutTests {
  @Test func `every help fits a terminal of 80 columns, in ASCII`() {
    for text in [Help.overview] + Subcommand.allCases.map({ Help.text($0) }) {
      let fitted = HelpLayout.fit(text)
      for line in fitted.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
      #expect(fitted.utf8.allSatisfy { $0 < 128 })
      let words = { (text: String) in text.split { $0 == " " || $0 == "\n" } }
      #expect(words(fitted) == words(text))
    }
  }

  @Test func `descriptions stay beside their options`() {
    let text = """
      usage: earshot x [options]

      One and two and three and four
      and five.

        --six SEVEN          eight and nine and ten
                             and eleven
      """
    #expect(
      HelpLayout.fit(text, columns: 30) == """
        usage: earshot x [options]

        One and two and three and four
        and five.

          --six SEVEN          eight
                               and
                               nine
                               and ten
                               and
                               eleven
        """)
  }

  @Test func `a line of a paragraph, or of an option, may begin with the program's name`() {
    let text = """
      What is here comes of
      earshot card, and of
      no other.

        --six SEVEN          what
                             earshot keygen printed
      """
    #expect(
      HelpLayout.fit(text, columns: 40) == """
        What is here comes of earshot card, and
        of no other.

          --six SEVEN          what earshot
                               keygen printed
        """)
  }
}

struct PlainLettersTests {
  @Test(arguments: [
    (nil, nil, nil, true), ("C", "de_DE.UTF-8", nil, true), (nil, nil, "en_GB.UTF-8", false),
    ("", "C.utf8", "C", false), (nil, "POSIX", "en_GB.UTF-8", true),
  ])
  func `the first locale that is set counts`(
    all: String?, type: String?, language: String?, isPlain: Bool
  ) {
    let variables = ["LC_ALL": all, "LC_CTYPE": type, "LANG": language]
    #expect(PlainLetters.areWanted { variables[$0] ?? nil } == isPlain)
  }

  @Test func `signs have their stand-ins`() {
    #expect(PlainLetters.of("3 × 4 ± 1 µs") == "3 x 4 +/- 1 us")
    #expect(PlainLetters.of("Zoë") == "Zo?" && PlainLetters.of("plain") == "plain")
  }
}
