import Foundation
import Testing

@testable import Earshot

/// What is concluded from what a rendezvous told, and what a live one tells.
@Suite(.serialized) struct DiagnosisTests {
  private static func address(_ text: String) throws -> SocketAddress {
    try #require(SocketAddress(text))
  }

  /// This host at 10.0.0.5:4000, asked at `server`, seen as `seen`.
  private static func sighting(
    _ server: String, seen: String, own: String = "10.0.0.5:4000"
  ) throws -> RendezvousSighting {
    var sighting = RendezvousSighting(
      name: "r:7400", address: try address(server), isAnswered: true)
    sighting.local = try address(own)
    sighting.seenAs = try address(seen)
    return sighting
  }

  private static func diagnosis(_ sightings: RendezvousSighting...) -> NetworkDiagnosis {
    var host = HostFacts()
    host.routesIPv4 = true
    host.routesIPv6 = true
    host.interfaces = [.init("eth0", SocketAddress(v4: 10, 0, 0, 5, port: 0))]
    return NetworkDiagnosis(host: host, sightings: sightings)
  }

  private static func verdict(
    _ subject: Finding.Subject, _ diagnosis: NetworkDiagnosis
  ) -> Finding.Verdict? {
    diagnosis.findings.first { $0.subject == subject }?.verdict
  }

  @Test func `an own address that is seen is no translator`() throws {
    let told = Self.diagnosis(try Self.sighting("192.0.2.1:7400", seen: "10.0.0.5:4000"))
    #expect(told.translators.map(\.mapping) == [.none])
    #expect(Self.verdict(.translator, told) == .good)
    #expect(Self.verdict(.filtering, told) == nil)
  }

  @Test func `one address cannot tell how a translator maps, and that is said`() throws {
    var one = try Self.sighting("192.0.2.1:7400", seen: "203.0.113.9:4000")
    one.second = SocketPair(
      local: try Self.address("10.0.0.5:4001"), seenAs: try Self.address("203.0.113.8:4001"))
    let told = Self.diagnosis(one)
    let facts: TranslatorFacts = try #require(told.translators.first)
    #expect(facts.mapping == .translated && facts.preservesPort && facts.pairsAddresses == false)
    let finding = try #require(told.findings.first { $0.subject == .translator })
    #expect(finding.verdict == .unknown && finding.remedy?.contains("--rendezvous") == true)
    #expect(Self.verdict(.filtering, told) == nil)
  }

