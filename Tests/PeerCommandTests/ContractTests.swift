import Arguments
import Foundation
import PeerCommand
import Testing

/// The commands and options of the contract of `earshot`, as users are promised them.
struct ContractTests {
  private static let online = [
    "--rendezvous", "--identity", "--name", "--bind", "--turn", "--turn-user", "--turn-password",
    "--paths", "--no-port-mapping", "--overwrite", "--json", "--events", "--report", "--pcap",
    "--log-level", "--quiet",
  ]
  /// What a transfer has not.
  private static let pages = ["--report", "--pcap"]
  private static let sound = [
    "--play", "--loop", "--mute", "--save", "--video", "--save-video", "--duration", "--bitrate",
    "--frame", "--max-video-bitrate", "--no-fec", "--no-nack", "--fallback", "--extension",
    "--min-mos",
  ]
  private static let contract: [(command: String, options: [String])] = [
    ("keygen", ["--rotate"]), ("card", ["--qr"]),
    (
      "probe",
      online + [
        "--uplink", "--downlink", "--expected-uplink", "--expected-downlink", "--duration",
        "--watch", "--require", "--every", "--for", "--interval", "--csv",
        "--dscp", "--packets", "--both-at-once", "--history",
      ]
    ),
    ("call", online + sound + ["--ring-timeout", "--invite", "--from"]),
    (
      "answer",
      online + sound + [
        "--accept", "--reject", "--ask", "--from", "--ring-for", "--calls", "--fail-fast",
      ]
    ),
    ("inspect", []),
    (
      "join",
      [
        "--role", "--token", "--also", "--mesh", "--relay", "--play", "--save", "--save-each",
        "--video", "--save-video", "--duration",
      ]
    ),
    ("send", online.filter { !pages.contains($0) } + ["--file", "--text"]),
    ("receive", online.filter { !pages.contains($0) } + ["--dir", "--from"]), ("contacts", []),
    ("token", []),
    ("doctor", ["--rendezvous", "--long", "--identity", "--bind", "--no-port-mapping", "--json"]),
  ]

  @Test func `every command of the contract is there`() {
    for (command, _) in Self.contract {
      #expect(Subcommand(rawValue: command) != nil, "\(command)")
    }
  }

  @Test func `every option of the contract is in the help`() {
    for (name, options) in Self.contract {
      guard let command = Subcommand(rawValue: name) else { continue }
      let words = Help.text(command).split { " \n[]|,;".contains($0) }.map(String.init)
      for option in options { #expect(words.contains(option), "\(name) \(option)") }
    }
  }

  @Test func `a misspelt option is named before the rendezvous that it was meant to give`() {
    for command in ["call bob", "probe bob", "answer"] {
      var words = command.split(separator: " ").map(String.init)
      let name = words.removeFirst()
      words += ["--rendevous", "h:1"]
      let error = #expect(throws: UsageError.self) {
        switch name {
        case "call": _ = try CallCommand(Arguments(words)) { _ in nil }
        case "probe": _ = try ProbeCommand(Arguments(words)) { _ in nil }
        default: _ = try AnswerCommand(Arguments(words), isOnTerminal: true) { _ in nil }
        }
      }
      #expect(error?.message.contains("--rendevous") == true)
      #expect(error?.advice.contains("--rendezvous") == true)
    }
  }
}
