import Arguments
import LineCommand
import LinkModel
import Primitives
import Reactor
import Testing

/// What can be told of a line between devices without making any.
/// tools/congestion-check --tcp sends real packets over one.
@Suite struct LineDevicesTests {
  /// A UDP datagram of 8 bytes from 10.0.0.1 to 10.0.0.2, ECT(0).
  private static let v4: [UInt8] = [
    0x45, 0x02, 0, 36, 0, 0, 0x40, 0, 64, 17, 0x26, 0xC5, 10, 0, 0, 1, 10, 0, 0, 2,
    0, 1, 0, 2, 0, 16, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8,
  ]

  private static func options(_ words: String...) throws -> LineOptions {
    try LineOptions(Arguments(words)) { _ throws(UsageError) in "" }
  }

  /// The checksum of RFC 791 over the whole header, which is right where it is 0.
  private static func checksum(_ packet: [UInt8]) -> UInt16 {
    var sum: UInt32 = 0
    for index in stride(from: 0, to: 20, by: 2) {
      sum += UInt32(packet[index]) << 8 | UInt32(packet[index + 1])
    }
    while sum > 0xFFFF { sum = sum & 0xFFFF + sum >> 16 }
    return ~UInt16(sum)
  }

  @Test func `two devices are named, and nothing is forwarded beside them`() throws {
    let options = try Self.options("--devices", "near0=far0", "--up", "rate=1M")
    #expect(options.devices == LineDevices.Pair(near: "near0", far: "far0"))
    for wrong in ["near0", "near0=near0", "near0=", "a=b=c", "near0=farther-than-fifteen"] {
      #expect(throws: UsageError.self) { try Self.options("--devices", wrong) }
    }
    #expect(throws: UsageError.self) { try Self.options() }
    #expect(throws: UsageError.self) {
      try Self.options("--devices", "a=b", "--forward", "127.0.0.1:1=127.0.0.1:2")
    }
    #expect(throws: UsageError.self) { try Self.options("--devices", "a=b", "--rebind-at", "1") }
  }

  @Test func `a device without a proper name is refused`() {
    for name in ["", "sixteen-letters-"] {
      #expect(throws: ReactorError.self) { try PacketDevice(named: name) }
    }
  }

  @Test func `a packet says its protocol`() {
    var packet = Self.v4
    #expect(IPPacket.kind(packet.span) == "udp")
    packet[9] = 6
    #expect(IPPacket.kind(packet.span) == "tcp")
    packet[9] = 1
    #expect(IPPacket.kind(packet.span) == "other")
    let v6 = [0x60, 0, 0, 0, 0, 0, 17] + [UInt8](repeating: 0, count: 33)
    #expect(IPPacket.kind(v6.span) == "udp")
    #expect(IPPacket.kind(v6.span.extracting(0..<39)) == "other")
    #expect(IPPacket.kind([UInt8]().span) == "other")
  }

  @Test func `a mark of ECN keeps the checksum right`() {
    var packet = Self.v4
    #expect(Self.checksum(packet) == 0)
    for ecn: UInt8 in [3, 1, 0, 2] {
      IPPacket.setECN(ecn, of: &packet)
      #expect(IPPacket.ecn(packet.span) == ecn && Self.checksum(packet) == 0)
    }
    #expect(packet == Self.v4)
    var v6 = [0x6F, 0xEF, 0, 0, 0, 0, 17] + [UInt8](repeating: 0, count: 33)
    IPPacket.setECN(1, of: &v6)
    #expect(IPPacket.ecn(v6.span) == 1 && v6[0] == 0x6F && v6[1] == 0xDF)
  }

  /// 20 bytes of IP and 8 of UDP are counted with a datagram, and are in a packet already.
  @Test func `a whole packet takes its own time of a line`() {
    var conditions = LinkConditions(delay: .zero)
    conditions.rate = .init(8_000, queue: .time(.seconds(1)))
    var relay = LineRelay(up: conditions, down: conditions, seed: 1)
    let route = LineRelay.Route(client: 0, portal: 0)
    let packet = relay.take(Self.v4.span, .up, route, ecn: 0, isWhole: true, now: .zero)
    #expect(packet.departure == .zero + .milliseconds(36))
    let datagram = relay.take(Self.v4.span, .down, route, ecn: 0, now: .zero)
    #expect(datagram.departure == .zero + .milliseconds(64))
  }
}
