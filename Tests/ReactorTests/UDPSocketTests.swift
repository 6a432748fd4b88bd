import Glibc
import Primitives
import Testing

@testable import Reactor

struct UDPSocketTests {
  @Test(arguments: [true, false])
  func `datagrams keep their borders, order and sizes`(segments: Bool) throws {
    var options = UDPSocket.Options()
    options.segments = segments
    var sender = try UDPSocket(binding: Loopback.v4, options)
    var receiver = try UDPSocket(binding: Loopback.v4)
    // Runs of equal sizes, runs with a shorter end, a longer one after a shorter one.
    let sizes = [100, 100, 100, 40, 40, 1200, 1200, 1, 2, 3, 3, 3, 1200]
    for (index, size) in sizes.enumerated() {
      sender.put([UInt8](repeating: UInt8(index), count: size), to: receiver.localAddress)
    }
    sender.flush()
    let found = receiver.collect(sizes.count)
    #expect(found.map(\.bytes.count) == sizes)
    #expect(found.map { $0.bytes.first } == sizes.indices.map { UInt8($0) })
    #expect(found.allSatisfy { $0.source == sender.localAddress })
    #expect(sender.statistics.sentDatagrams == UInt64(sizes.count))
    #expect(sender.statistics.sentBytes == UInt64(sizes.reduce(0, +)))
    // 100 100 100 40 | 40 | 1200 1200 1 | 2 | 3 3 3 | 1200
    #expect(sender.statistics.sentRuns == (segments ? 3 : 0))
    #expect(sender.statistics.sendCalls == 1)
  }

  @Test func `a run longer than the kernel takes becomes several`() throws {
    var sender = try UDPSocket(binding: Loopback.v4)
    var receiver = try UDPSocket(binding: Loopback.v4)
    for index in 0..<150 {
      sender.put([UInt8](repeating: UInt8(index), count: 1000), to: receiver.localAddress)
    }
    sender.flush()
    #expect(receiver.collect(150).map { $0.bytes.first } == (0..<150).map { UInt8($0) })
    #expect(sender.statistics.sentRuns == 3)
  }

  @Test func `a run that the kernel refuses goes out datagram by datagram`() throws {
    var sender = try UDPSocket(binding: Loopback.v4)
    var receiver = try UDPSocket(binding: Loopback.v4)
    // UDP_SEGMENT wants checksums: without them the kernel answers EIO, as it does for devices
    // that cannot.
    var isOn: Int32 = 1
    let result = unsafe setsockopt(sender.fileNumber, SOL_SOCKET, SO_NO_CHECK, &isOn, 4)
    try #require(result == 0)
    for round in 0..<4 {
      for index in 0..<10 {
        let size = index == 9 ? 30 : 90
        sender.put(
          [UInt8](repeating: UInt8(10 * round + index), count: size), to: receiver.localAddress)
      }
      sender.flush()
    }
    #expect(receiver.collect(40).map { $0.bytes.first } == (0..<40).map { UInt8($0) })
    #expect(sender.statistics.sentDatagrams == 40)
    #expect(sender.statistics.sentBytes == 4 * (9 * 90 + 30))
    #expect(sender.statistics.sentRuns == 0)
    #expect(sender.statistics.refusedRuns == 3, "after three refusals nothing is asked any more")
  }

  @Test func `IPv4 peers of a dual-stack socket have IPv4 addresses`() throws {
    let any = SocketAddress(family: .v6, high: 0, low: 0, port: 0)
    var dual = try UDPSocket(binding: any)
    var v4 = try UDPSocket(binding: Loopback.v4)
    var v6 = try UDPSocket(binding: Loopback.v6)
    #expect(dual.localAddress.family == .v6 && dual.localAddress.port != 0)
    let port = dual.localAddress.port
    v4.send([4], to: SocketAddress(v4: 127, 0, 0, 1, port: port))
    #expect(dual.collect(1).first?.source == v4.localAddress)
    v6.send([6], to: SocketAddress(family: .v6, high: 0, low: 1, port: port))
    #expect(dual.collect(1).first?.source == v6.localAddress)
    dual.send([44], to: v4.localAddress)
    #expect(v4.collect(1).first?.bytes == [44])
    dual.send([66], to: v6.localAddress)
    #expect(v6.collect(1).first?.bytes == [66])
  }

  @Test(arguments: [Loopback.v4, Loopback.v6])
  func `ECN bits arrive as they were set`(address: SocketAddress) throws {
    var sender = try UDPSocket(binding: address)
    var receiver = try UDPSocket(binding: address)
    for bits: UInt8 in [0, 2, 1, 3] {
      try sender.setECN(bits)
      sender.send([bits], to: receiver.localAddress)
      #expect(receiver.collect(1).first?.ecn == bits)
    }
  }

  @Test func `the kernel's stamp lies between sending and receiving`() throws {
    var socket = try UDPSocket(binding: Loopback.v4)
    let before = SystemClock.now
    socket.send([1], to: socket.localAddress)
    let isReadable = socket.waitUntilReadable()
    try #require(isReadable)
    let count = socket.receive()
    let after = SystemClock.now
    try #require(count == 1)
    let arrival = unsafe socket.message(0)?.arrival
    // Wall clock and monotonic clock are read one after the other, so allow the gap.
    #expect(try #require(arrival) > before - .microseconds(500))
    #expect(try #require(arrival) <= after)
  }

  @Test func `a taken port is named with its reason`() throws {
    let first = try UDPSocket(binding: Loopback.v4)
    let taken = first.localAddress
    let error = #expect(throws: ReactorError.self) { _ = try UDPSocket(binding: taken) }
    #expect(error?.isAddressInUse == true)
    #expect(error?.description == "cannot bind UDP \(taken): Address already in use")
    #expect(error?.advice(on: "--listen").contains("give another one with --listen") == true)
  }

  @Test func `what cannot be sent is counted and stops nothing`() throws {
    var socket = try UDPSocket(binding: Loopback.v4)
    socket.put([1], to: SocketAddress(family: .v6, high: 0, low: 1, port: 9))
    socket.put([2], to: SocketAddress(v4: 127, 0, 0, 1, port: 0))
    socket.put([3], to: SocketAddress(v4: 203, 0, 113, 1, port: 9))  // not from a loopback address
    socket.put([4], to: socket.localAddress)
    socket.flush()
    #expect(socket.statistics.droppedForRefusal == 3)
    #expect(socket.statistics.lastSendError != 0)
    #expect(socket.collect(1).first?.bytes == [4])
  }
}
