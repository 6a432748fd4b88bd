internal import Glibc

/// What an interface sends over.
package enum NetworkMedium: String, Sendable, Equatable {
  case cable
  case radio
  /// A tunnel, a bridge, or not known.
  case other
}

extension NetworkInterfaces {
  /// By what Linux keeps of it below `/sys/class/net`.
  package static func medium(of name: String) -> NetworkMedium {
    guard !name.contains("/"), !name.isEmpty else { return .other }
    let folder = "/sys/class/net/" + name
    for mark in ["/wireless", "/phy80211"] where ProcessSurroundings.isThere(folder + mark) {
      return .radio
    }
    return ProcessSurroundings.isThere(folder + "/device") ? .cable : .other
  }
}
