package import Primitives

/// The first bytes of an encoded VP8 frame (RFC 6386 §9.1).
///
/// Read before libvpx sees a frame from the network: it allocates what a key frame asks for, up to
/// 16383×16383 pixels.
package struct VP8Header: Equatable, Sendable, BitwiseCopyable {
  package var isKeyFrame: Bool
  /// A frame that is not shown only changes references.
  package var isShown: Bool
  /// Of a key frame alone.
  package var size: PictureSize?

  package init(parsing frame: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(frame)
    let first = try reader.readUInt8("frame tag")
    let second = try reader.readUInt8("frame tag")
    let third = try reader.readUInt8("frame tag")
    isKeyFrame = first & 1 == 0
    isShown = first & 0x10 != 0
    guard first >> 1 & 7 <= 3 else { throw .invalid("version", at: 0) }
    let tag = Int(first) | Int(second) << 8 | Int(third) << 16
    guard tag >> 5 <= reader.remaining else { throw .invalid("first partition", at: 0) }
    guard isKeyFrame else {
      size = nil
      return
    }
    let code = UInt32(try reader.readUInt8("start code")) << 16
    guard code | UInt32(try reader.readUInt16("start code")) == 0x9D_2A01 else {
      throw .invalid("start code", at: 3)
    }
    // The two highest bits ask the player to stretch the picture; nobody does.
    let width = Int(try reader.readUInt16("width") & 0x3FFF)
    let height = Int(try reader.readUInt16("height") & 0x3FFF)
    guard let size = PictureSize(width: width, height: height) else {
      throw WireError(.tooLong, "picture", at: 6)
    }
    self.size = size
  }
}
