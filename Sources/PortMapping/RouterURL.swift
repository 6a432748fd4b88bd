package import Primitives

/// `http://192.0.2.1:5000/path`: hosts by number only, so that a router can only name itself.
package struct RouterURL: Hashable, Sendable {
  /// Address and TCP port.
  package var host: SocketAddress
  /// Begins with `/`; printable ASCII without spaces.
  package var path: String

  package init(host: SocketAddress, path: String) {
    self.host = host
    self.path = path
  }

  /// Reads an absolute URL of at most 256 bytes; `nil` for anything else.
  package init?(_ text: String) {
    let start = "http://"
    guard text.utf8.count <= 256, text.hasPrefix(start),
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    let rest = text.dropFirst(start.count)
    let end = rest.firstIndex(of: "/") ?? rest.endIndex
    let place = String(rest[..<end])
    guard let host = SocketAddress(place.contains(":") ? place : place + ":80"),
      host.family == .v4, !host.isUnsendable
    else { return nil }
    self.init(host: host, path: end == rest.endIndex ? "/" : String(rest[end...]))
  }

  /// What a description at this URL means by `text`; `nil` where it leads to another host.
  package func resolve(_ text: String) -> RouterURL? {
    if text.hasPrefix("http://") {
      return RouterURL(text).flatMap { $0.host.isSameHost(as: host) ? $0 : nil }
    }
    return RouterURL("http://\(host)\(text.hasPrefix("/") ? "" : "/")\(text)")
  }
}
