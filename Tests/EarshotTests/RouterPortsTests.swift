import PortMapping
import Primitives
import Testing

@testable import Earshot

/// When a router is asked at all, and what is said of it.
@Suite struct RouterPortsTests {
  private static let router = SocketAddress(v4: 192, 168, 1, 1, port: 0)
  private static let mapped = SocketAddress(v4: 203, 0, 113, 5, port: 5000)

  private static func facts(_ external: SocketAddress = mapped) -> PortMappingFacts {
    let port = OpenedPort(service: .natPMP, external: external, lifetime: .seconds(3600))
    return PortMappingFacts(router: router, opened: MappedPort(port, router: router))
  }

  @Test func `with a rendezvous or a socket on loopback no router is asked`() throws {
    let any = try #require(SocketAddress("[::]:5000"))
    for rendezvous in ["127.0.0.1:7400", "[::1]:7400"] {
      #expect(RouterPlace.find(any, rendezvous: SocketAddress(rendezvous)) == nil)
    }
    for local in ["127.0.0.1:5000", "[::1]:5000"] {
      let local = try #require(SocketAddress(local))
      #expect(RouterPlace.find(local, rendezvous: nil) == nil)
    }
  }

  @Test func `a host whose packets leave by another way asks no router`() throws {
    let (home, tunnel) = (
      SocketAddress(v4: 192, 168, 1, 5, port: 5000), SocketAddress(v4: 10, 8, 0, 2, port: 5000)
    )
    let any = try #require(SocketAddress("[::]:5000"))
    func place(_ local: SocketAddress, internet: SocketAddress?) -> RouterPlace? {
      RouterPlace.choose(local, Self.router) { remote in
        remote.isSameHost(as: Self.router) ? home : internet
      }
    }
    for local in [any, home] {
      #expect(place(local, internet: home)?.own == home)
      // wg-quick, OpenVPN's 0.0.0.0/1 and 128.0.0.0/1, policy routing; or no way at all.
      #expect(place(local, internet: tunnel) == nil)
      #expect(place(local, internet: nil) == nil)
    }
    #expect(HostFacts.internet.isPublicV4)
  }

