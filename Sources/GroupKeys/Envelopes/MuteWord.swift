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

/// A host's word about its other media (docs/protocol/sframe.md §4, message 5): sealed as that
/// about its sound is.
package struct MediaWord: Equatable, Sendable {
  /// Since 1970 UTC, at the change: of two words the newer one holds.
  package var milliseconds: UInt64
  /// Music plays in its sound.
  package var hasMusic = false
  package var off = SwitchedOff()
  /// Quarters of a turn, clockwise, that make its pictures stand upright: 0...3.
  package var quarters: UInt8 = 0
  /// Of the first picture that is turned like that: 24 bits, in 10 ms / 256.
  package var mediaTime: UInt32 = 0

  /// The first byte of the message, and SFrame's metadata.
  package static let messageType: UInt8 = 5

  /// Nothing is out of the ordinary.
  package init(milliseconds: UInt64) { self.milliseconds = milliseconds }

  /// - Throws: `WireError` for another length, and for values that there are not. Flags that are
  ///   not known are skipped.
  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    milliseconds = try reader.readUInt64("time")
    let flags = try reader.readUInt8("flags")
    hasMusic = flags & 1 != 0
    off = SwitchedOff(flags: flags)
    quarters = try reader.readUInt8("quarters")
    guard quarters <= 3 else { throw .invalid("quarters", at: 9) }
    mediaTime = try reader.readUInt32("media time")
    guard mediaTime < 1 << 24 else { throw .invalid("media time", at: 10) }
    try reader.expectEnd("media word")
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
    bytes.append((hasMusic ? 1 : 0) | off.flags)
    bytes.append(quarters)
    bytes.append(littleEndian: mediaTime)
    return bytes
  }

  /// Whether both say the same of the media; times apart.
  package func says(what other: MediaWord) -> Bool {
    hasMusic == other.hasMusic && off == other.off && quarters == other.quarters
  }
}

/// What a host has switched off of its media: the whole of one kind, neither sent nor played, or
/// its own source alone.
package struct SwitchedOff: OptionSet, Hashable, Sendable {
  package static let audio = SwitchedOff(rawValue: 1)
  package static let video = SwitchedOff(rawValue: 2)
  package static let audioSource = SwitchedOff(rawValue: 4)
  package static let videoSource = SwitchedOff(rawValue: 8)
  package static let parts = [audio, video, audioSource, videoSource]

  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Bits 1 to 4 of the flags of `MediaWord`.
  init(flags: UInt8) { rawValue = flags >> 1 & 15 }

  var flags: UInt8 { rawValue << 1 }
}
