package import Arguments

/// `earshot completions bash|zsh|fish`: prints what the shell is to complete.
package struct CompletionsCommand: Sendable {
  package var shell: Completions.Shell

  package init(_ arguments: consuming Arguments) throws(UsageError) {
    var arguments = arguments
    let word = try arguments.positional("shell")
    try arguments.finish()
    guard let shell = Completions.Shell(rawValue: word) else {
      throw UsageError(
        "'\(word)' is not a shell that earshot has completions for.",
        advice: "Write bash, zsh or fish.")
    }
    self.shell = shell
  }

  package func run() -> ExitCode {
    print(Completions.script(shell))
    return .done
  }

  static let help = """
    usage: earshot completions bash|zsh|fish

    Prints what the shell completes of earshot: commands, options and files. The packages install it.

    example: earshot completions bash > ~/.local/share/bash-completion/completions/earshot
             earshot completions fish > ~/.config/fish/completions/earshot.fish
    """
}
