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
    _ words: [String] = ["h:1"], _ sheet: ProbeSheet? = nil, _ body: (ProbeRun) -> Void
  ) throws -> Told {
    let folder = try TemporaryFolder()
    let options = try ProbeOptions(Arguments(words)) { _ in nil }
    let lines = JSONLines(to: [try OutputFile(creating: folder.file("lines"))])
    let console = Console(isJSON: true, isQuiet: true)
    let run = ProbeRun(options, console, lines, sheet, now: .zero)
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

  @Test func `whole probes are made so often for so long, whatever one of them finds`() throws {
    let folder = try TemporaryFolder()
    let sheet = try ProbeSheet(folder.file("csv"), overwrites: false)
    var series = ProbeSeries()
    let told = try Self.play(["h:1", "--every", "60s", "--for", "3m"], sheet) { run in
      for round in 0..<3 {
        let began = Instant.zero + .seconds(60 * round)
        let found = round == 1 ? ProbeSample.unavailable(.noAnswer) : ProbeSample.report()
        run.begin(now: began)
        run.handleProgress(.finished(found), now: began + .seconds(8))
        guard round < 2 else { continue }
        #expect(!run.isOver && run.nextDeadline == began + .seconds(60))
        #expect(run.wake(now: began + .seconds(60)) == .begin)
      }
      series = run.series
      #expect(run.code(last: .unreachable) == .done)
    }
    #expect(told.isOver && series.count == 3 && series.answeredCount == 2)
    #expect(told.lines.filter { $0["type"]?.asString == "probe" }.count == 3)
    #expect(series.text.hasPrefix("3 probes in 2:08, 2 answered; the worst was "))
    #expect(series.json.value["rttMs"]?["p95"]?.asNumber == 41)
    let rows = String(decoding: try folder.bytes(of: "csv"), as: UTF8.self)
      .split(separator: "\r\n", omittingEmptySubsequences: true)
    #expect(rows.count == 4 && rows[0].hasPrefix("time,state,quality,rtt_ms,"))
    #expect(rows.allSatisfy { $0.filter { $0 == "," }.count == ProbeSheet.columns.count - 1 })
    #expect(rows[1].contains(",complete,") && rows[2].contains(",unavailable,"))
    let ends = ",mos,uplink_predicted_residual_loss,downlink_predicted_residual_loss"
    #expect(rows[0].hasSuffix(ends))
    let speech = try #require(ProbeSample.report().rating.speech)
    let predicted = rows[1].split(separator: ",", omittingEmptySubsequences: false).suffix(2)
    #expect(predicted.map { Double($0).map { $0 > 0 } } == [true, false], "\(predicted)")
    #expect(
      abs((Double(predicted.first ?? "") ?? 0) - (speech.uplinkResidualLoss ?? 1)) < 1e-6,
      "\(predicted)")
  }

  @Test func `a probe of a series that cannot begin is no end, and an unfit line is told`() throws {
    let words = ["h:1", "--every", "1m", "--require", "hd"]
    let told = try Self.play(words) { run in
      run.begin(now: .zero)
      run.giveUp(.callInProgress, now: .zero + .seconds(1))
      #expect(!run.isOver && run.wake(now: .zero + .seconds(60)) == .begin)
      run.begin(now: .zero + .seconds(60))
      run.handleProgress(.finished(ProbeSample.report()), now: .zero + .seconds(68))
      #expect(run.stop() == .nothing && run.isOver)
      #expect(run.code(last: .done) == .quality)
    }
    #expect(told.isOver)
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
