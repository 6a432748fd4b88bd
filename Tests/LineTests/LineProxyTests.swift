import LineCommand
import LinkModel
import Primitives
import Reactor
import Testing

/// The proxy on the loopback address, with the one event loop of the test.
@Suite struct LineProxyTests {
  /// A program at either side: sends, and keeps what it received.
  private final class Program {
    var socket: UDPSocket
    var received: [(bytes: [UInt8], source: SocketAddress, at: Instant)] = []

    init() throws {
      socket = try UDPSocket(binding: try #require(SocketAddress("127.0.0.1:0")))
    }

    func listen(on loop: EventLoop, _ then: @escaping () -> Void) throws {
      _ = try loop.watch(socket.fileNumber, for: .readable) { [unowned self] _ in
        for index in 0..<socket.receive() {
          guard let message = unsafe socket.message(index) else { continue }
          let bytes = unsafe Array(
            UnsafeBufferPointer(start: message.bytes, count: message.byteCount))
          unsafe received.append((bytes, message.source, message.arrival))
        }
        then()
      }
    }

    func send(_ bytes: [UInt8], to destination: SocketAddress) {
      let room = unsafe socket.room()
      for index in bytes.indices { unsafe room[index] = bytes[index] }
      socket.commit(bytes.count, to: destination)
      socket.flush()
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `two programs speak over a line, a stranger is let in, and a rebinding is seen`() throws {
    let loop = try EventLoop()
    let (client, server, stranger) = (try Program(), try Program(), try Program())
    var line = LinkConditions(delay: .milliseconds(10))
    line.rate = .init(10_000_000, queue: .time(.milliseconds(100)))
    let listen = try #require(SocketAddress("127.0.0.1:0"))
    let proxy = try LineProxy(
      [.init(listen: listen, target: server.socket.localAddress)],
      LineRelay(up: line, down: line, seed: 1), on: loop)
    let inner = proxy.innerAddresses[0]
    let start = SystemClock.now
    let guardian = try loop.addTimer { _ in loop.stop() }
    loop.setDeadline(guardian, start + .seconds(20))

    try play(client, server, stranger, proxy, on: loop)
    client.send([1], to: inner)
    loop.run()

    #expect(server.received.map(\.bytes) == [[1], [4]])
    #expect(Set(client.received.prefix(2).map(\.bytes)) == [[2], [3]])
    #expect(client.received.last?.bytes == [5])
    let answer = try #require(client.received.first { $0.bytes == [2] })
    let word = try #require(client.received.first { $0.bytes == [3] })
    #expect(answer.source == inner && word.source != inner)
    #expect(answer.at - start >= .milliseconds(20))
    #expect(server.received[0].source.port != server.received[1].source.port)
    #expect(proxy.rebindings == 1 && proxy.faults.isEmpty)
    #expect(proxy.relay.up.counters.offered == 2 && proxy.relay.down.counters.offered == 3)
    #expect(LineProgram.counts(proxy).contains("\"rebindings\":1"))
    let carried: any CarriedLine = proxy
    #expect(LineProgram.listening(carried).contains("\"\(inner)\""))
  }

  /// The server answers, a stranger writes to the port that the server sees; the client speaks
  /// again after a rebinding, and the third datagram that it gets is the last.
  private func play(
    _ client: Program, _ server: Program, _ stranger: Program, _ proxy: LineProxy,
    on loop: EventLoop
  ) throws {
    let inner = proxy.innerAddresses[0]
    try server.listen(on: loop) {
      guard let last = server.received.last else { return }
      switch server.received.count {
      case 1:
        server.send([2], to: last.source)
        stranger.send([3], to: last.source)
      default: server.send([5], to: last.source)
      }
    }
    try client.listen(on: loop) {
      switch client.received.count {
      case 2:
        proxy.rebind()
        client.send([4], to: inner)
      case 3: loop.stop()
      default: break
      }
    }
  }
}
