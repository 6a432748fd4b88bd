import Earshot
import Primitives
import Testing

@Suite struct RelayOptionsTests {
  @Test(arguments: [
    ("turn:relay.example.org", "relay.example.org:3478"),
    ("turn:relay.example.org:443", "relay.example.org:443"),
    ("TURN:192.0.2.1:3478?transport=udp", "192.0.2.1:3478"),
    ("turn:[2001:db8::1]", "[2001:db8::1]:3478"), ("turn:[2001:db8::1]:9", "[2001:db8::1]:9"),
    ("turns:relay.example.org", "relay.example.org:5349"), ("turn:h?transport=tcp", "h:3478"),
    ("turn:", nil), ("turns:h?transport=udp", nil),
    ("turn:h:0", nil), ("turn:h:x", nil), ("stun:h", nil), ("h:3478", nil), ("turn::3478", nil),
  ])
  func `reads the URI of a server and nothing else`(uri: String, server: String?) {
    #expect(RelayOptions(uri: uri, user: "u", password: "p").server == server)
  }

  @Test func `what becomes of a relay has words`() {
    let address = SocketAddress(v4: 203, 0, 113, 9, port: 50_000)
    #expect(RelayState.available(address) != .available(SocketAddress(v4: 1, 2, 3, 4, port: 5)))
    #expect(Configuration(rendezvous: "h:1").relays.isEmpty)
  }
}
