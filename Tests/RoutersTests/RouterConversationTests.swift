import Foundation
import Primitives
import Routers
import Testing

@testable import PortMapping

/// What a router by TCP may answer, played by a thread on loopback. Against miniupnpd:
/// tools/connectivity ports.
@Suite(.serialized) struct RouterConversationTests {
  private static let address =
    "<s:Body><NewExternalIPAddress>203.0.113.5</NewExternalIPAddress>"
    + "</s:Body>"

  private static func reply(_ body: String, status: Int = 200) -> [UInt8] {
    Array("HTTP/1.1 \(status) x\r\nContent-Type: text/xml\r\n\r\n\(body)".utf8)
  }

  /// Asks for port 6000 at a router that answers so.
  private func ask(
    _ replies: [[UInt8]], keepsOpen: Bool = false
  ) throws -> Result<OpenedPort?, RouterFault> {
    let server = try PlayedRouter(replies, keepsOpen: keepsOpen)
    let loopback = SocketAddress(v4: 127, 0, 0, 1, port: 0)
    let url = RouterURL(
      host: SocketAddress(v4: 127, 0, 0, 1, port: server.port), path: "/ctl")
    let service = try #require(
      UPnPService(control: url, type: "urn:schemas-upnp-org:service:WANIPConnection:1"))
    let own = SocketAddress(v4: 127, 0, 0, 1, port: 5000)
    return RouterConversation.carryOut(
      .open(RouterPlace(exactly: loopback, own: own), service: .upnp(service), wanted: 6000))
  }

  @Test func `a port is opened`() throws {
    let port = try #require(try ask([Self.reply(Self.address), Self.reply("")]).get())
    #expect(port.external == SocketAddress(v4: 203, 0, 113, 5, port: 6000))
    #expect(port.lifetime == .seconds(3600))
  }

  @Test func `another port is tried where the wanted one is taken, three times`() throws {
    let taken = Self.reply("<errorCode>718</errorCode>", status: 500)
    let port = try #require(
      try ask([Self.reply(Self.address), taken, taken, Self.reply("")]).get())
    #expect((20_000...60_000).contains(port.external.port))
    #expect(
      try ask([Self.reply(Self.address), taken, taken, taken]) == .failure(.refused("718")))
  }

  @Test func `a router that only gives the own port gives that`() throws {
    let same = Self.reply("<errorCode>724</errorCode>", status: 500)
    let port = try #require(try ask([Self.reply(Self.address), same, Self.reply("")]).get())
    #expect(port.external.port == 5000)
    #expect(try ask([Self.reply(Self.address), same, same]) == .failure(.refused("724")))
  }

  @Test func `what a router refuses is said with its code`() throws {
    let permanent = Self.reply("<errorCode>725</errorCode>", status: 500)
    #expect(try ask([Self.reply(Self.address), permanent]) == .failure(.refused("725")))
    #expect(
      try ask([Self.reply(Self.address), Self.reply("", status: 404)])
        == .failure(.refused("HTTP 404")))
  }

  @Test func `an answer that means nothing opens nothing`() throws {
    for body in ["", "<NewExternalIPAddress>home</NewExternalIPAddress>", "\u{0}\u{1}"] {
      #expect(try ask([Self.reply(body)]) == .failure(.notUnderstood), "\(body)")
    }
    #expect(try ask([Array("hello".utf8)]) == .failure(.notUnderstood))
    #expect(try ask([[]]) == .failure(.fellSilent))
  }

  /// An answer with its length, as routers write the name of that field.
  private static func measured(_ body: String, name: String, length: String? = nil) -> [UInt8] {
    let length = length ?? "\(body.utf8.count)"
    return Array("HTTP/1.1 200 OK\r\n\(name): \(length)\r\nServer: x\r\n\r\n\(body)".utf8)
  }

  @Test(arguments: ["Content-Length", "CONTENT-LENGTH", "content-length"])
  func `a connection that stays open is read as far as the answer is long`(name: String) throws {
    let clock = ContinuousClock()
    let replies = [Self.measured(Self.address, name: name), Self.measured("", name: name)]
    let took = try clock.measure {
      let port = try #require(try ask(replies, keepsOpen: true).get())
      #expect(port.external.port == 6000)
    }
    // Two exchanges that are read until their time is over take 2 s.
    #expect(took < .milliseconds(900), "\(took)")
  }

  @Test(arguments: ["", "x", "-1", "99999999999999999999", "3"])
  func `a length that is wrong harms nobody`(length: String) throws {
    let reply = Self.measured(Self.address, name: "Content-Length", length: length)
    switch try ask([reply, Self.reply("")]) {
    case .success(let port): #expect(port?.external.port == 6000)
    case .failure(let fault): #expect(fault == .notUnderstood)
    }
  }

  @Test func `an answer without end is cut off`() throws {
    let flood = Self.reply(Self.address + String(repeating: "<a>b</a>", count: 100_000))
    let port = try #require(try ask([flood, flood]).get())
    #expect(port.external.port == 6000)
  }

  @Test func `the kernel's routes are read, or there are none`() {
    let router = DefaultRouter.address()
    #expect(router?.family ?? .v4 == .v4 && router?.isUnspecified != true)
  }
}
