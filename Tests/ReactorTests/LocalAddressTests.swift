import CLinux
import Primitives
import Testing

@testable import Reactor

/// Of a host with several addresses (all of 127.0.0.0/8 is this host's) the one that was asked is
/// the one that answers.
struct LocalAddressTests {
  static let everywhere = [
    SocketAddress(v4: 0, 0, 0, 0, port: 0), SocketAddress(family: .v6, high: 0, low: 0, port: 0),
  ]

  static func host(_ last: UInt8, _ port: UInt16) -> SocketAddress {
    SocketAddress(v4: 127, 0, 0, last, port: port)
  }

  /// The first message that comes, with its marks.
  private func next(_ socket: inout UDPSocket) throws -> (SocketAddress, DatagramMarks) {
    let isReadable = socket.waitUntilReadable()
    try #require(isReadable)
    try #require(socket.receive() == 1)
    let message = unsafe socket.message(0)
    let found = unsafe message.map { unsafe ($0.source, $0.marks) }
    return try #require(found)
  }

  private func answer(
    _ server: inout UDPSocket, _ path: DatagramPath, runOf count: Int
  ) {
    for _ in 0..<count {
      let room = unsafe server.room()
      unsafe room[0] = 1
      server.commit(1, on: path)
    }
    server.flush()
  }

  @Test(arguments: everywhere)
  func `an answer leaves from the address that was asked, runs as well`(
    bound: SocketAddress
  ) throws {
    var server = try UDPSocket(binding: bound)
    var client = try UDPSocket(binding: Loopback.v4)
    for last: UInt8 in [1, 2, 77] {
      let asked = Self.host(last, server.localAddress.port)
      client.send([7], to: asked)
      let (source, marks) = try next(&server)
      #expect(source == client.localAddress, "never in its IPv4-mapped form")
      #expect(server.address(marks.local) == asked)
      answer(&server, DatagramPath(source, local: marks.local), runOf: 10)
      let answers = client.collect(10)
      #expect(answers.count == 10 && answers.allSatisfy { $0.source == asked })
    }
    #expect(server.statistics.sentRuns == 3 && server.statistics.sendCalls == 3)
  }

  @Test func `an own address has one number, without a datagram that came to it`() throws {
    var socket = try UDPSocket(binding: Self.everywhere[0])
    let port = socket.localAddress.port
    let own = SocketAddress(v4: 192, 0, 2, 1, port: 0)
    let numbers = [2, 3, 2].map { number in
      socket.number(of: InterfaceAddress(address: own, interface: number, isUp: true))
    }
    #expect(numbers[0] == numbers[2] && numbers[0] != numbers[1])
    #expect(socket.address(numbers[0]) == SocketAddress(v4: 192, 0, 2, 1, port: port))
    let loopback = InterfaceAddress(address: Self.host(1, 0), interface: 1, isUp: true)
    #expect(socket.number(of: loopback).isUnspecified)
  }

  @Test func `runs of one remote and two own addresses stay apart, in one call`() throws {
    var server = try UDPSocket(binding: Self.everywhere[0])
    var client = try UDPSocket(binding: Loopback.v4)
    var paths: [DatagramPath] = []
    for last: UInt8 in [2, 3] {
      client.send([7], to: Self.host(last, server.localAddress.port))
      let (source, marks) = try next(&server)
      paths.append(DatagramPath(source, local: marks.local))
    }
    for path in [paths[0], paths[0], paths[1], paths[1]] {
      let room = unsafe server.room()
      unsafe room[0] = 1
      server.commit(1, on: path)
    }
    server.flush()
    let found = client.collect(4).map(\.source)
    let port = server.localAddress.port
    #expect(found == [2, 2, 3, 3].map { Self.host($0, port) })
    #expect(server.statistics.sentRuns == 2 && server.statistics.sendCalls == 1)
  }

  @Test func `IPv6 is answered from where it was asked`() throws {
    var server = try UDPSocket(binding: Self.everywhere[1])
    var client = try UDPSocket(binding: Loopback.v6)
    let asked = SocketAddress(family: .v6, high: 0, low: 1, port: server.localAddress.port)
    client.send([7], to: asked)
    let (source, marks) = try next(&server)
    #expect(server.address(marks.local) == asked)
    answer(&server, DatagramPath(source, local: marks.local), runOf: 3)
    #expect(client.collect(3).allSatisfy { $0.source == asked })
  }

