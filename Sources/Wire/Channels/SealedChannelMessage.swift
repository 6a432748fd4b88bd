package import Primitives

/// CHANNEL_DATA: a host's message for all members of a channel that have a seat at the same relay
/// (docs/protocol/relay.md §3):
///
///     uid 4 · SFrame frame
package struct SealedChannelMessage: Hashable, Sendable {
  /// The sender's, from the relay; 0 to it.
  package var uid: UInt32
  /// Sealed by the sender's key; inside is one `DataPart`.
  package var frame: [UInt8]

  package static let frameByteCounts = 10...1100

  package init(uid: UInt32, frame: [UInt8]) {
    self.uid = uid
    self.frame = frame
  }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    uid = try reader.readUInt32("uid")
    let (at, count) = (reader.offset, reader.remaining)
    guard Self.frameByteCounts.contains(count) else { throw .invalid("frame", at: at) }
    frame = try reader.readBytes(count, "frame")
  }

  func writeFields(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: uid)
    bytes += frame
  }
}

/// What a CHANNEL_DATA has sealed, a part of a message:
///
///     epoch 8 · number 4 · stream and order 1 · place 1 · last 1 · bytes
package struct DataPart: Hashable, Sendable {
  /// When the sender's seat began, in ms since 1970 UTC: numbers begin anew with it.
  package var epoch: UInt64
  /// Of the message: from 1 on, those in order and the others apart, and each stream by itself.
  package var number: UInt32
  /// One of `streams`.
  package var stream: UInt8
  /// Whether the message waits for those before it.
  package var isOrdered: Bool
  /// Which part this is, from 0 on, and which one is the last.
  package var place: UInt8
  package var last: UInt8
  package var bytes: [UInt8]

  /// Each part but the last has the most.
  package static let byteCounts = 1...1024
  /// The last part of the longest message, of 65 536 bytes.
  package static let longest: UInt8 = 63
  package static let messageByteCounts = 1...(Int(longest) + 1) * byteCounts.upperBound
  /// As those of calls. Members of before the streams know the first one alone.
  package static let streams: ClosedRange<UInt8> = 8...127
  /// So many of them one sender may use in one epoch.
  package static let mostStreams = 15
  /// SFrame's metadata: no frame of sound, of a picture or about either is like it.
  package static let metadata: UInt8 = 5

  package init(
    epoch: UInt64, number: UInt32, stream: UInt8 = 8, isOrdered: Bool = true, place: UInt8 = 0,
    last: UInt8 = 0, bytes: [UInt8]
  ) {
    self.epoch = epoch
    self.number = number
    self.stream = stream
    self.isOrdered = isOrdered
    self.place = place
    self.last = last
    self.bytes = bytes
  }

  /// - Throws: `WireError` for number 0, a stream or a part that cannot be, and too many or too few
  ///   bytes.
  package init(parsing span: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(span)
    epoch = try reader.readUInt64("epoch")
    number = try reader.readUInt32("number")
    let streamAndOrder = try reader.readUInt8("stream and order")
    isOrdered = streamAndOrder & 1 == 0
    stream = streamAndOrder >> 1 &+ Self.streams.lowerBound
    place = try reader.readUInt8("place")
    last = try reader.readUInt8("last")
    let count = reader.remaining
    guard number > 0, Self.streams.contains(stream), place <= last, last <= Self.longest else {
      throw .invalid("part", at: 8)
    }
    let least = place < last ? Self.byteCounts.upperBound : Self.byteCounts.lowerBound
    guard (least...Self.byteCounts.upperBound).contains(count) else {
      throw .invalid("part", at: reader.offset)
    }
    bytes = try reader.readBytes(count, "part")
  }

  /// `nil` for what is none.
  package init?(_ bytes: [UInt8]) {
    do throws(WireError) {
      try self.init(parsing: bytes.span)
    } catch {
      return nil
    }
  }

  package var encoded: [UInt8] {
    var encoded: [UInt8] = []
    encoded.append(littleEndian: epoch)
    encoded.append(littleEndian: number)
    let streamAndOrder = (stream &- Self.streams.lowerBound) &<< 1 | (isOrdered ? 0 : 1)
    return encoded + [streamAndOrder, place, last] + bytes
  }
}
