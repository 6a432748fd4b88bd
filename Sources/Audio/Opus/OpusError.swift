internal import COpus

/// What libopus said no to.
package struct OpusError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Call: String, Sendable {
    case createEncoder, createDecoder, configure, encode, decode
  }

  package let call: Call
  /// libopus's error code, negative (opus_defines.h).
  package let code: Int32

  package init(_ call: Call, code: Int32) {
    self.call = call
    self.code = code
  }

  package var description: String {
    "libopus could not \(call.rawValue): \(unsafe String(cString: opus_strerror(code)))"
  }

  package static func badArgument(_ call: Call) -> OpusError {
    OpusError(call, code: Int32(OPUS_BAD_ARG))
  }
}
