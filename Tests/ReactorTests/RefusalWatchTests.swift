import Primitives
import Testing

@testable import Reactor

struct RefusalWatchTests {
  @Test func `a port without a socket refuses, on both families`() throws {
    for text in ["127.0.0.1:0", "[::1]:0"] {
      let address = try #require(SocketAddress(text))
      // Bound and closed again: nobody listens there now.
      let closed = try { () throws -> SocketAddress in
        let socket = try UDPSocket(binding: address)
        return socket.localAddress
      }()
      let watch = try RefusalWatch(of: closed)
      #expect(watch.finding == .silent)
      for _ in 0..<3 { watch.ask([1, 2, 3]) }
      watch.look()
      #expect(watch.finding == .refused && watch.refusals >= 2)
    }
  }

  @Test func `a socket that is there refuses nothing, and an answer wins`() throws {
    var socket = try UDPSocket(binding: SocketAddress(v4: 127, 0, 0, 1, port: 0))
    let watch = try RefusalWatch(of: socket.localAddress)
    watch.ask([1, 2, 3])
    watch.look()
    #expect(watch.finding == .silent && watch.refusals == 0)
    #expect(socket.receive() == 1)
    let message = unsafe socket.message(0)
    let source = unsafe try #require(message).source
    let room = unsafe socket.room()
    unsafe room[0] = 9
    socket.commit(1, to: source)
    socket.flush()
    watch.look()
    #expect(watch.finding == .answered)
  }
}
