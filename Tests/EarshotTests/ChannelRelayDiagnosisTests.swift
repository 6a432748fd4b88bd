import Foundation
import Primitives
import Reactor
import Testing

@testable import Earshot

/// Whether an `earshot-relay` is there, as `earshot doctor` sees it.
@Suite(.timeLimit(.minutes(1))) struct ChannelRelayDiagnosisTests {
  private let folder = FileManager.default.temporaryDirectory.appending(
    path: "earshot-\(UUID().uuidString)")

  private func plan(_ rendezvous: [String] = [], relays: [String] = []) -> DiagnosisPlan {
    var plan = DiagnosisPlan(rendezvous: rendezvous)
    plan.bind = "127.0.0.1:0"
    plan.identityFile = folder.appending(path: "identity").path
    plan.channelRelays = relays
    return plan
  }

  @Test func `the relay that a rendezvous tells of is looked for`() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let town = try RelayTown()
    let there = town.relay.localAddress
    let told = try await NetworkDiagnosis.examine(plan(["\(town.address)"], relays: ["\(there)"]))
    // Named twice, and asked once.
    let relay = try #require(told.channelRelays.first)
    #expect(told.channelRelays.count == 1 && relay.error == nil && relay.isOffered)
    #expect(relay.address == there && relay.tookMs.map { $0 >= 1 && $0 < 2_000 } == true)
    let alone = try await NetworkDiagnosis.examine(plan(["\(town.address)"]))
    #expect(alone.channelRelays.first?.error == nil && alone.channelRelays.first?.id != nil)
    #expect(alone.relayFindings.map(\.verdict) == [.good])
    town.stop()
  }

  @Test func `what is no relay, and a relay with another ID, is said`() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let town = try RelayTown()
    let there = town.relay.localAddress
    let other = PeerID(word0: 1, word1: 2, word2: 3, word3: 4)
    let told = try await NetworkDiagnosis.examine(
      plan(relays: ["\(there)#\(other)", "\(town.address)", "127.0.0.1:9"]))
    let expected: [EarshotError?] = [
      .channelRelayChanged(there, expected: other), .rendezvousAsRelay(town.address),
      .noChannelRelay(SocketAddress(v4: 127, 0, 0, 1, port: 9)),
    ]
    #expect(told.channelRelays.map(\.error) == expected)
    #expect(told.relayFindings.map(\.verdict) == [.bad, .bad, .bad])
    town.stop()
  }

  @Test func `a relay that is taken for a rendezvous says what it is`() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let town = try RelayTown()
    let there = town.relay.localAddress
    var configuration = Configuration(rendezvous: "\(there)")
    configuration.bind = "127.0.0.1:0"
    configuration.identityFile = folder.appending(path: "identity").path
    let endpoint = try await Endpoint.open(configuration)
    let error = await #expect(throws: EarshotError.self) {
      try await endpoint.waitUntilRegistered()
    }
    #expect(error == .relayAsRendezvous(there))
    await endpoint.close()
    town.stop()
  }

  @Test func `a relay is judged by whether members are told of it, and by the others`() {
    let address = SocketAddress(v4: 192, 0, 2, 9, port: 7500)
    var good = ChannelRelaySighting(name: "r.example:7500")
    good.address = address
    var bad = good
    bad.error = .channelRelaySilent(address)
    func verdict(_ relay: ChannelRelaySighting, _ isElsewhere: Bool, _ asked: Bool)
      -> Finding.Verdict
    { relay.finding(isElsewhere: isElsewhere, asked: asked).verdict }
    #expect(verdict(good, true, false) == .good && verdict(good, true, true) == .weak)
    #expect(verdict(bad, false, true) == .bad && verdict(bad, true, true) == .weak)
    good.isOffered = true
    #expect(verdict(good, true, true) == .good)
    #expect(good.finding(isElsewhere: true, asked: true).text.contains("was not checked"))
  }
}
