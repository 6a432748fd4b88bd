import Glibc
import Primitives
import Testing

@testable import Reactor

struct NetworkInterfacesTests {
  private func entry(_ text: String, _ interface: UInt32, isUp: Bool = true) throws
    -> InterfaceAddress
  {
    InterfaceAddress(
      address: try #require(SocketAddress(text)), interface: interface, isUp: isUp)
  }

  @Test func `keeps what a peer could reach, in an order of its own`() throws {
    let found = [
      try entry("172.17.0.1:5", 9), try entry("127.0.0.1:5", 1), try entry("[::1]:5", 1),
      try entry("192.0.2.7:5", 2), try entry("[fe80::1]:5", 2), try entry("[2001:db8::7]:5", 2),
      try entry("169.254.3.4:5", 2), try entry("198.51.100.1:5", 3, isUp: false),
      try entry("192.0.2.7:5", 4),
    ]
    let expected = ["[2001:db8::7]:5", "192.0.2.7:5", "172.17.0.1:5", "169.254.3.4:5"]
    for list in [found, found.reversed()] {
      let usable = NetworkInterfaces.usable(list, includingLoopback: false, limit: 8)
      #expect(usable.map(\.description) == expected)
    }
    let two = NetworkInterfaces.usable(found, includingLoopback: true, limit: 2)
    #expect(two.map(\.description) == ["[::1]:5", "127.0.0.1:5"])
  }

  @Test func `several addresses of one family do not delay the other`() throws {
    let found = [
      try entry("[2001:db8::3]:5", 2), try entry("[2001:db8::1]:5", 2),
      try entry("[2001:db8::2]:5", 2), try entry("192.0.2.7:5", 2), try entry("192.0.2.8:5", 3),
    ]
    let usable = NetworkInterfaces.usable(found, includingLoopback: false, limit: 4)
    #expect(
      usable.map(\.description)
        == ["[2001:db8::1]:5", "192.0.2.7:5", "[2001:db8::2]:5", "192.0.2.8:5"])
  }

  @Test func `another uplink is an address of each family on an interface of its own`() throws {
    let found = [
      try entry("127.0.0.1:5", 1), try entry("192.0.2.7:5", 2), try entry("192.0.2.8:5", 2),
      try entry("[2001:db8::7]:5", 2), try entry("198.51.100.1:5", 3),
      try entry("198.51.100.2:5", 3), try entry("[2001:db8:3::1]:5", 3),
      try entry("203.0.113.1:5", 4, isUp: false), try entry("[fe80::1]:5", 5),
      try entry("169.254.3.4:5", 5), try entry("172.17.0.1:5", 9),
    ]
    let source = try #require(SocketAddress("192.0.2.8:0"))
    let others = NetworkInterfaces.alternates(to: source, of: found)
    #expect(
      others.map(\.address.description)
        == ["[2001:db8:3::1]:5", "198.51.100.1:5", "172.17.0.1:5"])
    #expect(NetworkInterfaces.alternates(to: source, of: Array(found.prefix(4))).isEmpty)
    let many = try (2..<20).map { try entry("10.0.\($0).1:5", $0) }
    #expect(
      NetworkInterfaces.alternates(to: nil, of: many).count == NetworkInterfaces.alternateLimit)
    #expect(try NetworkInterfaces.alternates(to: nil).allSatisfy { !$0.address.isLoopback })
  }

  @Test func `this host has its loopback address`() throws {
    let all = try NetworkInterfaces.hostAddresses(port: 7, includingLoopback: true)
    #expect(all.contains(SocketAddress(v4: 127, 0, 0, 1, port: 7)))
    #expect(all.count <= NetworkInterfaces.addressLimit)
    #expect(try NetworkInterfaces.hostAddresses(port: 7).allSatisfy { !$0.isLoopback })
  }
}

