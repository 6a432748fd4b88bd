import Primitives
import Testing

@testable import Reactor

@Suite struct SocketOutletTests {
  @Test func `a datagram goes by its path: the socket, a stream, or another port`() throws {
    var outlet = SocketOutlet(try UDPSocket(binding: Loopback.v4))
    let target = outlet.socket.localAddress
    var streamed: [[UInt8]] = []
    var fromElsewhere: [SocketAddress] = []
    outlet.sendByStream = { bytes, _ in streamed.append(bytes) }
    outlet.sendFromOtherPort = { _, remote, _ in fromElsewhere.append(remote) }
    for local in [LocalAddressID.unspecified, .stream(1), .unspecified.atOtherPort] {
      let isSent = outlet.send(100) { packet in
        packet.append(7)
        return DatagramPath(target, local: local)
      }
      #expect(isSent)
    }
    let isEmpty = !outlet.send(100) { _ in nil }
    #expect(isEmpty, "nothing was written")
    outlet.flush()
    #expect(outlet.socket.statistics.sentDatagrams == 1)
    #expect(streamed == [[7]] && fromElsewhere == [target])
  }
}
