import Arguments
import Earshot
import PeerCommand
import Primitives
import Testing

/// Slips of whoever types a command, each with its remedy.
struct SlipTests {
  /// What is said of a command line that is refused.
  private static func refusal(_ words: [String]) throws -> UsageError {
    let arguments = Arguments(Array(words.dropFirst()))
    let error = #expect(throws: UsageError.self) {
      switch words[0] {
      case "call": _ = try CallCommand(arguments) { _ in nil }
      case "answer": _ = try AnswerCommand(arguments, isOnTerminal: false) { _ in "h:1" }
      case "receive": _ = try ReceiveCommand(arguments) { _ in "h:1" }
      case "send": _ = try SendCommand(arguments) { _ in nil }
      case "probe": _ = try ProbeOptions(arguments) { _ in nil }
      case "doctor": _ = try DoctorCommand(arguments) { _ in nil }
      case "keygen": _ = try KeygenCommand(arguments)
      case "card": _ = try CardCommand(arguments)
      case "contacts": _ = try ContactsCommand(arguments)
      default: _ = try ReplayCommand(arguments)
      }
    }
    return try #require(error)
  }

  @Test(arguments: [
    ("call bob --rendezvous h:1 --identity=", "Write --identity FILE."),
    ("call bob --rendezvous h:1 --play=", "Write --play FILE."),
    ("doctor 192.0.2.1:7400", "Write --rendezvous 192.0.2.1:7400."),
    ("doctor now", ""),
    ("answer bob --accept", "Write --name bob to be called by that name."),
    ("receive bob", "Write --name bob to be called by that name."),
    ("keygen bob", "Write --name bob to be called by that name."),
    ("card bob", "Write --name bob to be called by that name."),
    ("send bob big.bin --rendezvous h:1", "Write --file big.bin."),
    ("send bob carol --text hi --rendezvous h:1", ""),
    (
      "send bob --file - --rendezvous h:1",
      "Put it into a file first, and write --file FILE."
    ),
    ("send bob --text= --rendezvous h:1", "Write --text TEXT."),
    ("probe h:1 --expected-uplink 10Mbps", "Write --expected-uplink 10M."),
    ("probe h:1 --expected-uplink 2.5mbit/s", "Write --expected-uplink 2.5M."),
    ("probe h:1 --expected-uplink 9G", ""),
    (
      "call bob --rendezvous h:1 --duration 1h30",
      "Write one number with one unit: 500ms, 90s, 5m or 1.5h."
    ),
    ("answer --accept --save {x}.wav", "Write {n} for the number of the call."),
    ("call bob --rendezvous h:1 --report rep.pdf", "Write --report rep.html."),
    ("call bob --rendezvous h:1 --JSON", "Did you mean --json?"),
    ("call bob@h:1", "Write bob --rendezvous h:1."),
    ("call h:1", "Write NAME --rendezvous h:1."),
    ("call bob", "Write --rendezvous HOST:PORT, or set EARSHOT_RENDEZVOUS."),
    ("contacts remove bob", "Did you mean forget?"), ("contacts add", "Did you mean import?"),
  ])
  func `a slip is told with its remedy`(line: String, advice: String) throws {
    let error = try Self.refusal(line.split(separator: " ").map(String.init))
    #expect(error.advice == advice, "\(error)")
    #expect(error.message.hasSuffix("."))
  }

  @Test func `a blank in a rendezvous is named`() throws {
    let error = try Self.refusal(["call", "bob", "--rendezvous", "127.0.0.1:7477 "])
    #expect(error.message.hasSuffix("there is a blank in it."))
  }

  @Test func `times have their units, and this host its name`() throws {
    let replay = try ReplayCommand(Arguments(["f", "--most-delay", "40ms", "--least-delay", "3"]))
    #expect(replay.settings.mostDelayMs == 40 && replay.settings.leastDelayMs == 3)
    let words = ["bob", "--rendezvous", "h:1", "--bind", "localhost:0"]
    #expect(try CallCommand(Arguments(words)) { _ in nil }.online.bind == "127.0.0.1:0")
  }

  @Test func `names by which nobody is pinned are told`() throws {
    let folder = try TemporaryFolder()
    let book = try ContactBook(identityFile: folder.file("me"))
    let card = try LocalIdentityFile.open(at: folder.file("other"), name: "bob").card
    _ = try book.keep(PeerCard(card))
    let filter = try CallerFilter("known,bob,everybody")
    #expect(filter.names(missingIn: try book.entries()) == ["everybody"])
    #expect(try CallerFilter(nil).names(missingIn: []).isEmpty)
  }

  @Test func `an address of another host is told with a remedy`() async throws {
    var configuration = Configuration(rendezvous: "127.0.0.1:1")
    configuration.isEphemeral = true
    configuration.bind = "192.0.2.77:0"
    let error = await #expect(throws: EarshotError.self) {
      _ = try await Endpoint.open(configuration)
    }
    #expect(error?.message == "This host has no address 192.0.2.77.")
    #expect(error?.advice.isEmpty == false)
    #expect(error.map { ExitCode($0.code) } == .usage)
  }

  @Test func `the end table knows the card and the code that was confirmed`() {
    var report = Sample.report()
    report.trust = .new
    var peer = EndTable.Peer()
    func with() -> String { EndTable.rows(report, savedTo: nil, with: peer)[1].text }
    #expect(with().hasSuffix("never met before"))
    peer.isConfirmed = true
    #expect(with() == "bob, \(Wording.short(.zero)), verified")
    report.peerName = nil
    report.trust = .verified
    #expect(with() == "\(PeerID.zero), verified")
    peer.cardName = "carol"
    #expect(with() == "carol (by its card), \(Wording.short(.zero)), verified")
    report.trust = .changed
    #expect(with().hasSuffix("NOT the identity of before"))
  }
}
