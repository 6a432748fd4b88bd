import Testing

/// The rules are only as good as the eye they look with.
@Suite struct CodeTextTests {
  @Test func `blanks comments and strings and keeps every line`() {
    let text = """
      let a = "print(" // sleep(1)
      /* TO /* nested */ try! */ let b = #"x"y"# + "\\(f("as!"))" + "end"
      let c = \"\"\"
        fatalError( "quoted" )
        \"\"\"; g()
      """
    let code = CodeText.blanked(text)
    for word in ["print", "sleep", "try!", "nested", "as!", "end", "fatalError", "quoted"] {
      #expect(!code.contains(word), "\(word) should be gone from:\n\(code)")
    }
    for word in ["let a =", "let b =", "let c =", "g()"] {
      #expect(code.contains(word), "\(word) should be left in:\n\(code)")
    }
    #expect(code.split(separator: "\n", omittingEmptySubsequences: false).count == 5)
  }

  @Test func `measures functions from their first line to their closing brace`() {
    let file = SourceFile(
      path: "Sources/X/Y.swift",
      text: """
        protocol P {
          func without(body: Int)
          var after: Int { get }
        }
        struct S {
          init?(
            _ closure: () -> Void = { print("{") }
          ) {
            self.init()
          }
          func one() { "}" }
          func two(_ x: Int) -> [Int] {
            if x == 1 {
              return []
            }
            return [x]
          }
        }
        """)
    let functions = Function.all(in: file).map { "\($0.name) \($0.firstLine) \($0.lineCount)" }
    #expect(functions == ["init? 5 5", "one 10 1", "two 11 6"])
  }
}
