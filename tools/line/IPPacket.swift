/// What a line must know of an IP packet, and may change of it.
package enum IPPacket {
  /// Bytes of a header without options: IPv4 (RFC 791), IPv6 (RFC 8200).
  private static let v4ByteCount = 20
  private static let v6ByteCount = 40

  /// Of which protocol it is: "udp", "tcp", or "other". Nothing of a fragment is looked into.
  package static func kind(_ packet: Span<UInt8>) -> String {
    guard let version = version(packet) else { return "other" }
    switch packet[version == 4 ? 9 : 6] {
    case 6: return "tcp"
    case 17: return "udp"
    default: return "other"
    }
  }

  /// The two bits of ECN (RFC 3168 §5).
  package static func ecn(_ packet: Span<UInt8>) -> UInt8 {
    switch version(packet) {
    case 4: packet[1] & 3
    case 6: (packet[1] >> 4) & 3
    default: 0
    }
  }

  /// The same with other bits; the checksum of IPv4 follows (RFC 1624, equation 3).
  package static func setECN(_ ecn: UInt8, of packet: inout [UInt8]) {
    switch version(packet.span) {
    case 4:
      let old = UInt16(packet[0]) << 8 | UInt16(packet[1])
      packet[1] = packet[1] & ~3 | ecn
      let new = UInt16(packet[0]) << 8 | UInt16(packet[1])
      let checksum = UInt16(packet[10]) << 8 | UInt16(packet[11])
      var sum = UInt32(~checksum) + UInt32(~old) + UInt32(new)
      while sum > 0xFFFF { sum = sum & 0xFFFF + sum >> 16 }
      let result = ~UInt16(sum)
      packet[10] = UInt8(result >> 8)
      packet[11] = UInt8(result & 0xFF)
    case 6: packet[1] = packet[1] & 0xCF | ecn << 4
    default: break
    }
  }

  /// 4 or 6, where the header is whole.
  private static func version(_ packet: Span<UInt8>) -> Int? {
    guard packet.count >= v4ByteCount else { return nil }
    switch packet[0] >> 4 {
    case 4: return 4
    case 6: return packet.count >= v6ByteCount ? 6 : nil
    default: return nil
    }
  }
}
