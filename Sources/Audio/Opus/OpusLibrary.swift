internal import COpus

/// libopus, as this host has it.
package enum OpusLibrary {
  /// As the library calls it: "libopus 1.3.1".
  package static var version: String { unsafe String(cString: opus_get_version_string()) }
}
