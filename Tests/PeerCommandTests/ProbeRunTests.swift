import Arguments
import Earshot
import PeerCommand
import Primitives
import Reactor
import Testing

@Suite struct ProbeRunTests {
  private struct Told {
    var lines: [JSONValue]
    var isOver: Bool
    var result: LineReport
  }

  private static func play(
    _ words: [String] = ["h:1"], _ body: (ProbeRun) -> Void
  ) throws -> Told {
    let folder = try TemporaryFolder()
    let options = try ProbeOptions(Arguments(words)) { _ in nil }
    let lines = JSONLines(to: [try OutputFile(creating: folder.file("lines"))])
    let console = Console(isJSON: true, isQuiet: true)
    let run = ProbeRun(options, console, lines, now: .zero)
    body(run)
    let bytes = try folder.bytes(of: "lines")
    let objects = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
      .compactMap { JSONReader.value(of: $0) }
    return Told(lines: objects, isOver: run.isOver, result: run.result)
  }

  @Test func `progress becomes events, the result a probe line`() throws {
    let told = try Self.play { run in
      run.handleProgress(.phaseBegan(.idle), now: .zero)
      run.handleProgress(.progressed(share: 0.2, latestRoundTripMs: 40), now: .zero + .seconds(1))
      run.handleProgress(.firstGrade(ProbeSample.report()), now: .zero + .seconds(2))
      run.handleProgress(.finished(ProbeSample.report()), now: .zero + .seconds(8))
      run.handleProgress(.finished(ProbeSample.report()), now: .zero + .seconds(9))
    }
    #expect(
      told.lines.map { $0["name"]?.asString ?? $0["type"]?.asString } == [
        "schema", "probePhase", "probeFirstGrade", "probe",
      ])
    #expect(told.isOver && told.result == ProbeSample.report())
  }

  @Test func `no result in time is no answer, and a late one is not told`() throws {
    let told = try Self.play { run in
      let due = run.nextDeadline ?? .zero
      #expect(due == .zero + .seconds(8))
      #expect(run.wake(now: due) == .nothing)
      run.handleProgress(.finished(ProbeSample.report()), now: due)
    }
    #expect(told.isOver && told.result.ending == .noAnswer)
    #expect(told.lines.count == 2 && told.lines[1]["state"]?.asString == "unavailable")
    #expect(told.lines[1]["cost"]?["seconds"]?.asNumber == 8)
  }

  @Test func `a result that is late is asked for, and what is known stands for it`() throws {
    let told = try Self.play { run in
      run.begin(now: .zero)
      run.handleProgress(.firstGrade(ProbeSample.report()), now: .zero + .seconds(2))
      let due = run.nextDeadline ?? .zero
      #expect(due == .zero + .milliseconds(8_250))
      #expect(run.wake(now: due) == .stop && !run.isOver)
      #expect(run.wake(now: due + .milliseconds(250)) == .nothing && run.isOver)
      run.handleProgress(.finished(ProbeSample.report()), now: due + .seconds(1))
    }
    #expect(told.result.state == ProbeSample.report().state && told.result.ending == .noAnswer)
    #expect(told.lines.last?["state"]?.asString != "unavailable")
    #expect(told.lines.last?["rttMs"] != nil)
  }

  @Test func `a signal asks for the end once, a second one ends at once`() throws {
    let told = try Self.play { run in
      #expect(run.stop() == .stop)
      #expect(!run.hasAborted)
      var partial = ProbeSample.report()
      partial.ending = .cancelled
      run.handleProgress(.finished(partial), now: .zero + .seconds(3))
      #expect(run.stop() == .nothing && run.hasAborted)
    }
    #expect(told.result.ending == .cancelled)
    #expect(told.lines.last?["ending"]?.asString == "cancelled")
    let sentence = told.lines.last?["sentence"]?.asString
    #expect(sentence?.hasSuffix("interrupted, so this is not the whole of it.") == true)
  }

  @Test func `a watched line is graded every two seconds until a signal`() throws {
    let told = try Self.play(["h:1", "--watch"]) { run in
      for round in 0..<3 {
        let began = Instant.zero + .seconds(2 * round)
        run.handleProgress(.finished(ProbeSample.report()), now: began + .milliseconds(1200))
        #expect(!run.isOver && run.nextDeadline == began + .seconds(2))
        #expect(run.wake(now: began + .seconds(2)) == .begin)
        run.begin(now: began + .seconds(2))
      }
      #expect(run.nextDeadline == .zero + .milliseconds(14_250))
      run.handleProgress(.finished(ProbeSample.unavailable(.noAnswer)), now: .zero + .seconds(20))
      #expect(run.stop() == .nothing)
    }
    #expect(told.isOver)
    #expect(
      told.lines.dropFirst().map { $0["state"]?.asString } == [
        "complete", "complete", "complete", "unavailable",
      ])
  }
}
