internal import CVPX
import Primitives

/// Turns VP8 frames into pictures.
///
/// The caller gives frames in order and none whose references are missing (`VideoAssembler`). No
/// frame, however hostile, makes it trap or allocate more than a picture of the largest size needs.
@safe package struct VP8Decoder: ~Copyable {
  /// Nothing can be decoded before the first key frame, nor after a frame that failed.
  package private(set) var needsKeyFrame = true
  private let codec: UnsafeMutablePointer<vpx_codec_ctx_t>

  package init() throws(VPXError) {
    unsafe codec = .allocate(capacity: 1)
    unsafe codec.initialize(to: vpx_codec_ctx_t())
    var settings = vpx_codec_dec_cfg_t(threads: 1, w: 0, h: 0)
    let code = unsafe earshot_vp8_decoder_init(codec, &settings)
    guard code == 0 else { throw VPXError(.createDecoder, code: code) }
  }

  deinit {
    unsafe vpx_codec_destroy(codec)
    unsafe codec.deallocate()
  }

  /// Decodes one frame; the picture replaces `picture`, whose memory is used again.
  ///
  /// - Returns: whether there is a picture to show.
  package mutating func decode(
    _ frame: Span<UInt8>, into picture: inout I420Picture
  ) throws(VPXError) -> Bool {
    let header: VP8Header
    do throws(WireError) {
      header = try VP8Header(parsing: frame)
    } catch {
      needsKeyFrame = true
      throw VPXError(.decode, code: Int32(VPX_CODEC_CORRUPT_FRAME.rawValue))
    }
    guard header.isKeyFrame || !needsKeyFrame else {
      throw VPXError(.decode, code: Int32(VPX_CODEC_ERROR.rawValue))
    }
    let codec = unsafe codec
    let code = unsafe frame.withUnsafeBufferPointer { bytes in
      unsafe vpx_codec_decode(codec, bytes.baseAddress, UInt32(bytes.count), nil, 0)
    }
    var isCorrupt: Int32 = 0
    _ = unsafe earshot_vpx_get(codec, Int32(VP8D_GET_FRAME_CORRUPTED.rawValue), &isCorrupt)
    guard code == VPX_CODEC_OK, isCorrupt == 0 else {
      needsKeyFrame = true
      throw VPXError(.decode, code: Int32(max(code.rawValue, VPX_CODEC_CORRUPT_FRAME.rawValue)))
    }
    needsKeyFrame = false
    var iterator: vpx_codec_iter_t?
    guard let image = unsafe vpx_codec_get_frame(codec, &iterator) else { return false }
    return unsafe Self.copy(image.pointee, into: &picture)
  }

  private static func copy(_ image: vpx_image_t, into picture: inout I420Picture) -> Bool {
    guard let size = unsafe PictureSize(width: Int(image.d_w), height: Int(image.d_h)) else {
      return false
    }
    if picture.size != size { picture = I420Picture(size) }
    // No array of the three: it would be the one allocation of a picture.
    return unsafe copy(image.planes.0, image.stride.0, .luma, &picture)
      && copy(image.planes.1, image.stride.1, .blue, &picture)
      && copy(image.planes.2, image.stride.2, .red, &picture)
  }

  private static func copy(
    _ source: UnsafeMutablePointer<UInt8>?, _ stride: Int32, _ plane: I420Picture.Plane,
    _ picture: inout I420Picture
  ) -> Bool {
    guard let source = unsafe source else { return false }
    let width = picture.width(of: plane)
    let start = picture.range(of: plane).lowerBound
    let height = picture.height(of: plane)
    return unsafe picture.bytes.withUnsafeMutableBufferPointer { bytes in
      guard let target = bytes.baseAddress else { return false }
      for row in 0..<height {
        unsafe (target + start + row * width).update(from: source + row * Int(stride), count: width)
      }
      return true
    }
  }
}
