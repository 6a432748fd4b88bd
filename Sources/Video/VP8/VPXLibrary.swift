internal import CVPX

/// libvpx, as this host has it.
package enum VPXLibrary {
  /// As the library calls it: "libvpx v1.12.0".
  package static var version: String {
    "libvpx \(unsafe String(cString: vpx_codec_version_str()))"
  }
}
