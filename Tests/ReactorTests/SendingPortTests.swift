import Primitives
import Reactor
import Testing

/// A server's second port.
@Suite struct SendingPortTests {
  @Test func `datagrams leave from another port of the address that is named`() throws {
    var receiver = try UDPSocket(binding: SocketAddress(v4: 127, 0, 0, 1, port: 0))
    let port = try SendingPort(beside: SocketAddress(v4: 0, 0, 0, 0, port: 7400))
    #expect(port.localAddress.port != 7400 && port.localAddress.port != 0)
    let own = SocketAddress(v4: 127, 0, 0, 9, port: 7400)
    port.send([1, 2, 3], to: receiver.localAddress, from: nil)
    port.send([4], to: receiver.localAddress, from: own)
    port.send([UInt8](repeating: 5, count: 1200), to: receiver.localAddress, from: own)
    var lengths: [Int] = []
    var sources: [SocketAddress] = []
    for _ in 0..<1000 where lengths.count < 3 {
      for index in 0..<receiver.receive() {
        guard let message = unsafe receiver.message(index) else { continue }
        lengths.append(unsafe message.byteCount)
        sources.append(unsafe message.source)
      }
    }
    #expect(lengths == [3, 1, 1200])
    #expect(sources.allSatisfy { $0.port == port.localAddress.port })
    #expect(sources.dropFirst().allSatisfy { $0.isSameHost(as: own) })
  }

  @Test func `one that is bound to an address sends from it`() throws {
    var receiver = try UDPSocket(binding: SocketAddress(v4: 127, 0, 0, 1, port: 0))
    let port = try SendingPort(beside: SocketAddress(v4: 127, 0, 0, 5, port: 7400))
    port.send([1], to: receiver.localAddress, from: SocketAddress(v4: 127, 0, 0, 9, port: 7400))
    var source: SocketAddress?
    for _ in 0..<1000 where source == nil {
      if receiver.receive() > 0, let message = unsafe receiver.message(0) {
        source = unsafe message.source
      }
    }
    #expect(source == port.localAddress)
  }
}
