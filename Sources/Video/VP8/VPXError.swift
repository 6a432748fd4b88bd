internal import CVPX

/// What libvpx said no to.
package struct VPXError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Call: String, Sendable {
    case createEncoder, createDecoder, configure, encode, decode
  }

  package let call: Call
  /// libvpx's error code (vpx_codec.h).
  package let code: Int32

  init(_ call: Call, code: Int32) {
    self.call = call
    self.code = code
  }

  package var description: String {
    let reason = unsafe String(cString: vpx_codec_err_to_string(vpx_codec_err_t(UInt32(code))))
    return "libvpx could not \(call.rawValue): \(reason)"
  }

  static func badArgument(_ call: Call) -> VPXError {
    VPXError(call, code: Int32(VPX_CODEC_INVALID_PARAM.rawValue))
  }
}