  @Test func `with a rendezvous on this host alone a doctor asks no router`() throws {
    func places(_ texts: String...) throws -> Diagnostician.Places {
      var places = Diagnostician.Places()
      places.found = try texts.map { text in
        Diagnostician.Place(
          text: text, name: text, address: try #require(SocketAddress(text)))
      }
      return places
    }
    #expect(try places("127.0.0.1:7400", "[::1]:7400").areOnThisHost)
    #expect(try !places("127.0.0.1:7400", "192.0.2.1:7400").areOnThisHost)
    #expect(try !places().areOnThisHost, "then the host alone is examined")
    var unknown = try places("127.0.0.1:7400")
    unknown.unknown = [RendezvousSighting(name: "away:7400")]
    #expect(!unknown.areOnThisHost)
  }

  @Test func `an endpoint asks unless it is told not to`() {
    #expect(Configuration(rendezvous: "h:1").mapsPort && DiagnosisPlan().mapsPort)
    let ports = RouterPorts(isWanted: false)
    #expect(!ports.isWanted && ports.told == .closed && ports.mapper.opened == nil)
    #expect(ports.errand == nil)
  }

  @Test func `an address that others see as well is good`() {
    let seen = SocketAddress(v4: 203, 0, 113, 5, port: 1)
    for seen in [seen, nil] {
      let finding = Self.facts().finding(seenAs: seen)
      #expect(finding.verdict == .good && finding.subject == .portMapping)
      #expect(finding.text.contains("NAT-PMP at 192.168.1.1, external address 203.0.113.5"))
      #expect(finding.text.contains("is not known") == (seen == nil))
    }
  }

  @Test(arguments: ["192.168.1.5:4000", "127.0.0.1:4000", "100.64.3.4:4000", "[2001:db8::5]:4000"])
  func `who does not see what others see tells of no second translator`(seen: String) {
    let finding = Self.facts().finding(seenAs: SocketAddress(seen))
    #expect(finding.verdict == .good && finding.text.contains("is not known"))
    let inner = SocketAddress(v4: 192, 168, 178, 2, port: 5000)
    #expect(Self.facts(inner).finding(seenAs: SocketAddress(seen)).verdict == .weak)
  }

  /// Behind a translator that maps each destination anew and filters by port.
  @Test func `what an open port mends is not in the way`() throws {
    let own = SocketAddress(v4: 192, 168, 1, 5, port: 4000)
    let sightings = [UInt8(1), 2].map { number in
      var sighting = RendezvousSighting(
        name: "r:7400", address: SocketAddress(v4: 192, 0, 2, number, port: 7400), isAnswered: true)
      sighting.local = own
      sighting.seenAs = SocketAddress(v4: 203, 0, 113, 5, port: 50_000 + UInt16(number))
      var trials = LineTrials()
      trials.filtering = .addressAndPortDependent
      sighting.trials = trials
      return sighting
    }
    var told = NetworkDiagnosis(host: HostFacts(), sightings: sightings)
    func verdicts() -> Set<Finding.Verdict> {
      let mended = told.findings.filter { [.translator, .filtering].contains($0.subject) }
      #expect(mended.count == 3)
      #expect(mended.allSatisfy { ($0.remedy == nil) == ($0.verdict == .good) })
      return Set(mended.map(\.verdict))
    }
    #expect(verdicts() == [.bad, .weak])
    told.portMapping = Self.facts()
    #expect(told.opensPort(.v4) && !told.opensPort(.v6) && verdicts() == [.good])
    told.portMapping = Self.facts(SocketAddress(v4: 198, 51, 100, 1, port: 5000))
    #expect(!told.opensPort(.v4) && verdicts() == [.bad, .weak], "it does not lead here")
    told.portMapping = PortMappingFacts(router: Self.router)
    #expect(verdicts() == [.bad, .weak])
  }

  @Test func `each fault of a router has words of its own`() {
    let faults: [RouterFault] = [.refused("NAT-PMP 2"), .fellSilent, .notUnderstood]
    #expect(Set(faults.map { PortMappingFacts.words(for: $0) }).count == 3)
    for fault in faults {
      let words = PortMappingFacts.words(for: fault)
      let text = PortMappingFacts(router: Self.router, refusal: words).finding(seenAs: nil).text
      #expect(words != nil && !text.contains("answers neither"), "\(fault)")
    }
    #expect(PortMappingFacts.words(for: .silent) == nil)
  }

  @Test func `a second translator, and an address that is not public, are said`() {
    let other = Self.facts().finding(seenAs: SocketAddress(v4: 198, 51, 100, 7, port: 1))
    #expect(other.verdict == .weak && other.text.contains("others see 198.51.100.7"))
    let inner = Self.facts(SocketAddress(v4: 100, 64, 3, 4, port: 5000)).finding(seenAs: nil)
    #expect(inner.verdict == .weak && inner.text.contains("not a public one"))
  }

  @Test func `a router that opens nothing says why, in one line of the diagnosis`() {
    var diagnosis = NetworkDiagnosis(host: HostFacts())
    #expect(diagnosis.portFindings.isEmpty)
    diagnosis.portMapping = PortMappingFacts(router: Self.router)
    #expect(diagnosis.findings.filter { $0.subject == .portMapping }.map(\.verdict) == [.weak])
    diagnosis.portMapping = PortMappingFacts(router: Self.router, refusal: "it refuses (606)")
    #expect(diagnosis.portFindings.first?.text.contains("it refuses (606)") == true)
    #expect(diagnosis.portFindings.first?.remedy?.contains("relay") == true)
  }

  @Test func `a mapped port names its protocol`() throws {
    let url = try #require(RouterURL("http://192.168.1.1:5000/ctl"))
    let service = try #require(
      UPnPService(control: url, type: "urn:schemas-upnp-org:service:WANIPConnection:1"))
    let port = OpenedPort(
      service: .upnp(service), external: Self.mapped, lifetime: .seconds(3600))
    let mapped = MappedPort(port, router: Self.router)
    #expect(mapped.service.rawValue == "UPnP-IGD" && mapped.external == Self.mapped)
    #expect(PortMappingState.open(mapped) != .closed)
  }
}
