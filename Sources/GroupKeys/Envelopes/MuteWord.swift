package import Primitives

/// A host's word about its own sound (docs/protocol/sframe.md §4, message 4): sealed as a frame of
/// its own key, for one member.
package struct MuteWord: Equatable, Sendable {
  /// Since 1970 UTC, at the change: of two words the newer one holds.
  package var milliseconds: UInt64
  package var isMuted: Bool

  package static let byteCount = 9
  /// The first byte of the message, and SFrame's metadata: no frame of sound or of a picture has
  /// one byte. The sealed frame is the rest of the message.
  package static let messageType: UInt8 = 4

  package init(milliseconds: UInt64, isMuted: Bool) {
    self.milliseconds = milliseconds
    self.isMuted = isMuted
  }

  /// - Throws: `WireError` for another length, and for bits that are not used.
  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    milliseconds = try reader.readUInt64("time")
    let flags = try reader.readUInt8("flags")
    guard flags <= 1 else { throw .invalid("flags", at: 8) }
    isMuted = flags == 1
    try reader.expectEnd("mute word")
  }

  /// `nil` for what is none.
  package init?(_ bytes: [UInt8]) {
    do throws(WireError) {
      try self.init(parsing: bytes.span)
    } catch {
      return nil
    }
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: milliseconds)
    return bytes + [isMuted ? 1 : 0]
  }
}

/// A host's word about how its pictures are turned (docs/protocol/sframe.md §4, message 5): sealed
/// as that about its sound is.
package struct TurnWord: Equatable, Sendable {
  /// Since 1970 UTC, at the change: of two words the newer one holds.
  package var milliseconds: UInt64
  /// Quarters of a turn, clockwise, that make them stand upright: 0...3.
  package var quarters: UInt8
  /// Of the first picture that it is about: 24 bits, in 10 ms / 256.
  package var mediaTime: UInt32

  /// The first byte of the message, and SFrame's metadata.
  package static let messageType: UInt8 = 5

  package init(milliseconds: UInt64, quarters: UInt8, mediaTime: UInt32) {
    self.milliseconds = milliseconds
    self.quarters = quarters
    self.mediaTime = mediaTime
  }

  /// - Throws: `WireError` for another length, and for bits that are not used.
  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    milliseconds = try reader.readUInt64("time")
    quarters = try reader.readUInt8("quarters")
    guard quarters <= 3 else { throw .invalid("quarters", at: 8) }
    mediaTime = try reader.readUInt32("media time")
    guard mediaTime < 1 << 24 else { throw .invalid("media time", at: 9) }
    try reader.expectEnd("turn word")
  }

  /// `nil` for what is none.
  package init?(_ bytes: [UInt8]) {
    do throws(WireError) {
      try self.init(parsing: bytes.span)
    } catch {
      return nil
    }
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: milliseconds)
    bytes.append(quarters)
    bytes.append(littleEndian: mediaTime)
    return bytes
  }
}