struct SourceAddressTests {
  @Test func `knows the address that a packet would come from`() throws {
    let local = SocketAddress(v4: 127, 0, 0, 1, port: 7)
    #expect(
      NetworkInterfaces.address(toward: local, port: 9) == SocketAddress(v4: 127, 0, 0, 1, port: 9))
    // RFC 5737: nobody is there, but every own address is one of the interfaces' or none.
    let far = SocketAddress(v4: 192, 0, 2, 1, port: 7)
    if let address = NetworkInterfaces.address(toward: far, port: 9) {
      #expect(!address.isUnspecified && address.port == 9)
    }
  }
}

struct ResolverTests {
  @Test(
    arguments: [
      ("192.0.2.1:7400", nil, "192.0.2.1:7400"), ("[2001:db8::1]:7400", nil, "[2001:db8::1]:7400"),
      ("192.0.2.1", 3478, "192.0.2.1:3478"), ("2001:db8::1", 3478, "[2001:db8::1]:3478"),
    ] as [(String, UInt16?, String)])
  func `numbers need no asking`(text: String, port: UInt16?, address: String) throws {
    #expect(try HostAndPort(text, defaultPort: port).numeric?.description == address)
  }

  @Test(
    arguments: [
      ("example.org:7400", nil, "example.org", 7400), ("example.org", 80, "example.org", 80),
      ("localhost:0", 80, "localhost", 0),
    ] as [(String, UInt16?, String, UInt16)])
  func `names come apart at the colon`(text: String, port: UInt16?, host: String, expected: UInt16)
    throws
  {
    let found = try HostAndPort(text, defaultPort: port)
    #expect(found.host == host && found.port == expected && found.numeric == nil)
  }

  @Test(arguments: [
    ("example.org", "cannot resolve 'example.org': it has no port; write example.org:PORT"),
    ("example.org:x", "cannot resolve 'example.org:x': 'x' is not a port (0 to 65535)"),
    ("example.org:70000", "cannot resolve 'example.org:70000': '70000' is not a port (0 to 65535)"),
    (
      "2001:db8::1:99",
      "cannot resolve '2001:db8::1:99': it is neither host:port nor [IPv6 address]:port"
    ),
    (":7400", "cannot resolve ':7400': it is neither host:port nor [IPv6 address]:port"),
  ])
  func `what is no address is named`(text: String, message: String) {
    let error = #expect(throws: ReactorError.self) {
      _ = try HostAndPort(text, defaultPort: nil)
    }
    #expect(error?.description == message)
  }

  /// Method: the answer about both families never comes, and that about IPv6 neither.
  @Test(.timeLimit(.minutes(1)))
  func `a name server that is silent about one family does not keep the other away`() async throws {
    let four = SocketAddress(v4: 192, 0, 2, 1, port: 7400)
    let found = try await Resolver.race(patience: .milliseconds(20)) {
      family throws(ReactorError) in
      if family != AF_INET { pause() }
      return family == AF_INET ? [four] : []
    }
    #expect(found == [four])
  }

  @Test func `what is said of both families counts, if it comes in time`() async throws {
    let both = [SocketAddress(v4: 192, 0, 2, 1, port: 7), SocketAddress("[2001:db8::1]:7")!]
    let found = try await Resolver.race(patience: .seconds(1)) { family throws(ReactorError) in
      family == AF_UNSPEC ? both : []
    }
    #expect(found == both)
    let error = await #expect(throws: ReactorError.self) {
      _ = try await Resolver.race(patience: .milliseconds(1)) { _ throws(ReactorError) in
        throw ReactorError("resolve", "host 'h'", reason: "none")
      }
    }
    #expect(error?.reason == "none")
  }

  @Test func `asks the system for names, off the caller's thread`() async throws {
    let addresses = try await Resolver.resolve("localhost:99")
    #expect(addresses.contains { $0.isLoopback && $0.port == 99 })
    // RFC 6761 §6.4: never exists; without a network the answer is an error as well.
    let error = await #expect(throws: ReactorError.self) {
      _ = try await Resolver.resolve("nobody.invalid:99")
    }
    #expect(error?.subject == "host 'nobody.invalid'")
  }
}
