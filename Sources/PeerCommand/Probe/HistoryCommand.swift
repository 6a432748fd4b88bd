package import Arguments
internal import Earshot
internal import Plotting
internal import Primitives
internal import Reactor

/// `earshot probe --history`: what probes predicted, and what the calls after them had.
package struct HistoryCommand: Sendable {
  package var identity: String?
  /// Of one peer alone.
  package var target: String?
  package var isJSON: Bool
  package var report: String?
  package var overwrites: Bool

  /// Whether a command line of `probe` asks for it.
  package static func isMeant(_ words: [String]) -> Bool { words.contains("--history") }

  package init(_ arguments: consuming Arguments) throws(UsageError) {
    var arguments = arguments
    _ = try arguments.flag("--history")
    identity = try arguments.file("--identity")
    // As in the probe's own command; nothing is asked there.
    _ = try arguments.option("--rendezvous")
    isJSON = try arguments.flag("--json")
    report = try OnlineOptions.page(arguments.file("--report"))
    overwrites = try arguments.flag("--overwrite")
    target = arguments.optionalPositional()
    try arguments.finish()
  }

  package func run() throws(CommandFailure) -> ExitCode {
    var claims = FileClaims()
    claims.keepsIdentity(identity)
    claims.writes(report, "--report")
    try claims.check()
    // Without a home directory there is no history to be read, which is not an empty one.
    do throws(EarshotError) {
      _ = try LocalIdentityFile.path(identity)
    } catch {
      throw CommandFailure(error)
    }
    let all: [ProbeHistory.Pair]
    do throws(ReactorError) {
      all = try ProbeHistory(besideIdentity: identity).pairs()
    } catch {
      throw CommandFailure(file: error)
    }
    let pairs = all.filter { target == nil || $0.target == target }
    if isJSON {
      for pair in pairs { print(pair.json.value.text) }
    } else {
      print(LineWrap.fitted(HistoryText.text(pairs, of: target, among: all)))
    }
    if let report { try write(pairs, to: report) }
    return .done
  }

  private func write(_ pairs: [ProbeHistory.Pair], to path: String) throws(CommandFailure) {
    let page =
      path.hasSuffix(".svg")
      ? Scatter.document("Predicted by probes, had by calls", HistoryText.scatters(pairs))
      : HistoryText.page(pairs, origin: .here)
    do throws(ReactorError) {
      try OutputFile(try PendingFile(path, overwrites: overwrites)).write(page)
    } catch {
      throw CommandFailure(file: error)
    }
  }
}