  @Test func `two addresses tell the mapping after RFC 4787`() throws {
    let first = try Self.sighting("192.0.2.1:7400", seen: "203.0.113.9:4000")
    let same = try Self.sighting("192.0.2.2:7400", seen: "203.0.113.9:4000")
    #expect(Self.diagnosis(first, same).translators.map(\.mapping) == [.endpointIndependent])
    #expect(Self.verdict(.translator, Self.diagnosis(first, same)) == .good)
    let other = try Self.sighting("192.0.2.2:7400", seen: "203.0.113.9:51000")
    let told = Self.diagnosis(first, other)
    #expect(told.translators.map(\.mapping) == [.dependent])
    #expect(told.translators.map(\.preservesPort) == [false])
    let finding = try #require(told.findings.first { $0.subject == .translator })
    #expect(finding.verdict == .bad && finding.remedy?.contains("--bind") == true)
    #expect(told.sentence == "One thing is in the way.")
    let port = try Self.sighting("192.0.2.1:7401", seen: "203.0.113.9:51000")
    #expect(
      Self.diagnosis(first, port).translators.map(\.mapping) == [.addressAndPortDependent])
  }

  @Test func `each family has a translator of its own`() throws {
    let told = Self.diagnosis(
      try Self.sighting("192.0.2.1:7400", seen: "203.0.113.9:4000"),
      try Self.sighting("[2001:db8::1]:7400", seen: "[2001:db8::5]:4000", own: "[2001:db8::5]:4000")
    )
    #expect(told.translators.map(\.family) == [.v4, .v6])
    #expect(told.translators.map(\.mapping) == [.translated, .none])
  }

  @Test(arguments: [
    (3.0, Finding.Verdict.good), (-999, .good), (2000, .weak), (-400_000, .weak),
  ])
  func `a clock is judged by what it harms`(offset: Double, verdict: Finding.Verdict) throws {
    var sighting = try Self.sighting("192.0.2.1:7400", seen: "10.0.0.5:4000")
    sighting.clockOffsetMs = offset
    sighting.clockUncertaintyMs = 5
    let finding = try #require(sighting.clockFinding)
    #expect(finding.verdict == verdict && (finding.remedy == nil) == (verdict == .good))
    #expect(finding.text.contains(offset < 0 ? "ahead of" : "behind"))
  }

  @Test(
    arguments: [
      (-7_200_000, "This host's clock is 2 h ahead of that of the rendezvous", true),
      (315_569_520_000, "This host's clock is 10 years behind that of the rendezvous", true),
      (-12, "This host's clock is 12 ms ahead of that of the rendezvous", false),
      (1_900, "This host's clock is 1900 ms behind that of the rendezvous", false),
      (119_000, "This host's clock is 119 s behind that of the rendezvous", false),
      (-300_000, "This host's clock is 5 min ahead of that of the rendezvous", true),
      (172_800_000, "This host's clock is 2 days behind that of the rendezvous", true),
    ] as [(Int64, String, Bool)])
  func `a difference of clocks has words`(milliseconds: Int64, text: String, isLarge: Bool) {
    let clocks = ClockDifference(offset: .milliseconds(milliseconds))
    #expect(clocks.sentence == text && clocks.isLarge == isLarge)
  }

  /// The other clock is read at some time from the question to the answer, and tells whole ms.
  @Test func `two clocks are compared in the middle between question and answer`() {
    let clocks = ClockReading(
      1_000_500, since: .milliseconds(30), until: .milliseconds(10),
      wallNanoseconds: 1_000_520_250_000)
    #expect(abs(clocks.offsetMs + 0.25) < 1e-6 && abs(clocks.uncertaintyMs - 12) < 1e-6)
  }

  @Test func `addresses of a rendezvous are tried one of each family in turn`() throws {
    let four = try (1...3).map { try Self.address("192.0.2.\($0):7400") }
    let six = try (1...3).map { try Self.address("[2001:db8::\($0)]:7400") }
    #expect(
      RendezvousTarget.inTurn(six + four, from: six[0]) == [six[0], four[0], six[1], four[1]])
    #expect(
      RendezvousTarget.inTurn([four[0], six[0], six[1]], from: four[0]) == [four[0]] + six.prefix(2)
    )
    #expect(RendezvousTarget.inTurn([four[0]], from: four[0]) == [four[0]])
    #expect(RendezvousTarget.inTurn(four, from: four[1]) == [four[1], four[0], four[2]])
  }

  @Test func `a cleared ECN field is named with its way`() throws {
    var sighting = try Self.sighting("192.0.2.1:7400", seen: "10.0.0.5:4000")
    #expect(sighting.ecnFinding == nil)
    (sighting.uplinkECN, sighting.downlinkECN) = (.survived, .marked)
    #expect(sighting.ecnFinding?.verdict == .good)
    sighting.downlinkECN = .bleached
    #expect(sighting.ecnFinding?.verdict == .weak)
    #expect(sighting.ecnFinding?.text.contains("bleached on the way in") == true)
  }

  @Test func `a host is judged without a rendezvous`() throws {
    var host = HostFacts()
    #expect(host.reach.map(\.verdict) == [.bad])
    host.interfaces = [.init("eth0", SocketAddress(v4: 192, 0, 2, 7, port: 0))]
    host.routesIPv4 = true
    #expect(host.reach.map(\.verdict) == [.good, .weak])
    (host.grantsRealTime, host.locksMemory) = (false, false)
    (host.bufferWanted, host.receiveBuffer, host.sendBuffer) = (1 << 20, 200_000, 1 << 20)
    #expect(host.resources.map(\.verdict) == [.weak, .weak, .weak, .good])
    #expect(host.resources.prefix(3).allSatisfy { $0.remedy != nil })
    let told = NetworkDiagnosis(host: host)
    #expect(!told.isUnreachable && told.sentence.contains("4 things could be better"))
    #expect(Self.verdict(.rendezvous, told) == .unknown)
  }

  @Test func `silence of every rendezvous is in the way, a refusal is not silence`() throws {
    let address = try Self.address("192.0.2.1:7400")
    var silent = RendezvousSighting(name: "r:7400", address: address)
    silent.error = .rendezvousUnreachable(address)
    let told = Self.diagnosis(silent)
    #expect(told.isUnreachable && Self.verdict(.rendezvous, told) == .bad)
    #expect(told.findings.contains { $0.remedy?.contains("firewall") == true })
    silent.error = .nothingListens(address)
    #expect(silent.finding.remedy?.contains("firewall") == false)
    var refused = RendezvousSighting(name: "r:7400", address: address, isAnswered: true)
    refused.error = .rendezvousFull(address)
    #expect(!Self.diagnosis(refused).isUnreachable)
    #expect(refused.finding.text.hasPrefix("UDP to 192.0.2.1:7400 works."))
  }

  @Test(.timeLimit(.minutes(1)))
  func `a live rendezvous tells its clock, the ECN field and how it sees us`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let rendezvous = try LoopbackRendezvous()
    var plan = DiagnosisPlan(rendezvous: [rendezvous.address.description])
    plan.bind = "127.0.0.1:0"
    plan.identityFile = folder.appending(path: "identity").path
    let told = try await NetworkDiagnosis.examine(plan)
    let sighting = try #require(told.sightings.first)
    #expect(told.sightings.count == 1 && sighting.isAnswered && sighting.error == nil)
    #expect(sighting.seenAs == sighting.local && sighting.second?.local != sighting.local)
    #expect(sighting.second.map { $0.local == $0.seenAs } == true)
    // Both read one clock: whatever they differ by is within what is said of it.
    let uncertainty = try #require(sighting.clockUncertaintyMs)
    #expect(abs(sighting.clockOffsetMs ?? 1000) <= uncertainty && uncertainty < 50)
    #expect(sighting.uplinkECN == .survived && sighting.downlinkECN == .survived)
    #expect(told.translators.map(\.mapping) == [.none])
    #expect(sighting.trials?.filtering == .notByPort && sighting.trials?.hairpins == nil)
    #expect(sighting.trials?.largestUplinkPacket == 1228)
    #expect(sighting.trials?.largestDownlinkPacket == 1228)
    #expect(told.relays.isEmpty && told.host.codecs.count == 2 && told.host.bufferWanted > 0)
    rendezvous.stop()
  }

  @Test func `an examination that is cancelled says that it is closed`() async throws {
    var plan = DiagnosisPlan(rendezvous: ["127.0.0.1:7"])
    plan.bind = "127.0.0.1:0"
    let told = plan
    let task = Task { try await NetworkDiagnosis.examine(told) }
    task.cancel()
    await #expect(throws: EarshotError.closed) { try await task.value }
  }

  @Test func `what cannot be asked is refused, and without a name nobody is asked`() async throws {
    var nobody = Diagnostician(DiagnosisPlan())
    #expect(try await nobody.ask(nobody.findPlaces()).isEmpty)
    let many = Array(repeating: "127.0.0.1:7400", count: DiagnosisPlan.mostRendezvous + 1)
    await #expect(throws: EarshotError.self) {
      try await NetworkDiagnosis.examine(DiagnosisPlan(rendezvous: many))
    }
  }
}
