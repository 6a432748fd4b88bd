package import Primitives

/// VIDEO_NACK: fragments to send again, or a key frame to make (docs/protocol/frames.md §11).
package struct VideoNackFrame: Equatable, Sendable, BitwiseCopyable {
  /// Without entries.
  package static let headerByteCount = 5
  package static let maximumEntryCount = 32

  /// Fragments `first...last` of one frame; the last may be beyond the frame's own last.
  package struct Entry: Equatable, Sendable, BitwiseCopyable {
    package static let byteCount = 4

    package var number: UInt16
    package var first: UInt8
    /// 255: to the end, where the receiver does not know it.
    package var last: UInt8

    package init(number: UInt16, first: UInt8, last: UInt8) {
      self.number = number
      self.first = first
      self.last = last
    }
  }

  /// 0..3.
  package var stream: UInt8
  package var wantsKeyFrame: Bool
  /// The highest frame number of which a fragment has come; `nil` before the first. A key frame
  /// that is newer than this need not be made again: it is under way.
  package var newest: UInt16?
  /// Where the entries lie in the packet.
  package var entries: PacketRange

  package init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    let flags = try reader.readUInt8("video request flags")
    let number = try reader.readUInt16("newest frame number")
    let count = Int(try reader.readUInt8("entry count"))
    stream = flags & 3
    wantsKeyFrame = flags & Bits.keyFrame != 0
    newest = flags & Bits.hasNewest != 0 ? number : nil
    guard flags & Bits.reserved == 0, count <= Self.maximumEntryCount, newest != nil || number == 0
    else { throw .invalid("video request", at: start) }
    entries = PacketRange(try reader.readRange(count * Entry.byteCount, "entries"))
  }

  package var entryCount: Int { entries.count / Entry.byteCount }

  /// Entry `index`; `nil` where there is none, and for one that ends before it begins. `packet` is
  /// the one that this was read from.
  package func entry(_ index: Int, in packet: Span<UInt8>) -> Entry? {
    guard (0..<entryCount).contains(index) else { return nil }
    let bytes = packet.bytes(at: entries)
    let place = index * Entry.byteCount
    guard place + Entry.byteCount <= bytes.count, bytes[place + 2] <= bytes[place + 3] else {
      return nil
    }
    return Entry(
      number: UInt16(bytes[place]) | UInt16(bytes[place + 1]) << 8, first: bytes[place + 2],
      last: bytes[place + 3])
  }

  /// Writes the frame with at most 32 entries.
  @_lifetime(packet: copy packet)
  package static func write(
    stream: UInt8 = 0, wantsKeyFrame: Bool, newest: UInt16?, entries: Span<Entry>,
    to packet: inout OutputSpan<UInt8>
  ) {
    let count = min(entries.count, maximumEntryCount)
    packet.append(FrameType.videoNack)
    packet.append(
      stream & 3 | (wantsKeyFrame ? Bits.keyFrame : 0) | (newest == nil ? 0 : Bits.hasNewest))
    packet.append(littleEndian: newest ?? 0)
    packet.append(UInt8(count))
    for index in 0..<count {
      packet.append(littleEndian: entries[index].number)
      packet.append(entries[index].first)
      packet.append(entries[index].last)
    }
  }

  private enum Bits {
    static let keyFrame: UInt8 = 0b0100
    static let hasNewest: UInt8 = 0b1000
    static let reserved: UInt8 = 0b1111_0000
  }
}
