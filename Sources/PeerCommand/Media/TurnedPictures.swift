internal import Earshot
internal import Video

/// Encodes pictures anew, each turned to stand upright, for a file without a place for a rotation.
struct TurnedPictures: ~Copyable {
  private var encoder: VP8Encoder?
  /// Of the last picture.
  private(set) var bytes: [UInt8] = []

  /// - Returns: its size; `nil` where libvpx made nothing of it.
  mutating func encode(
    _ picture: borrowing VideoPicture, milliseconds: Int64
  ) -> PictureSize? {
    let upright = picture.upright().i420
    let wanted = VP8Encoder.Settings(size: upright.size, bitsPerSecond: Self.bitsPerSecond)
    do throws(VPXError) {
      if encoder == nil { encoder = try VP8Encoder(wanted) }
      try encoder?.reconfigure(wanted)
      bytes.removeAll(keepingCapacity: true)
      let frame = try encoder?.encode(upright, milliseconds: milliseconds, into: &bytes) ?? nil
      return frame?.size
    } catch {
      // The next picture begins anew, with a key frame.
      encoder = nil
      return nil
    }
  }

  /// As much as the best call has (`CallOptions.maxVideoBitrate`).
  private static let bitsPerSecond = 8_000_000
}
