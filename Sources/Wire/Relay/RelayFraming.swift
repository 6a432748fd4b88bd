package import Primitives

/// What stands around a packet on its way between a TURN client and its server: channel data
/// (RFC 8656 §12.4), or a Send indication (§11.1). Writes in place; nothing is allocated.
package enum RelayFraming {
  /// Whether a message to a server carries a packet of a peer: channel data, or a Send indication.
  package static func isMedia(_ bytes: Span<UInt8>) -> Bool {
    guard bytes.count >= 4 else { return false }
    let type = UInt16(bytes[0]) << 8 | UInt16(bytes[1])
    return STUNLimits.channels.contains(type) || type == STUNWriter.type(.indication, .send)
  }

  /// Reads the header of channel data; the place of what it carries. `nil` = it is something else.
  package static func channelData(
    in bytes: Span<UInt8>
  ) -> (channel: UInt16, payload: Range<Int>)? {
    var reader = ByteReader(bytes)
    do throws(WireError) {
      let channel = try reader.readUInt16("channel").byteSwapped
      let count = Int(try reader.readUInt16("channel data length").byteSwapped)
      guard STUNLimits.channels.contains(channel) else { return nil }
      // Over UDP a sender may pad (RFC 8656 §12.5).
      return (channel, try reader.readRange(count, "channel data"))
    } catch {
      return nil
    }
  }

  /// Puts the header of channel data before the packet; `false` = there is no room.
  ///
  /// - Parameter isPadded: Whether zeros follow up to a multiple of four, as in streams (RFC 8656
  ///   §12.5).
  @_lifetime(packet: copy packet)
  package static func wrap(
    _ packet: inout OutputSpan<UInt8>, channel: UInt16, isPadded: Bool = false
  ) -> Bool {
    let count = packet.count
    let padding = isPadded ? (4 - count & 3) & 3 : 0
    guard packet.freeCapacity >= STUNLimits.channelHeaderByteCount + padding,
      packet.openGap(STUNLimits.channelHeaderByteCount)
    else { return false }
    packet.append(zeros: padding)
    var bytes = packet.mutableSpan
    write(UInt32(channel) << 16 | UInt32(UInt16(clamping: count)), at: 0, &bytes)
    return true
  }

  /// Puts the header of a Send indication before the packet; `false` = there is no room.
  @_lifetime(packet: copy packet)
  package static func wrap(
    _ packet: inout OutputSpan<UInt8>, to peer: SocketAddress, _ id: STUNTransactionID
  ) -> Bool {
    let count = packet.count
    let addressByteCount = peer.family == .v4 ? 8 : 20
    let gap = STUNLimits.headerByteCount + 4 + addressByteCount + 4
    let padding = (4 - count & 3) & 3
    guard packet.freeCapacity >= gap + padding, packet.openGap(gap) else { return false }
    packet.append(zeros: padding)
    let length = packet.count - STUNLimits.headerByteCount
    var bytes = packet.mutableSpan
    let type = STUNWriter.type(.indication, .send)
    write(UInt32(type) << 16 | UInt32(UInt16(clamping: length)), at: 0, &bytes)
    write(STUNLimits.magicCookie, at: 4, &bytes)
    write(id.high, at: 8, &bytes)
    write(id.low, at: 12, &bytes)
    write(
      UInt32(STUNAttribute.xorPeerAddress.rawValue) << 16 | UInt32(addressByteCount), at: 20,
      &bytes)
    let address = XoredAddress(peer, id)
    write(address.head, at: 24, &bytes)
    if peer.family == .v4 {
      write(address.word, at: 28, &bytes)
    } else {
      write(address.high, at: 28, &bytes)
      write(address.low, at: 36, &bytes)
    }
    let data = UInt32(STUNAttribute.data.rawValue) << 16 | UInt32(UInt16(clamping: count))
    write(data, at: gap - 4, &bytes)
    return true
  }

  @_lifetime(bytes: copy bytes)
  private static func write(_ value: UInt32, at start: Int, _ bytes: inout MutableSpan<UInt8>) {
    for index in 0..<4 {
      bytes[start + index] = UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * index))
    }
  }

  @_lifetime(bytes: copy bytes)
  private static func write(_ value: UInt64, at start: Int, _ bytes: inout MutableSpan<UInt8>) {
    write(UInt32(truncatingIfNeeded: value >> 32), at: start, &bytes)
    write(UInt32(truncatingIfNeeded: value), at: start + 4, &bytes)
  }
}
