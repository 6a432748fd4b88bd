import Glibc
import Primitives
import Testing

@testable import Reactor

struct HTTPMetricsListenerTests {
  /// A blocking client with a limit on each read that is less than the listener's patience.
  private func client(of address: SocketAddress) throws -> FileDescriptor {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let descriptor = FileDescriptor(owning: number)
    var limit = timeval(tv_sec: 3, tv_usec: 0)
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
    return descriptor
  }

  private func readAll(_ descriptor: borrowing FileDescriptor) -> String {
    var all: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = unsafe read(descriptor.number, &bytes, bytes.count)
      guard count > 0 else { break }
      all += bytes[..<count]
    }
    return String(decoding: all, as: UTF8.self)
  }

  private func ask(_ address: SocketAddress, _ pieces: [String]) throws -> String {
    let descriptor = try client(of: address)
    for piece in pieces {
      let bytes = Array(piece.utf8)
      _ = unsafe send(descriptor.number, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
    return readAll(descriptor)
  }

  @Test func `serves its text at one path, and refuses what is too long`() throws {
    let loop = try EventLoop()
    // Longer than a socket takes at once.
    let text = String(repeating: "earshot_calls 1\n", count: 200_000)
    let listener = try HTTPMetricsListener(binding: Loopback.v4, on: loop) { path in
      switch path {
      case "/metrics": HTTPAnswer(text)
      case "/ready": HTTPAnswer("stopping\n", isGood: false)
      default: nil
      }
    }
    try loop.start()
    let address = listener.localAddress
    let found = try ask(address, ["GET /metrics HT", "TP/1.1\r\nHost: x\r\n\r\n"])
    #expect(found.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(found.hasSuffix("\r\n\r\n" + text))
    let missing = try ask(address, ["GET / HTTP/1.1\r\n\r\n"])
    #expect(missing.hasPrefix("HTTP/1.1 404 Not Found\r\n"))
    let head = try ask(address, ["HEAD /metrics HTTP/1.1\r\n\r\n"])
    #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n") && head.hasSuffix("\r\n\r\n"))
    #expect(head.contains("Content-Length: \(text.utf8.count)\r\n"))
    let refused = try ask(address, ["GET /ready HTTP/1.1\r\n\r\n"])
    #expect(refused.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
    #expect(refused.hasSuffix("\r\n\r\nstopping\n"))
    #expect(try ask(address, ["POST /metrics HTTP/1.1\r\n\r\n"]).hasPrefix("HTTP/1.1 404"))
    #expect(try ask(address, [String(repeating: "x", count: 5000)]) == "")
    loop.stop()
    loop.join()
    listener.stop()
  }

  @Test func `takes sixteen clients and closes the seventeenth`() throws {
    let loop = try EventLoop()
    let listener = try HTTPMetricsListener(binding: Loopback.v4, on: loop) { _ in nil }
    try loop.start()
    var idle: [Int32] = []
    for _ in 0..<HTTPMetricsListener.connectionLimit {
      let descriptor = try client(of: listener.localAddress)
      idle.append(dup(descriptor.number))
    }
    let tooMany = try client(of: listener.localAddress)
    var byte: UInt8 = 0
    #expect(unsafe read(tooMany.number, &byte, 1) == 0, "closed by the listener, not by a timeout")
    for number in idle { close(number) }
    loop.stop()
    loop.join()
    listener.stop()
  }

  @Test func `more connections a second than 64 wait`() throws {
    let loop = try EventLoop()
    let accepted = FailureCount()
    let listener = try HTTPMetricsListener(binding: Loopback.v4, on: loop) { _ in
      accepted.add(1)
      return HTTPAnswer("")
    }
    try loop.start()
    let start = SystemClock.now
    for _ in 0..<(HTTPMetricsListener.acceptRate + 5) {
      #expect(try ask(listener.localAddress, ["GET /metrics HTTP/1.1\r\n\r\n"]).contains("200"))
    }
    #expect(accepted.value == UInt64(HTTPMetricsListener.acceptRate + 5))
    #expect(SystemClock.now - start > .milliseconds(500))
    loop.stop()
    loop.join()
    listener.stop()
  }
}
