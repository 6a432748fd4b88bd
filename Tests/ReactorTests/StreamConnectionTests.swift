import Glibc
import Primitives
import Synchronization
import Testing

@testable import Reactor

/// Connections to a listener on the loopback address.
@Suite struct StreamConnectionTests {
  /// What a connection told, for other threads.
  private final class Told: Sendable {
    private let events = Mutex<[StreamConnection.Event]>([])

    func append(_ event: StreamConnection.Event) { events.withLock { $0.append(event) } }

    var isConnected: Bool {
      events.withLock { $0.contains { if case .connected = $0 { true } else { false } } }
    }
    var failure: StreamFailure? {
      events.withLock { events in
        for event in events { if case .ended(let failure) = event { return failure } }
        return nil
      }
    }
    var bytes: [UInt8] {
      events.withLock { events in
        events.flatMap { event -> [UInt8] in
          if case .received(let bytes) = event { bytes } else { [] }
        }
      }
    }
  }

  /// A listener that sends back what it gets.
  private final class Echo {
    let number: Int32
    let address: SocketAddress

    init() throws {
      let made = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var raw = sockaddr_in()
      raw.sin_family = sa_family_t(AF_INET)
      raw.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = unsafe withUnsafeMutablePointer(to: &raw) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          unsafe bind(made, address, size) == 0 && listen(made, 4) == 0
            && getsockname(made, address, &size) == 0
        }
      }
      number = made
      address = SocketAddress(v4: 127, 0, 0, 1, port: UInt16(bigEndian: raw.sin_port))
      try #require(result)
    }

    /// Takes a connection, sends back `count` bytes, and closes it.
    func serve(_ count: Int) {
      let accepted = accept(number, nil, nil)
      var room = [UInt8](repeating: 0, count: 4096)
      var left = count
      while left > 0 {
        let got = unsafe read(accepted, &room, min(left, room.count))
        guard got > 0 else { break }
        _ = unsafe send(accepted, room, got, Int32(MSG_NOSIGNAL))
        left -= got
      }
      _ = Glibc.close(accepted)
    }

    /// Takes a connection, and sends until it is closed, or all of `bytes` so often.
    func flood(_ bytes: [UInt8], times: Int) {
      let accepted = accept(number, nil, nil)
      for _ in 0..<times {
        guard unsafe send(accepted, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0 else { break }
      }
      _ = Glibc.close(accepted)
    }

    deinit { _ = Glibc.close(number) }
  }

  /// Runs a connection on a loop of its own until it ends, for 5 s at most.
  private func run(
    to address: SocketAddress, tls: TLSOptions? = nil, sending bytes: [UInt8] = [],
    patience: Duration = StreamConnection.patience, serve: () -> Void = {}
  ) throws -> Told {
    let told = Told()
    let loop = try EventLoop()
    var sender: StreamConnection?
    sender = try StreamConnection(to: address, tls: tls, on: loop, patience: patience) { event in
      told.append(event)
      if case .ended = event {
        // Closed now: who sends to it must not wait.
        sender = nil
        loop.stop()
      }
      guard case .connected = event, let sender else { return }
      for start in stride(from: 0, to: bytes.count, by: 1000) {
        _ = sender.send(Array(bytes[start..<min(start + 1000, bytes.count)]))
      }
    }
    let timer = try loop.addTimer { _ in loop.stop() }
    loop.setDeadline(timer, SystemClock.now + .seconds(5))
    try loop.start()
    serve()
    loop.join()
    return told
  }

  @Test func `sends and receives in order, and tells the end`() throws {
    let echo = try Echo()
    let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
    let told = try run(
      to: echo.address, sending: bytes, serve: { echo.serve(bytes.count) })
    #expect(told.isConnected && told.bytes == bytes)
    #expect(told.failure == .lost("closed by the server"))
  }

  @Test func `says that nobody listens`() throws {
    let address: SocketAddress
    do { address = try Echo().address }
    let told = try run(to: address)
    guard case .unreachable = told.failure else {
      Issue.record("\(String(describing: told.failure))")
      return
    }
    #expect(!told.isConnected)
  }

  @Test func `does not take something else for TLS`() throws {
    let echo = try Echo()
    let told = try run(
      to: echo.address, tls: TLSOptions(host: "localhost"), serve: { echo.serve(1 << 20) })
    guard case .insecure = told.failure else {
      Issue.record("\(String(describing: told.failure))")
      return
    }
    #expect(!told.isConnected)
  }

  /// The listener's queue takes the connection, and nobody reads.
  @Test func `a handshake that is never answered ends`() throws {
    let echo = try Echo()
    let told = try run(
      to: echo.address, tls: TLSOptions(host: "localhost"), patience: .milliseconds(50))
    #expect(told.failure == .unreachable("no answer") && !told.isConnected)
  }

  /// Records of a handshake without end: each byte is a message of length zero, or part of one.
  @Test(arguments: [[22, 3, 3, 0, 4, 0, 0, 0, 0], [22, 3, 3, 0, 5, 2, 0xFF, 0xFF, 0xFF, 0]])
  func `a handshake that never ends is ended`(record: [UInt8]) throws {
    let echo = try Echo()
    let told = try run(
      to: echo.address, tls: TLSOptions(host: "localhost"), patience: .milliseconds(300),
      serve: { echo.flood(record, times: 1 << 20) })
    #expect(told.failure != nil && !told.isConnected)
  }

  @Test func `a flood leaves the loop to others after each 16 KiB`() throws {
    let echo = try Echo()
    let loop = try EventLoop()
    var turns = 0
    var turnsAtEach: [Int] = []
    var timer: EventLoop.Token?
    timer = try loop.addTimer { _ in
      turns += 1
      if let timer { loop.setDeadline(timer, SystemClock.now) }
    }
    if let timer { loop.setDeadline(timer, SystemClock.now) }
    let connection = try StreamConnection(to: echo.address, tls: nil, on: loop) { event in
      if case .received(let bytes) = event {
        #expect(bytes.count <= 16_384)
        turnsAtEach.append(turns)
      }
      if case .ended = event { loop.stop() }
    }
    try loop.start()
    echo.flood([UInt8](repeating: 0x40, count: 4096), times: 256)
    loop.join()
    #expect(connection.unsentByteCount == 0)
    #expect(turnsAtEach.count >= 64)
    #expect(zip(turnsAtEach, turnsAtEach.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test(arguments: [
    ("/nowhere.pem", "No such file"), ("/etc/passwd", "holds no certificate"), ("/", "/"),
  ])
  func `needs authorities to believe`(path: String, word: String) throws {
    let options = TLSOptions(host: "localhost", authorities: path)
    let error = #expect(throws: ReactorError.self) { try options.check() }
    #expect(error?.action == "verify" && error?.reason.contains(path) == true)
    #expect(error?.reason.contains(word) == true)
  }

  @Test func `a session begins with a ClientHello for the host and no old version`() throws {
    let session = try TLSSession(TLSOptions(host: "relay.example"))
    #expect(session.handshake() == .waiting)
    let hello = session.takeOutput()
    #expect(hello.first == 22, "a handshake record")
    #expect(String(decoding: hello, as: UTF8.self).contains("relay.example"))
    #expect(session.takeOutput().isEmpty)
    // An alert for an old version: protocol_version, fatal.
    #expect(session.feed([21, 3, 3, 0, 2, 2, 70], 7) && session.handshake() == .failed)
    #expect(!session.reason.isEmpty && !session.isUntrusted)
  }
}
