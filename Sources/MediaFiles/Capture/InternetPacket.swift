internal import Primitives

/// The IP and UDP headers around a payload (RFC 791, RFC 8200, RFC 768), written with right
/// checksums and read without trust.
enum InternetPacket {
  /// What UDP over IPv4 carries at most.
  static let maxPayloadByteCount = 65_507

  /// Appends a whole IP packet to `bytes`.
  ///
  /// Addresses of two families cannot share a packet: an IPv4 address is then written as IPv6,
  /// mapped (RFC 4291 §2.5.5.2).
  static func append(_ datagram: CapturedDatagram, to bytes: inout [UInt8]) {
    let payload = datagram.payload.prefix(maxPayloadByteCount)
    let isV4 = datagram.source.family == .v4 && datagram.destination.family == .v4
    let length = UInt16(8 + payload.count)
    let start = bytes.count
    if isV4 {
      bytes.append(contentsOf: [0x45, 0])
      bytes.append(bigEndian: length + 20)
      // No identification, not to be fragmented, 64 hops, UDP, and room for the checksum.
      bytes.append(contentsOf: [0, 0, 0x40, 0, 64, 17, 0, 0])
    } else {
      bytes.append(contentsOf: [0x60, 0, 0, 0])
      bytes.append(bigEndian: length)
      bytes.append(contentsOf: [17, 64])
    }
    let addresses = bytes.count
    append(datagram.source, asV4: isV4, to: &bytes)
    append(datagram.destination, asV4: isV4, to: &bytes)
    let udp = bytes.count
    bytes.append(bigEndian: datagram.source.port)
    bytes.append(bigEndian: datagram.destination.port)
    bytes.append(bigEndian: length)
    bytes.append(contentsOf: [0, 0])
    bytes.append(contentsOf: payload)

    if isV4 { set(checksum(bytes[start..<udp], seed: 0), at: start + 10, in: &bytes) }
    let sum = checksum(bytes[addresses...], seed: 17 + UInt32(length))
    // 0 means that there is none (RFC 768).
    set(sum == 0 ? 0xFFFF : sum, at: udp + 6, in: &bytes)
  }

  /// The one's complement sum of RFC 1071, inverted.
  static func checksum(_ bytes: ArraySlice<UInt8>, seed: UInt32) -> UInt16 {
    var sum = UInt64(seed)
    var index = bytes.startIndex
    while index + 1 < bytes.endIndex {
      sum += UInt64(bytes[index]) << 8 | UInt64(bytes[index + 1])
      index += 2
    }
    if index < bytes.endIndex { sum += UInt64(bytes[index]) << 8 }
    while sum > 0xFFFF { sum = (sum & 0xFFFF) + (sum >> 16) }
    return ~UInt16(sum)
  }

  /// Reads a UDP datagram; `nil` for anything else, and for fragments.
  static func read(_ packet: Span<UInt8>) -> (
    source: SocketAddress, destination: SocketAddress, payload: [UInt8]
  )? {
    var reader = ByteReader(packet)
    do throws(WireError) {
      let first = try reader.readUInt8("version")
      switch first >> 4 {
      case 4: return try readV4(&reader, headerByteCount: Int(first & 15) * 4)
      case 6: return try readV6(&reader)
      default: return nil
      }
    } catch {
      return nil
    }
  }

  private static func readV4(
    _ reader: inout ByteReader, headerByteCount: Int
  ) throws(WireError) -> (SocketAddress, SocketAddress, [UInt8])? {
    _ = try reader.readUInt8("service")
    let total = Int(try reader.readUInt16("total length").byteSwapped)
    _ = try reader.readUInt16("identification")
    let fragment = try reader.readUInt16("fragment").byteSwapped
    _ = try reader.readUInt8("time to live")
    let next = try reader.readUInt8("protocol")
    _ = try reader.readUInt16("checksum")
    let source = UInt64(try reader.readUInt32("source").byteSwapped)
    let destination = UInt64(try reader.readUInt32("destination").byteSwapped)
    guard next == 17, fragment & 0x3FFF == 0, headerByteCount >= 20 else { return nil }
    _ = try reader.readRange(headerByteCount - 20, "options")
    return try readUDP(
      &reader, room: total - headerByteCount,
      SocketAddress(family: .v4, high: source << 32, low: 0, port: 0),
      SocketAddress(family: .v4, high: destination << 32, low: 0, port: 0))
  }

  private static func readV6(
    _ reader: inout ByteReader
  ) throws(WireError) -> (SocketAddress, SocketAddress, [UInt8])? {
    _ = try reader.readRange(3, "flow")
    let room = Int(try reader.readUInt16("payload length").byteSwapped)
    let next = try reader.readUInt8("next header")
    _ = try reader.readUInt8("hop limit")
    let source = SocketAddress(
      family: .v6, high: try reader.readUInt64("source").byteSwapped,
      low: try reader.readUInt64("source").byteSwapped, port: 0)
    let destination = SocketAddress(
      family: .v6, high: try reader.readUInt64("destination").byteSwapped,
      low: try reader.readUInt64("destination").byteSwapped, port: 0)
    guard next == 17 else { return nil }
    return try readUDP(&reader, room: room, source, destination)
  }

  private static func readUDP(
    _ reader: inout ByteReader, room: Int, _ source: SocketAddress, _ destination: SocketAddress
  ) throws(WireError) -> (SocketAddress, SocketAddress, [UInt8])? {
    var source = source
    var destination = destination
    source.port = try reader.readUInt16("source port").byteSwapped
    destination.port = try reader.readUInt16("destination port").byteSwapped
    let length = Int(try reader.readUInt16("length").byteSwapped)
    _ = try reader.readUInt16("checksum")
    guard length >= 8, length <= room else { return nil }
    return (source, destination, try reader.readBytes(length - 8, "payload"))
  }

  private static func append(_ address: SocketAddress, asV4: Bool, to bytes: inout [UInt8]) {
    if asV4 || address.family == .v6 {
      for index in 0..<(asV4 ? 4 : 16) { bytes.append(address.byte(index)) }
    } else {
      bytes.append(contentsOf: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
      for index in 0..<4 { bytes.append(address.byte(index)) }
    }
  }

  private static func set(_ value: UInt16, at index: Int, in bytes: inout [UInt8]) {
    bytes[index] = UInt8(value >> 8)
    bytes[index + 1] = UInt8(value & 0xFF)
  }
}

extension [UInt8] {
  mutating func append(bigEndian value: UInt16) {
    append(littleEndian: value.byteSwapped)
  }

  mutating func append(bigEndian value: UInt32) {
    append(littleEndian: value.byteSwapped)
  }
}
