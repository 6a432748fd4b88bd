import Primitives
import Testing
import Wire

@testable import Earshot

/// What is concluded from trials of a line, and how the searches go.
@Suite struct LineTrialsTests {
  @Test func `filtering is what the trials prove and no more`() {
    #expect(Filtering(otherPort: true, otherAddress: true) == .endpointIndependent)
    #expect(Filtering(otherPort: nil, otherAddress: true) == .endpointIndependent)
    #expect(Filtering(otherPort: true, otherAddress: false) == .addressDependent)
    #expect(Filtering(otherPort: false, otherAddress: false) == .addressAndPortDependent)
    #expect(Filtering(otherPort: false, otherAddress: nil) == .addressAndPortDependent)
    #expect(Filtering(otherPort: true, otherAddress: nil) == .notByPort)
    #expect(Filtering(otherPort: nil, otherAddress: nil) == nil)
    #expect(Filtering(otherPort: nil, otherAddress: false) == nil)
  }

  @Test(arguments: [63, 64, 65, 100, 548, 1100, 1199, 1200])
  func `the longest packet is found within a few tries`(limit: Int) {
    var search = PacketLengthSearch(64...1200)
    var tries = 0
    while let length = search.next, tries < 20 {
      tries += 1
      search.recordTrial(length, hasPassed: length <= limit)
    }
    #expect(tries <= 11 && search.next == nil)
    guard limit >= 64 else {
      #expect(search.longest == nil)
      return
    }
    let found = search.longest ?? 0
    #expect(found <= limit && limit - found < PacketLengthSearch.step, "\(found) of \(limit)")
    #expect(limit < 1200 || tries == 1)
  }

  @Test(arguments: [(1200, 1200), (1200, 700), (900, 1200), (900, 900), (64, 1200), (700, 64)])
  func `no echo is asked for that is longer than its request`(out: Int, back: Int) throws {
    var search = EchoLengthSearch(64...1200)
    var tries = 0
    while let (request, echo) = search.next, tries < 40 {
      tries += 1
      #expect(echo <= request)
      search.recordOutcome(hasPassed: request <= out && echo <= back)
    }
    let request = try #require(search.longestRequest)
    let echo = try #require(search.longestEcho)
    #expect(request <= out && out - request < PacketLengthSearch.step, "\(request) of \(out)")
    let most = min(request, back)
    #expect(echo <= most && most - echo < PacketLengthSearch.step, "\(echo) of \(most)")
    #expect(search.next == nil && tries <= 22)
  }

  @Test func `where no request gets there no echo is looked for`() {
    var search = EchoLengthSearch(64...1200)
    while search.next != nil { search.recordOutcome(hasPassed: false) }
    #expect(search.longestRequest == nil && search.longestEcho == nil)
  }

