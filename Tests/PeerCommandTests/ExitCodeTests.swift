import Arguments
import Earshot
import Foundation
import MediaFiles
import PeerCommand
import Reactor
import Testing

struct ExitCodeTests {
  @Test(arguments: [
    (CallReport.Outcome.completed, ExitCode.done), (.rejected, .refused), (.busy, .refused),
    (.cancelled, .refused), (.timeout, .timeout), (.unreachable, .unreachable),
    (.lost, .unreachable), (.failed, .failed),
  ])
  func `an outcome has its code`(outcome: CallReport.Outcome, code: ExitCode) {
    #expect(ExitCode(Sample.report(outcome)) == code)
  }

  @Test func `who rejects has done what it meant to do`() {
    var report = Sample.report(.rejected)
    report.role = .callee
    #expect(ExitCode(report) == .done)
  }

  @Test func `an identity that changed is seven, whatever else happened`() {
    var report = Sample.report(.failed)
    report.trust = .changed
    #expect(ExitCode(report) == .identity)
  }

  @Test func `a call below the least quality is six`() throws {
    var sound = try CallCommand(["bob", "--min-mos", "4.1"]).sound
    #expect(sound.code(of: Sample.report()) == .done)
    sound.leastMOS = 4.3
    #expect(sound.code(of: Sample.report()) == .quality)
    #expect(sound.code(of: Sample.report(.lost)) == .unreachable)
    var silent = Sample.report()
    silent.statistics = nil
    #expect(sound.code(of: silent) == .quality)
    // The other side was muted all the time: there is nothing to judge.
    var muted = Sample.report()
    muted.statistics?.received = CallStatistics.Inbound()
    #expect(sound.code(of: muted) == .done)
    muted.statistics?.received.packetsReceived = 9
    #expect(sound.code(of: muted) == .quality)
  }

  @Test(arguments: EarshotError.Code.allCases)
  func `every error is in docs errors md with its exit code`(code: EarshotError.Code) throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/errors.md"), encoding: .utf8)
    let line = try #require(
      page.split(separator: "\n").first { $0.hasPrefix("| `\(code.rawValue)` |") })
    #expect(line.hasSuffix("| \(ExitCode(code).rawValue) |"))
  }

  @Test func `failures read as a sentence and advice`() {
    let failure = CommandFailure(.file, "There is no file x.", advice: "Check the name.")
    #expect(failure.text == "earshot: There is no file x.\n  Check the name.")
    #expect(CommandFailure(.failed, "No.").text == "earshot: No.")
    let error = #expect(throws: MediaFileError.self) {
      _ = try PlayedSource("/nowhere.wav", isLooped: false) {}
    }
    #expect(error.map { CommandFailure($0).code } == .file)
    let full = #expect(throws: ReactorError.self) {
      _ = try OutputFile(creating: "/nowhere/file")
    }
    #expect(full.map { CommandFailure(file: $0).code } == .file)
  }
}

extension CallCommand {
  fileprivate init(_ words: [String]) throws {
    try self.init(Arguments(words)) { _ in "127.0.0.1:7400" }
  }
}
