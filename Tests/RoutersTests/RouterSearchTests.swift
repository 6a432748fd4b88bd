import Primitives
import Routers
import Testing

@testable import PortMapping

/// The search for a router, and NAT-PMP, against a router that is played on loopback.
@Suite(.serialized) struct RouterSearchTests {
  /// 127.9.9.9: an address of this host that the kernel would not choose by itself.
  private static let own = SocketAddress(v4: 127, 9, 9, 9, port: 5000)
  private static let ownHost: UInt32 = 0x7F09_0909

  private func place(
    _ gateway: PlayedGateway, own: SocketAddress = Self.own
  ) -> RouterPlace {
    RouterPlace(exactly: gateway.address, own: own)
  }

  private func open(
    _ gateway: PlayedGateway, _ errand: RouterErrand = RouterErrand()
  ) -> Result<OpenedPort?, RouterFault> {
    RouterConversation.carryOut(.open(place(gateway), service: nil, wanted: 6000), errand)
  }

  /// NAT-PMP as RFC 6886 has it, at 203.0.113.5; what it gives is what was asked for.
  private static func answer(_ question: [UInt8]) -> [UInt8]? {
    let granted: [UInt8] = [0, 129, 0, 0, 0, 0, 0, 9]
    switch (question.count, question.dropFirst().first) {
    case (2, 0?): return [0, 128, 0, 0, 0, 0, 0, 9, 203, 0, 113, 5]
    case (12, 1?): return granted + Array(question[4..<12])
    default: return nil
    }
  }

  @Test func `a question that was lost is asked again, all from the own address`() throws {
    let gateway = try PlayedGateway(natPMP: { number, question in
      number == 1 ? nil : Self.answer(question)
    })
    let port = try #require(try open(gateway).get())
    #expect(port.service == .natPMP && port.lifetime == .seconds(3600))
    #expect(port.external == SocketAddress(v4: 203, 0, 113, 5, port: 6000))
    #expect(gateway.heard.count >= 3)
    #expect(gateway.heard.allSatisfy { $0.source == Self.ownHost })
  }

  @Test func `a port of an address that this host has lost is given back by nobody else`() throws {
    let gateway = try PlayedGateway(natPMP: { _, question in Self.answer(question) })
    let port = try #require(try open(gateway).get())
    let lost = place(gateway, own: SocketAddress(v4: 192, 0, 2, 77, port: 5000))
    #expect(RouterConversation.carryOut(.close(lost, port)) == .failure(.fellSilent))
    #expect(RouterConversation.carryOut(.close(place(gateway), port)) == .success(nil))
    // With a lifetime of nothing.
    let closing = gateway.heard.filter { $0.bytes.count == 12 && $0.bytes[8...] == [0, 0, 0, 0] }
    #expect(closing.map(\.source) == [Self.ownHost])
  }

  @Test(arguments: [1, 2, 3, 4, 5] as [UInt8])
  func `who refuses NAT-PMP and speaks nothing else has refused`(code: UInt8) throws {
    let gateway = try PlayedGateway(natPMP: { _, _ in [0, 128, 0, code, 0, 0, 0, 9, 0, 0, 0, 0] })
    #expect(open(gateway) == .failure(.refused("NAT-PMP \(code)")))
  }

  @Test func `where nothing answers it is silent, after a second and a bit`() throws {
    let gateway = try PlayedGateway()
    let clock = ContinuousClock()
    let took = clock.measure { #expect(open(gateway) == .failure(.silent)) }
    #expect(took >= .milliseconds(RouterLimits.searchMilliseconds - 10) && took < .seconds(3))
  }

  // MARK: - UPnP

  private static let description =
    "<?xml version=\"1.0\"?><root><device><serviceList><service>"
    + "<serviceType>urn:schemas-upnp-org:service:WANIPConnection:1</serviceType>"
    + "<controlURL>/ctl</controlURL></service></serviceList></device></root>"
  private static let external = "<NewExternalIPAddress>203.0.113.5</NewExternalIPAddress>"

  private static func reply(_ body: String) -> [UInt8] {
    Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
  }

  /// Answers the second search only, with a description at this port.
  private func gateway(at host: UInt32, describedAt port: UInt16) throws -> PlayedGateway {
    let name = "127.\(host >> 16 & 255).\(host >> 8 & 255).\(host & 255)"
    let answer = "HTTP/1.1 200 OK\r\nLOCATION: http://\(name):\(port)/root.xml\r\n\r\n"
    return try PlayedGateway(at: host, ssdp: { number, _ in number < 2 ? nil : Array(answer.utf8) })
  }

  @Test func `a router that has waited for the second search opens a port`() throws {
    let host = PlayedGateway.anyHost()
    let replies = [Self.description, Self.external, ""].map(Self.reply)
    let server = try PlayedRouter(replies, host: host, keepsOpen: true)
    let port = try #require(try open(gateway(at: host, describedAt: server.port)).get())
    #expect(port.external == SocketAddress(v4: 203, 0, 113, 5, port: 6000))
  }

  @Test func `a description that cannot be fetched is not silence`() throws {
    // Nothing listens at port 1.
    let gateway = try gateway(at: PlayedGateway.anyHost(), describedAt: 1)
    #expect(open(gateway) == .failure(.fellSilent))
  }

  // MARK: - Called off

  @Test func `whoever calls it off before a port is asked for has none opened`() throws {
    let gateway = try PlayedGateway(natPMP: { _, question in Self.answer(question) })
    let errand = RouterErrand()
    #expect(errand.callOff() && errand.callOff())
    #expect(open(gateway, errand) == .failure(.calledOff))
    #expect(gateway.heard.allSatisfy { $0.bytes.count == 2 })
    let late = RouterErrand()
    #expect(try open(gateway, late).get() != nil)
    #expect(!late.callOff(), "one may be open")
  }

  @Test func `the same by UPnP`() throws {
    let host = PlayedGateway.anyHost()
    let replies = [Self.description, Self.external].map(Self.reply)
    let server = try PlayedRouter(replies, host: host)
    let errand = RouterErrand()
    #expect(errand.callOff())
    #expect(open(try gateway(at: host, describedAt: server.port), errand) == .failure(.calledOff))
  }
}