  @Test(arguments: everywhere)
  func `a peer's socket names only what the system would not choose`(bound: SocketAddress) throws {
    var options = UDPSocket.Options()
    options.localAddresses = .whereSystemDiffers
    var peer = try UDPSocket(binding: bound, options)
    var client = try UDPSocket(binding: Loopback.v4)
    for (last, isNamed) in [(1, false), (2, true), (1, false)] as [(UInt8, Bool)] {
      client.send([7], to: Self.host(last, peer.localAddress.port))
      let (_, marks) = try next(&peer)
      #expect(marks.local.isUnspecified != isNamed)
    }
  }

  @Test func `a socket that is bound to one address names none`() throws {
    var server = try UDPSocket(binding: Loopback.v4)
    server.send([7], to: server.localAddress)
    #expect(try next(&server).1.local.isUnspecified)
  }

  @Test(arguments: everywhere, [1, 10])
  func `an address that the host has no more gives way to the system's choice`(
    bound: SocketAddress, count: Int
  ) throws {
    var server = try UDPSocket(binding: bound)
    var client = try UDPSocket(binding: Loopback.v4)
    let gone = SocketAddress(v4: 203, 0, 113, 7, port: 0)
    let local = server.locals.number(
      of: gone.forKernel, interface: 0, from: client.localAddress, now: .zero)
    #expect(!local.isUnspecified)
    for _ in 0..<5 {
      answer(&server, DatagramPath(client.localAddress, local: local), runOf: count)
    }
    #expect(client.collect(5 * count).count == 5 * count)
    #expect(server.statistics.movedMessages == 5 && server.statistics.droppedForRefusal == 0)
    #expect(server.statistics.refusedRuns == 0, "the kernel did not refuse to cut them")
  }

  @Test func `the table has a limit, and its numbers keep their meaning`() {
    var locals = LocalAddresses(reporting: .always)
    let source = SocketAddress(v4: 198, 51, 100, 1, port: 5)
    var first: [LocalAddressID] = []
    for round in 0..<2 {
      for number in 0..<(LocalAddresses.limit + 50) {
        let address = SocketAddress(
          family: .v6, high: 0x2001_0DB8 << 32, low: UInt64(number + 1), port: 0)
        let local = locals.number(
          of: address.forKernel, interface: 3, from: source, now: .zero)
        if round == 0 { first.append(local) } else { #expect(local == first[number]) }
        #expect(locals.address(local) == (number < LocalAddresses.limit ? address : nil))
      }
    }
    #expect(locals.count == LocalAddresses.limit)
  }

  @Test func `a link-local address is one of its interface`() {
    var locals = LocalAddresses(reporting: .always)
    let linkLocal = SocketAddress(family: .v6, high: 0xFE80 << 48, low: 9, port: 0)
    let global = SocketAddress(family: .v6, high: 0x2001_0DB8 << 32, low: 9, port: 0)
    let near = SocketAddress(family: .v6, high: 0xFE80 << 48, low: 1, port: 5)
    let far = SocketAddress(family: .v6, high: 0x2001_0DB8 << 32, low: 1, port: 5)
    let numbers = [
      locals.number(of: linkLocal.forKernel, interface: 3, from: near, now: .zero),
      locals.number(of: linkLocal.forKernel, interface: 4, from: near, now: .zero),
      locals.number(of: global.forKernel, interface: 3, from: far, now: .zero),
      locals.number(of: global.forKernel, interface: 4, from: far, now: .zero),
    ]
    #expect(numbers.map(\.rawValue) == [1, 2, 3, 3])
  }

  @Test func `a driver's machine answers from where it was asked`() throws {
    let loop = try EventLoop()
    let socket = try UDPSocket(binding: Self.everywhere[1])
    let asked = Self.host(9, socket.localAddress.port)
    let driver = MachineDriver(EchoMachine(), socket: socket, on: loop)
    try driver.start { _ in }
    try loop.start()
    var client = try UDPSocket(binding: Loopback.v4)
    client.send([1, 2, 3], to: asked)
    #expect(client.collect(1).first?.source == asked)
    loop.stop()
    loop.join()
  }
}
