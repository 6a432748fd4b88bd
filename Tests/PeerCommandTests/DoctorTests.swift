import Arguments
import PeerCommand
import Testing

@testable import Earshot

/// `earshot doctor`: what it takes, prints and returns.
struct DoctorTests {
  private static let server = SocketAddress(v4: 192, 0, 2, 1, port: 7400)

  private func sighting(_ error: EarshotError? = nil, isAnswered: Bool = true)
    -> RendezvousSighting
  {
    var sighting = RendezvousSighting(
      name: "r.example:7400", address: Self.server, isAnswered: isAnswered)
    sighting.error = error
    guard error == nil else { return sighting }
    sighting.local = SocketAddress(v4: 10, 0, 0, 5, port: 4000)
    sighting.seenAs = SocketAddress(v4: 203, 0, 113, 9, port: 4001)
    sighting.roundTripMs = 21.5
    sighting.clockOffsetMs = -12
    sighting.clockUncertaintyMs = 11
    sighting.uplinkECN = .bleached
    return sighting
  }

  private func diagnosis(_ sightings: RendezvousSighting...) -> NetworkDiagnosis {
    var host = HostFacts()
    host.interfaces = [.init("eth0", SocketAddress(v4: 10, 0, 0, 5, port: 0))]
    host.codecs = ["libopus 1.3.1"]
    return NetworkDiagnosis(host: host, sightings: sightings)
  }

  private func command(_ words: String, variable: String? = nil) throws -> DoctorCommand {
    try DoctorCommand(Arguments(words.split(separator: " ").map(String.init))) { _ in variable }
  }

