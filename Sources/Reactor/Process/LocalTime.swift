internal import Glibc

/// The time of day as this host's people have it.
package enum LocalTime {
  /// `19:40:05`.
  package static var clock: String {
    var seconds = time(nil)
    var parts = unsafe tm()
    guard unsafe localtime_r(&seconds, &parts) != nil else { return "--:--:--" }
    let numbers = unsafe [parts.tm_hour, parts.tm_min, parts.tm_sec]
    return numbers.map { part in
      part < 10 ? "0\(part)" : "\(part)"
    }.joined(separator: ":")
  }
}
