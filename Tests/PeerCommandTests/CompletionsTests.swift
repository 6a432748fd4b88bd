import Arguments
import PeerCommand
import Testing

/// What shells complete is what the help says.
struct CompletionsTests {
  @Test func `options come from the help, each once, with what they take`() {
    let help = """
      usage: earshot x --not-this

        --file FILE          what to send
        --as NAME            the name there
                             (default: its name --here)
        --loop               again
        --file FILE          again
      """
    let options = Completions.options(in: help)
    #expect(options.map(\.name) == ["--file", "--as", "--loop"])
    #expect(options.map(\.value) == ["FILE", "NAME", ""])
    #expect(options.map(\.summary) == ["what to send", "the name there", "again"])
  }

  @Test(arguments: Completions.Shell.allCases)
  func `every command and every option is in each script`(shell: Completions.Shell) {
    let script = Completions.script(shell)
    for command in Subcommand.allCases {
      #expect(script.contains(command.rawValue))
      for option in Completions.options(in: Help.text(command)) {
        let name = shell == .fish ? "-l \(option.name.dropFirst(2)) " : option.name
        #expect(script.contains(name), "\(command) \(option.name)")
      }
    }
    #expect(Completions.options(in: Help.text(.call)).count > 30)
    #expect(script.split(separator: "\n").allSatisfy { $0.count { $0 == "'" } % 2 == 0 })
  }

  @Test func `only three shells are known`() throws {
    #expect(try CompletionsCommand(Arguments(["zsh"])).shell == .zsh)
    #expect(throws: UsageError.self) { _ = try CompletionsCommand(Arguments(["csh"])) }
    #expect(throws: UsageError.self) { _ = try CompletionsCommand(Arguments([])) }
  }
}
