import Glibc
import Primitives
import Reactor
import Testing

@testable import RendezvousCommand

@Suite struct MetricsServerTests {
  /// Goal: whoever scrapes takes nothing from the datagrams.
  /// Method: the loop of the datagrams does not run at all, and a scraper is answered all the same.
  @Test func `scrapers are answered while the loop of the datagrams is busy`() throws {
    let loop = try EventLoop()
    let any = try #require(SocketAddress("127.0.0.1:0"))
    let server = try MetricsServer(binding: any, on: loop) { "answer 42\n" }
    defer { server.stop() }
    for _ in 0..<3 {
      #expect(try Self.scrape(server.localAddress).hasSuffix("\r\n\r\nanswer 42\n"))
    }
  }

  @Test func `is healthy while it runs, and not ready once it stops`() throws {
    let loop = try EventLoop()
    let any = try #require(SocketAddress("127.0.0.1:0"))
    let server = try MetricsServer(binding: any, on: loop) { "" }
    defer { server.stop() }
    let address = server.localAddress
    #expect(try Self.scrape(address, "/health").hasSuffix("\r\n\r\nok\n"))
    #expect(try Self.scrape(address, "/ready").hasSuffix("\r\n\r\nready\n"))
    server.noteStopping()
    #expect(try Self.scrape(address, "/health").hasPrefix("HTTP/1.1 200"))
    #expect(try Self.scrape(address, "/ready").hasPrefix("HTTP/1.1 503"))
    #expect(try Self.scrape(address, "/").hasPrefix("HTTP/1.1 404"))
  }

  private static func scrape(
    _ address: SocketAddress, _ path: String = "/metrics"
  ) throws -> String {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(number) }
    var limit = timeval(tv_sec: 5, tv_usec: 0)
    _ = unsafe setsockopt(
      number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var raw = sockaddr_in()
    raw.sin_family = sa_family_t(AF_INET)
    raw.sin_port = address.port.bigEndian
    raw.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = unsafe withUnsafeBytes(of: &raw) { bytes in
      unsafe bytes.withMemoryRebound(to: sockaddr.self) { buffer in
        unsafe connect(number, buffer.baseAddress, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(result == 0)
    let request = Array("GET \(path) HTTP/1.1\r\n\r\n".utf8)
    _ = unsafe send(number, request, request.count, Int32(MSG_NOSIGNAL))
    var all: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = unsafe read(number, &bytes, bytes.count)
      guard count > 0 else { return String(decoding: all, as: UTF8.self) }
      all += bytes[..<count]
    }
  }
}