  @Test func `what was not tried has its reason, and too often is none of age`() {
    var trials = LineTrials()
    trials.giveUp(EchoOutcome(), isLong: false)
    #expect(trials.filteringUntested == EchoOutcome.noEchoes && trials.lifetimeUntested == nil)
    trials.giveUp(EchoOutcome(status: .tooMany), isLong: true)
    for reason in [
      trials.filteringUntested, trials.packetSizeUntested, trials.lifetimeUntested,
    ] { #expect(reason?.contains("too often") == true && reason?.contains("older") == false) }
    #expect(EchoOutcome(status: .noOtherPort).reason.contains("no other port"))
    #expect(EchoOutcome(status: .sent).reason == EchoOutcome.noWord)
  }

  /// The rounds of a search behind a box that forgets after `seconds`, and how long they take.
  private func search(_ seconds: Double) -> (LifetimeSearch, took: Duration) {
    var search = LifetimeSearch()
    var took = Duration.zero
    while !search.nextRound.isEmpty, took < .seconds(1000) {
      let round = search.nextRound
      #expect(round.count == LifetimeSearch.socketCount && round == round.sorted())
      #expect(round.allSatisfy { $0 > .zero && $0 <= LifetimeSearch.longest })
      took += round.last ?? .zero
      search.recordOutcomes(round.map { ($0, $0 < .seconds(seconds)) })
    }
    return (search, took)
  }

  @Test(arguments: [1.0, 5, 8.5, 12, 19.9, 30, 43, 55])
  func `a lifetime is found to two seconds, within two minutes`(seconds: Double) throws {
    let (search, took) = search(seconds)
    let lessThan = try #require(search.lessThan)
    #expect(search.atLeast < .seconds(seconds) && lessThan >= .seconds(seconds))
    #expect(lessThan - search.atLeast <= .milliseconds(2001), "\(search)")
    #expect(took <= .seconds(112))
  }

  @Test func `what outlives every silence has no end, in one round`() {
    let (search, took) = search(120)
    #expect(search.lessThan == nil && search.atLeast == LifetimeSearch.longest)
    #expect(took == LifetimeSearch.longest)
  }

  @Test func `a lost echo in the middle is no contradiction, and giving up ends it`() {
    var search = LifetimeSearch()
    search.recordOutcomes(search.nextRound.map { ($0, $0 != .seconds(20)) })
    #expect(search.lessThan == .seconds(20) && search.atLeast == .seconds(8))
    search.giveUp()
    #expect(search.nextRound.isEmpty)
  }

  // MARK: - In words

  private func sighting(_ change: (inout LineTrials) -> Void) -> RendezvousSighting {
    var sighting = RendezvousSighting(
      name: "r:7400", address: SocketAddress(v4: 192, 0, 2, 1, port: 7400), isAnswered: true)
    sighting.local = SocketAddress(v4: 10, 0, 0, 5, port: 4000)
    sighting.seenAs = SocketAddress(v4: 203, 0, 113, 9, port: 4000)
    var trials = LineTrials()
    change(&trials)
    sighting.trials = trials
    return sighting
  }

  private func finding(
    _ subject: Finding.Subject, _ change: (inout LineTrials) -> Void
  ) -> Finding? {
    let found = sighting(change).trialFindings(opensPort: false)
    for finding in found {
      #expect((finding.remedy == nil) == (finding.verdict == .good), "\(finding)")
      #expect(finding.text.hasSuffix("."), "\(finding)")
    }
    return found.first { $0.subject == subject }
  }

  @Test func `each filtering has its verdict`() {
    let verdicts: [(Filtering?, Finding.Verdict)] = [
      (.endpointIndependent, .good), (.addressDependent, .good), (.notByPort, .good),
      (.addressAndPortDependent, .weak), (nil, .unknown),
    ]
    for (filtering, verdict) in verdicts {
      let found = finding(.filtering) { $0.filtering = filtering }
      #expect(found?.verdict == verdict, "\(String(describing: filtering))")
    }
    let untold = finding(.filtering) { $0.filteringUntested = "the moon is full" }
    #expect(untold?.text.contains("not tested: the moon is full.") == true)
  }

  @Test func `hairpin, lifetime and packet size are told where they were tried`() {
    #expect(sighting { _ in }.trialFindings(opensPort: false).map(\.subject) == [.filtering])
    #expect(finding(.hairpin) { $0.hairpins = true }?.verdict == .good)
    #expect(finding(.hairpin) { $0.hairpins = false }?.verdict == .weak)
    let lifetimes: [(MappingLifetime, Finding.Verdict)] = [
      (MappingLifetime(atLeastSeconds: 56), .good),
      (MappingLifetime(atLeastSeconds: 28, lessThanSeconds: 30), .good),
      (MappingLifetime(atLeastSeconds: 10, lessThanSeconds: 12), .bad),
      (MappingLifetime(atLeastSeconds: 0, lessThanSeconds: 1.3), .bad),
    ]
    for (lifetime, verdict) in lifetimes {
      let found = finding(.lifetime) { $0.lifetime = lifetime }
      #expect(found?.verdict == verdict, "\(lifetime)")
    }
    let short = finding(.packetSize) {
      ($0.largestUplinkPacket, $0.largestDownlinkPacket) = (1228, 1092)
    }
    #expect(short?.verdict == .weak && short?.text.contains("those of 1092 in") == true)
    #expect(short?.text.contains("or more") == false)
    let cut = finding(.packetSize) {
      ($0.largestUplinkPacket, $0.largestDownlinkPacket) = (900, 900)
    }
    #expect(cut?.verdict == .weak && cut?.text.contains("those of 900 or more in") == true)
    let untold = finding(.packetSize) { $0.packetSizeUntested = "it rains" }
    #expect(untold?.verdict == .unknown && untold?.text.contains("it rains") == true)
    let silent = finding(.lifetime) { $0.lifetimeUntested = "it rains" }
    #expect(silent?.verdict == .unknown && silent?.text.contains("it rains") == true)
    let whole = finding(.packetSize) {
      ($0.largestUplinkPacket, $0.largestDownlinkPacket) = (1228, 1228)
    }
    #expect(whole?.verdict == .good)
  }

  @Test func `a relay that fails is in the way unless another one does not`() {
    var good = RelaySighting(uri: "turn:a:3478")
    good.relayed = SocketAddress(v4: 192, 0, 2, 9, port: 50_000)
    good.roundTripMs = 12
    var bad = RelaySighting(uri: "turn:b:3478", isOffered: true)
    bad.error = EarshotError(.relayUnavailable, "It is asleep.", advice: "Wake it.")
    func verdicts(_ relays: [RelaySighting]) -> [Finding.Verdict] {
      NetworkDiagnosis(host: HostFacts(), relays: relays).relayFindings.map(\.verdict)
    }
    #expect(verdicts([]) == [.unknown])
    #expect(verdicts([good]) == [.good])
    #expect(verdicts([bad]) == [.bad])
    #expect(verdicts([good, bad]) == [.good, .weak])
  }

  @Test func `relays that were tried are told whatever became of the rendezvous`() {
    var relay = RelaySighting(uri: "turn:a:3478")
    relay.relayed = SocketAddress(v4: 192, 0, 2, 9, port: 50_000)
    var silent = sighting { _ in }
    (silent.isAnswered, silent.seenAs, silent.trials) = (false, nil, nil)
    silent.error = .rendezvousUnreachable(SocketAddress(v4: 192, 0, 2, 1, port: 7400))
    for sightings in [[], [silent], [sighting { _ in }]] {
      let told = NetworkDiagnosis(host: HostFacts(), sightings: sightings, relays: [relay])
      #expect(told.findings.filter { $0.subject == .relay }.map(\.verdict) == [.good])
    }
    func text(_ sighting: RendezvousSighting) -> String? {
      NetworkDiagnosis(host: HostFacts(), sightings: [sighting]).relayFindings.first?.text
    }
    #expect(text(sighting { _ in })?.contains("the rendezvous names none") == true)
    var refused = silent
    refused.isAnswered = true
    #expect(text(refused) == "No relay was tested: none was named.")
  }
}
