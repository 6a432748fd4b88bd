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

  @Test func `an endpoint asks unless it is told not to`() {
    #expect(Configuration(rendezvous: "h:1").mapsPort && DiagnosisPlan().mapsPort)
    let ports = RouterPorts(isWanted: false)
    #expect(!ports.isWanted && ports.told == .closed && ports.mapper.opened == nil)
  }

  @Test func `an address that others see as well is good`() {
    let seen = SocketAddress(v4: 203, 0, 113, 5, port: 1)
    for seen in [seen, nil] {
      let finding = Self.facts().finding(seenAs: seen)
      #expect(finding.verdict == .good && finding.subject == .portMapping)
      #expect(finding.text.contains("NAT-PMP at 192.168.1.1, external address 203.0.113.5"))
    }
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