  @Test func `takes several rendezvous, or the usual one, or none`() throws {
    #expect(try command("--rendezvous a:1 --rendezvous b:2").plan.rendezvous == ["a:1", "b:2"])
    #expect(try command("", variable: "h:7400").plan.rendezvous == ["h:7400"])
    #expect(try command("--rendezvous a:1", variable: "h:7400").plan.rendezvous == ["a:1"])
    #expect(try command("--json").plan.rendezvous.isEmpty)
    #expect(try command("--json").isJSON)
    #expect(try command("--rendezvous a:1 --long").plan.measuresLifetime)
    let relayed = try command("--turn turn:a --turn-user u --turn-password p --turn-ca f.pem")
    #expect(relayed.plan.relays == [RelayOptions(uri: "turn:a", user: "u", password: "p")])
    #expect(relayed.plan.relayAuthorities == "f.pem")
    #expect(
      try command("--relay r --relay r:7501 --relay [::1]").plan.channelRelays
        == ["r:7500", "r:7501", "[::1]:7500"])
    #expect(try command("").plan.mapsPort && !command("--no-port-mapping").plan.mapsPort)
    let five = String(repeating: "--rendezvous a:1 ", count: 5)
    let wrong = [
      "--rendezvous a:0", "--bind x", "bob", "--rendevous a:1", "--long", "--turn turn:a",
      "--relay r:0", "--relay r#x", five.replacing("rendezvous", with: "relay"),
    ]
    for words in [five] + wrong {
      #expect(throws: UsageError.self) { try command(words) }
    }
  }

  @Test func `says what was found, and below it what to do`() {
    let lines = DoctorText.text(diagnosis(sighting())).split(separator: "\n").map(String.init)
    #expect(lines.first?.hasPrefix("Nothing is in the way; ") == true)
    #expect(lines.allSatisfy { $0.count <= 100 })
    for columns in [80, 200] {
      let narrow = DoctorText.text(diagnosis(sighting()), columns: columns)
      #expect(narrow.split(separator: "\n").allSatisfy { $0.count <= min(columns, 100) })
    }
    #expect(lines.contains { $0.hasPrefix("  ok     rendezvous  UDP to 192.0.2.1:7400 works") })
    #expect(lines.contains { $0.hasPrefix("  ?      translator  IPv4: a translator shows") })
    #expect(lines.contains { $0.hasPrefix("                     -> Add a second --rendezvous") })
    #expect(lines.contains { $0.hasPrefix("  weak   ECN") })
    let local = DoctorText.text(diagnosis())
    #expect(local.contains("no rendezvous was") && local.contains("libopus 1.3.1"))
  }

  @Test func `the JSON object has what was told, and nothing that was not`() throws {
    let text = DoctorLine.text(diagnosis(sighting()))
    #expect(text.hasPrefix(#"{"type":"doctor","ts":""#) && !text.contains("\n"))
    for part in [
      #""seenAs":"203.0.113.9:4001""#, #""portPreserved":false"#, #""clockOffsetMs":-12"#,
      #""uplinkEcn":"bleached""#, #""subject":"translator","verdict":"unknown""#,
    ] { #expect(text.contains(part), "\(part)") }
    #expect(!text.contains("lifetime") && !text.contains(#""relays""#))
    #expect(!text.contains("downlinkEcn") && !text.contains("addressesPaired"))
    #expect(!DoctorLine.text(diagnosis()).contains(#""rendezvous":["#))
  }

  @Test func `what was tried of the line and of relays is in both`() throws {
    var seen = sighting()
    var trials = LineTrials()
    trials.filtering = .addressDependent
    trials.hairpins = false
    trials.lifetime = MappingLifetime(atLeastSeconds: 28, lessThanSeconds: 30)
    (trials.largestUplinkPacket, trials.largestDownlinkPacket) = (1228, 1100)
    seen.trials = trials
    var relay = RelaySighting(uri: "turn:t.example", isOffered: true)
    relay.relayed = SocketAddress(v4: 192, 0, 2, 9, port: 50_000)
    relay.roundTripMs = 12.5
    var told = diagnosis(seen)
    told.relays = [relay]
    let text = DoctorLine.text(told)
    for part in [
      #""filtering":"address-dependent filtering""#, #""hairpins":false"#,
      #""lifetimeAtLeastS":28,"lifetimeLessThanS":30"#, #""largestDownlinkPacket":1100"#,
      #""relayed":"192.0.2.9:50000","rttMs":12.5"#, #""namedByRendezvous":true"#,
    ] { #expect(text.contains(part), "\(part)") }
    let lines = DoctorText.text(told).split(separator: "\n").map(String.init)
    #expect(lines.allSatisfy { $0.count <= 100 })
    for start in [
      "  ok     filtering", "  weak   hairpin", "  ok     lifetime", "  weak   packet size",
      "  ok     relay",
    ] { #expect(lines.contains { $0.hasPrefix(start) }, "\(start)") }
  }

  @Test func `the exit code says whether a rendezvous can be reached`() {
    let silent = EarshotError.rendezvousUnreachable(Self.server)
    #expect(ExitCode(diagnosis()) == .done)
    #expect(ExitCode(NetworkDiagnosis(host: HostFacts())) == .unreachable)
    #expect(ExitCode(diagnosis(sighting())) == .done)
    #expect(ExitCode(diagnosis(sighting(silent, isAnswered: false))) == .unreachable)
    #expect(ExitCode(diagnosis(sighting(silent, isAnswered: false), sighting())) == .done)
    let id = PeerID(word0: 1, word1: 2, word2: 3, word3: 4)
    #expect(ExitCode(diagnosis(sighting(.notAllowed(id)))) == .refused)
  }

  @Test func `an earshot-relay is in the line, in words, and alone in the exit code`() {
    let address = SocketAddress(v4: 192, 0, 2, 9, port: 7500)
    var relay = ChannelRelaySighting(name: "r.example:7500", isOffered: true)
    (relay.address, relay.tookMs) = (address, 42)
    var told = diagnosis(sighting())
    told.channelRelays = [relay]
    let line = DoctorLine.text(told)
    for part in [
      #""channelRelays":[{"name":"r.example:7500","namedByRendezvous":true"#,
      #""address":"192.0.2.9:7500","tookMs":42"#,
    ] { #expect(line.contains(part), "\(line)") }
    #expect(DoctorText.text(told).contains("earshot-relay at 192.0.2.9:7500"))
    #expect(ExitCode(told) == .done)
    var alone = diagnosis()
    relay.error = EarshotError(.relayUnavailable, "It sleeps.", advice: "Wake it.")
    alone.channelRelays = [relay]
    #expect(DoctorLine.text(alone).contains(#""error":"relayUnavailable","reason":"It sleeps.""#))
    #expect(ExitCode(alone) == .unreachable)
    relay.error = EarshotError(.identityChanged, "It is another.", advice: "Ask.")
    alone.channelRelays = [relay]
    #expect(ExitCode(alone) == .identity)
    // Who has a rendezvous that answers can call.
    told.channelRelays = [relay]
    #expect(ExitCode(told) == .done)
  }
}
