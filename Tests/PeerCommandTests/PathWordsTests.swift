import Earshot
import PeerCommand
import Primitives
import Testing

/// Why there was no path, and what was tried, as users see it.
struct PathWordsTests {
  private static let own = PathAttempt.Candidate(
    .host, SocketAddress(v4: 10, 0, 0, 5, port: 4000))
  private static let ownSeen = PathAttempt.Candidate(
    .serverReflexive, SocketAddress(v4: 203, 0, 113, 9, port: 4000))
  private static let theirs = PathAttempt.Candidate(
    .host, SocketAddress(v4: 192, 168, 1, 7, port: 5000))
  private static let theirsSeen = PathAttempt.Candidate(
    .serverReflexive, SocketAddress(v4: 198, 51, 100, 3, port: 5000))

  private func cause(
    _ own: [PathAttempt.Candidate], _ checks: PathAttempt.Check...
  ) -> PathAttempt.Cause {
    PathAttempt(own: own, checks: checks).cause
  }

  @Test func `the cause is what the checks show`() {
    let silent = PathAttempt.Check(Self.theirs, asked: 5)
    let silentSeen = PathAttempt.Check(Self.theirsSeen, asked: 5)
    let both = [Self.own, Self.ownSeen]
    #expect(cause(both) == .nothingOffered)
    #expect(cause(both, PathAttempt.Check(Self.theirs, asked: 0)) == .noCommonFamily)
    #expect(cause(both, silent, silentSeen) == .translators)
    #expect(cause([Self.own], silent, silentSeen) == .filtered)
    #expect(cause(both, silent) == .filtered)
    let same = PathAttempt.Candidate(
      .serverReflexive, SocketAddress(v4: 203, 0, 113, 9, port: 6000))
    #expect(cause(both, silent, PathAttempt.Check(same, asked: 3)) == .sameTranslator)
    #expect(
      cause(both, silent, PathAttempt.Check(Self.theirsSeen, asked: 3, hasAsked: true)) == .oneWay)
    #expect(
      cause(both, PathAttempt.Check(Self.theirs, asked: 1, isAnswered: true)) == .lostAgain)
  }

  @Test func `what each side is behind is what its addresses show`() {
    func kinds(
      _ own: [PathAttempt.Candidate], _ theirs: PathAttempt.Candidate...
    ) -> [PathAttempt.Translator] {
      let attempt = PathAttempt(
        own: own, checks: theirs.map { PathAttempt.Check($0, asked: 1) })
      return [attempt.ownTranslator, attempt.peerTranslator]
    }
    let other = PathAttempt.Candidate(
      .peerReflexive, SocketAddress(v4: 198, 51, 100, 3, port: 5001))
    let changed = PathAttempt.Candidate(
      .serverReflexive, SocketAddress(v4: 203, 0, 113, 9, port: 4001))
    let open = PathAttempt.Candidate(.host, SocketAddress(v4: 203, 0, 113, 9, port: 4000))
    #expect(kinds([Self.own]) == [.unknown, .unknown])
    #expect(kinds([Self.own, Self.ownSeen], Self.theirs) == [.keepsPort, .unknown])
    #expect(
      kinds([Self.own, changed], Self.theirs, Self.theirsSeen) == [.changesPort, .keepsPort])
    #expect(kinds([open], Self.theirs, Self.theirsSeen, other) == [.none, .mapsEachDestination])
    #expect(kinds([open, Self.ownSeen]) == [.none, .unknown])
  }

  @Test func `each cause has a sentence and a remedy of its own`() {
    let words = [
      PathAttempt(own: [], checks: []),
      PathAttempt(own: [Self.own], checks: [PathAttempt.Check(Self.theirs, asked: 4)]),
      PathAttempt(own: [Self.own], checks: [PathAttempt.Check(Self.theirs, asked: 0)]),
    ].map { [$0.sentence, $0.remedy] }
    #expect(Set(words).count == 3)
    #expect(words.joined().allSatisfy { $0.hasSuffix(".") })
    #expect(words[1][1].contains("earshot-relay") && words[1][1].contains("--turn"))
  }

  @Test func `the table, the page and the summary name both sides and each check`() {
    var report = CallReport(
      callID: Sample.id, outcome: .unreachable, reason: "No path.", role: .caller)
    let bare = EndTable.text(report, savedTo: nil)
    #expect(!bare.contains("tried"))
    report.pathAttempt = PathAttempt(
      own: [Self.own, Self.ownSeen],
      checks: [
        PathAttempt.Check(Self.theirs, asked: 1), PathAttempt.Check(Self.theirsSeen, asked: 7),
      ], relay: .unavailable(.invalidArgument("The TURN server does not answer.", advice: "")))
    let text = EndTable.text(report, savedTo: nil)
    for part in [
      "no path    Both sides are behind translators", "to do      Run earshot doctor",
      "offered    10.0.0.5:4000 (own), 203.0.113.9:4000 (as the rendezvous sees it)",
      "tried      192.168.1.7:5000 (own): asked once, no answer",
      "198.51.100.3:5000 (as the rendezvous sees it): asked 7 times, no answer",
      "translator here: one that keeps the port; there: one that keeps the port",
      "relay      The TURN server does not answer.",
    ] { #expect(text.contains(part), "\(part)") }
    #expect(ReportPage.html(report, []).contains("asked 7 times, no answer"))
    var object = JSONObject()
    SummaryLine.fill(&object, report)
    let json = object.value.text
    #expect(
      json.contains(
        #"{"kind":"serverReflexive","address":"198.51.100.3:5000","asked":7,"answered":false"#))
    #expect(json.contains(#""pathAttempt":{"cause":"translators""#))
    #expect(json.contains(#""peerTranslator":"keepsPort","relay":{"message":"The TURN server"#))
  }
}
