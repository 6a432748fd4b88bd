import PortMapping
import Primitives
import Testing

/// Which router is asked.
@Suite struct RouteTableTests {
  private static let head =
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
  private static func line(
    _ to: String, _ gateway: String, flags: String = "0003", metric: Int = 0,
    mask: String = "00000000"
  ) -> String { "eth0\t\(to)\t\(gateway)\t\(flags)\t0\t0\t\(metric)\t\(mask)\t0\t0\t0\n" }

  @Test func `the default route with the lowest metric counts`() {
    let table =
      Self.head + Self.line("0001A8C0", "00000000", flags: "0001", mask: "00FFFFFF")
      + Self.line("00000000", "0101A8C0", metric: 600)
      + Self.line("00000000", "FE00000A", metric: 100)
      + Self.line("00000000", "0102A8C0", flags: "0002", metric: 1)
      + Self.line("00000080", "0103A8C0", mask: "00000080")
    #expect(RouteTable.defaultRouter(in: table) == SocketAddress(v4: 10, 0, 0, 254, port: 0))
  }

  @Test func `without one there is no router`() {
    for text in [
      "", Self.head, Self.head + "x y z\n", Self.head + Self.line("0", "0"),
      Self.head + Self.line("zz", "0101A8C0"),
    ] { #expect(RouteTable.defaultRouter(in: text) == nil) }
  }

  @Test func `a host with a public address has nothing to ask for`() {
    let router = SocketAddress(v4: 192, 168, 1, 1, port: 0)
    func place(_ own: String, _ router: SocketAddress = router) -> RouterPlace? {
      SocketAddress(own).flatMap { RouterPlace(router: router, own: $0) }
    }
    for own in ["192.168.1.2:5", "10.1.2.3:5", "172.16.0.1:5", "172.31.9.9:5", "100.64.0.1:5"] {
      #expect(place(own)?.own.description == own)
    }
    for own in [
      "203.0.113.1:5", "172.32.0.1:5", "172.15.0.1:5", "100.128.0.1:5", "127.0.0.1:5",
      "[fd00::1]:5", "192.168.1.2:0", "192.168.1.1:5",
    ] { #expect(place(own) == nil, "\(own)") }
    #expect(place("192.168.1.2:5", SocketAddress(v4: 127, 0, 0, 1, port: 0)) == nil)
  }

  @Test func `another outer port than the own one is asked for`() throws {
    let router = SocketAddress(v4: 192, 168, 1, 1, port: 0)
    for port in [1, 1023, 1024, 5000, 33_279, 33_280, 65_535] as [UInt16] {
      let own = SocketAddress(v4: 192, 168, 1, 2, port: port)
      let place: RouterPlace = try #require(RouterPlace(router: router, own: own))
      #expect(place.firstOuterPort != port && place.firstOuterPort >= 1024)
    }
  }

  @Test func `addresses that lead nowhere are not public`() {
    for text in ["0.1.2.3:1", "127.0.0.1:1", "169.254.1.1:1", "224.0.0.1:1", "10.0.0.1:1"] {
      #expect(SocketAddress(text)?.isPublicV4 == false, "\(text)")
    }
    #expect(SocketAddress("203.0.113.1:1")?.isPublicV4 == true)
    #expect(SocketAddress("[2001:db8::1]:1")?.isPublicV4 == false)
  }
}
