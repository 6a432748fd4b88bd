package import Primitives

/// CHANNEL_DATA: a host's message for all members of a channel that have a seat at the same relay
/// (docs/protocol/relay.md §3):
///
///     uid 4 · SFrame frame
package struct SealedChannelMessage: Hashable, Sendable {
  /// The sender's, from the relay; 0 to it.
  package var uid: UInt32
  /// Sealed by the sender's key; inside is one `DataMessage`.
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

/// What a CHANNEL_DATA has sealed: epoch 8 · number 4 · the message.
package struct DataMessage: Hashable, Sendable {
  /// When the sender's seat began, in ms since 1970 UTC: numbers begin anew with it.
  package var epoch: UInt64
  /// From 1 on.
  package var number: UInt32
  package var bytes: [UInt8]

  package static let byteCounts = 1...1024
  /// SFrame's metadata: no frame of sound, of a picture or about either is like it.
  package static let metadata: UInt8 = 5

  package init(epoch: UInt64, number: UInt32, bytes: [UInt8]) {
    self.epoch = epoch
    self.number = number
    self.bytes = bytes
  }

  /// - Throws: `WireError` for too many or no bytes, and number 0.
  package init(parsing span: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(span)
    epoch = try reader.readUInt64("epoch")
    number = try reader.readUInt32("number")
    let count = reader.remaining
    guard number > 0, Self.byteCounts.contains(count) else { throw .invalid("message", at: 8) }
    bytes = try reader.readBytes(count, "message")
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
    return encoded + bytes
  }
}
