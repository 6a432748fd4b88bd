internal import Primitives

/// What stands before the bytes of a VP8 frame in an RTP packet (RFC 7741 §4.2): always with a
/// picture ID of 15 bits and the temporal layer.
package struct VP8Descriptor: Equatable, Sendable {
  /// The dynamic payload type browsers use for VP8.
  package static let payloadType: UInt8 = 96
  package static let byteCount = 5

  /// Counts frames, 15 bits.
  package var pictureID: UInt16
  /// 0...3.
  package var temporalLayer: UInt8
  /// No other frame refers to it.
  package var isNonReference: Bool
  /// It begins a frame.
  package var isStart: Bool

  package init(
    pictureID: UInt16, temporalLayer: UInt8, isNonReference: Bool, isStart: Bool
  ) {
    self.pictureID = pictureID & 0x7FFF
    self.temporalLayer = temporalLayer & 3
    self.isNonReference = isNonReference
    self.isStart = isStart
  }

  package var bytes: [UInt8] {
    // X, N, S; then I and T; then the picture ID with M; then TID and Y.
    let first = 0x80 | (isNonReference ? 0x20 : 0) | (isStart ? 0x10 : 0) as UInt8
    return [
      first, 0xA0, 0x80 | UInt8(truncatingIfNeeded: pictureID >> 8),
      UInt8(truncatingIfNeeded: pictureID), temporalLayer << 6,
    ]
  }

  /// Reads any descriptor; what it does not have counts as 0.
  ///
  /// - Returns: the descriptor, and where the frame's bytes begin; `nil` if it is cut.
  package static func parse(_ payload: Span<UInt8>) -> (VP8Descriptor, start: Int)? {
    var reader = ByteReader(payload)
    do throws(WireError) {
      let first = try reader.readUInt8("descriptor")
      var descriptor = VP8Descriptor(
        pictureID: 0, temporalLayer: 0, isNonReference: first & 0x20 != 0,
        isStart: first & 0x17 == 0x10)
      guard first & 0x80 != 0 else { return (descriptor, reader.offset) }
      let extensions = try reader.readUInt8("extensions")
      if extensions & 0x80 != 0 {
        let high = try reader.readUInt8("picture ID")
        descriptor.pictureID = UInt16(high & 0x7F)
        if high & 0x80 != 0 {
          descriptor.pictureID =
            descriptor.pictureID << 8 | UInt16(try reader.readUInt8("picture ID"))
        }
      }
      if extensions & 0x40 != 0 { _ = try reader.readUInt8("TL0PICIDX") }
      if extensions & 0x30 != 0 {
        descriptor.temporalLayer = try reader.readUInt8("TID, KEYIDX") >> 6
      }
      return (descriptor, reader.offset)
    } catch {
      return nil
    }
  }
}

extension RTPMapping {
  /// A fragment of a VIDEO frame of ours (docs/protocol/frames.md §10).
  ///
  /// - Parameters:
  ///   - mediaTicks: media time in 10 ms / 256, unwrapped as far as is known; 90 kHz × 256 / 900.
  ///   - isLast: it ends the frame.
  package static func video(
    mediaTicks: UInt64, sequenceNumber: UInt16, source: UInt32, isLast: Bool
  ) -> RTPMapping {
    RTPMapping(
      payloadType: VP8Descriptor.payloadType, isMarked: isLast, sequenceNumber: sequenceNumber,
      timestamp: UInt32(truncatingIfNeeded: mediaTicks &* 900 / 256), source: source)
  }
}
