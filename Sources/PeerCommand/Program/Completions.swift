/// What a shell completes, made of the texts of `--help`: they are the one description of the
/// options.
package enum Completions {
  package enum Shell: String, CaseIterable, Sendable {
    case bash, zsh, fish
  }

  /// An option, as the help of a command has it.
  package struct Option: Equatable, Sendable {
    package var name: String
    /// What it takes; empty for a flag.
    package var value: String
    package var summary: String

    /// A file or a folder follows.
    var wantsPath: Bool { value.hasPrefix("FILE") || value.hasPrefix("DIR") }
  }

  /// The options of a command, in the order of its help, each once.
  package static func options(in help: String) -> [Option] {
    var options: [Option] = []
    for line in help.split(separator: "\n") where line.hasPrefix("  --") {
      let text = line.drop { $0 == " " }
      let name = String(text.prefix { $0 != " " })
      let rest = text.dropFirst(name.count)
      let gap = rest.firstRange(of: "  ")
      let value = gap.map { rest[..<$0.lowerBound] } ?? rest
      let summary = gap.map { rest[$0.upperBound...] } ?? ""
      guard !options.contains(where: { $0.name == name }) else { continue }
      options.append(
        Option(
          name: name, value: String(value.drop { $0 == " " }),
          summary: String(summary.drop { $0 == " " })))
    }
    return options
  }

  /// The line of a command in the list of all.
  static func summary(of command: Subcommand) -> String {
    let line = Help.overview.split(separator: "\n").first {
      $0.hasPrefix("  earshot \(command.rawValue) ")
    }
    guard let line, let gap = line.dropFirst(2).firstRange(of: "  ") else { return "" }
    return String(line[gap.upperBound...].drop { $0 == " " })
  }

  package static func script(_ shell: Shell) -> String {
    switch shell {
    case .bash: bash
    case .zsh: zsh
    case .fish: fish
    }
  }

  private static var names: String {
    Subcommand.allCases.map(\.rawValue).joined(separator: " ")
  }

  private static func words(_ options: [Option]) -> String {
    (options.map(\.name) + ["--help"]).joined(separator: " ")
  }

  private static func paths(_ options: [Option]) -> String {
    let names = options.filter(\.wantsPath).map(\.name)
    return names.isEmpty ? "--" : names.joined(separator: "|")
  }

  private static var bash: String {
    let cases = Subcommand.allCases.map { command in
      let options = options(in: Help.text(command))
      return """
            \(command.rawValue))
              case "$before" in
              \(paths(options))) COMPREPLY=($(compgen -f -- "$word")); return ;;
              esac
              COMPREPLY=($(compgen -W "\(words(options))" -- "$word")) ;;
        """
    }
    return """
      # bash completion of earshot, made by: earshot completions bash
      _earshot() {
        local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
        COMPREPLY=()
        if [ "$COMP_CWORD" -eq 1 ]; then
          COMPREPLY=($(compgen -W "\(names) help --help --version" -- "$word"))
          return
        fi
        case "${COMP_WORDS[1]}" in
      \(cases.joined(separator: "\n"))
        esac
      }
      complete -o bashdefault -o default -F _earshot earshot
      """
  }

  private static var zsh: String {
    let cases = Subcommand.allCases.map { command in
      let specs = options(in: Help.text(command)).map { option in
        let tail =
          option.value.isEmpty ? "" : ":\(plain(option.value)):\(option.wantsPath ? "_files" : "")"
        return "        '\(option.name)[\(plain(option.summary))]\(tail)'"
      }
      return """
            \(command.rawValue))
              _arguments \\
        \((specs + ["        '--help[what it does]'"]).joined(separator: " \\\n")) \\
                '*:argument:_default' ;;
        """
    }
    let commands = Subcommand.allCases.map { "    '\($0.rawValue):\(plain(summary(of: $0)))'" }
    return """
      #compdef earshot
      # zsh completion of earshot, made by: earshot completions zsh
      _earshot() {
        local -a commands
        commands=(
      \(commands.joined(separator: "\n"))
        )
        if (( CURRENT == 2 )); then
          _describe command commands
          return
        fi
        local command="$words[2]"
        shift words
        (( CURRENT-- ))
        case "$command" in
      \(cases.joined(separator: "\n"))
        esac
      }
      _earshot "$@"
      """
  }

  private static var fish: String {
    var lines = ["# fish completion of earshot, made by: earshot completions fish"]
    for command in Subcommand.allCases {
      lines.append(
        "complete -c earshot -f -n __fish_use_subcommand -a \(command.rawValue)"
          + " -d '\(plain(summary(of: command)))'")
      for option in options(in: Help.text(command)) {
        let kind = option.value.isEmpty ? "" : option.wantsPath ? " -r -F" : " -x"
        lines.append(
          "complete -c earshot -n '__fish_seen_subcommand_from \(command.rawValue)'"
            + " -l \(option.name.dropFirst(2))\(kind) -d '\(plain(option.summary))'")
      }
    }
    return lines.joined(separator: "\n")
  }

  /// Without what a shell reads in quotes or brackets.
  private static func plain(_ text: String) -> String {
    String(text.filter { !"'\"`\\$[]:".contains($0) })
  }
}
