import Primitives
import Testing

@testable import Reactor

struct HostResourcesTests {
  @Test func `the kernel tells what it grants`() throws {
    #expect(HostResources.kernel.hasPrefix("Linux "))
    #expect(HostResources.canLock(byteCount: 1 << 40) == false)
    // Whoever has no real-time priorities and no capability is refused: asking changes nothing.
    let granted = try HostResources.grantsRealTime()
    #expect(try HostResources.grantsRealTime() == granted)
    if HostResources.realTimeLimit == nil { #expect(granted) }
    if HostResources.lockedMemoryLimit == nil { #expect(HostResources.canLock(byteCount: 4096)) }
  }

  @Test func `a socket tells its buffers`() throws {
    var options = UDPSocket.Options()
    options.kernelBufferByteCount = 16_384
    let socket = try UDPSocket(binding: SocketAddress(v4: 127, 0, 0, 1, port: 0), options)
    let granted = socket.grantedBuffers()
    #expect(granted.receive == 16_384 && granted.send == 16_384)
  }
}
