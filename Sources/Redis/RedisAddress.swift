/// Where a Redis server is, and as whom to talk to it: `redis://[USER@]HOST[:PORT][/DB]`, or
/// `unix://[USER@]/PATH[?db=DB]`. A password never stands there: others would read it in `ps`.
package struct RedisAddress: Equatable, Sendable, CustomStringConvertible {
  package enum Place: Equatable, Sendable {
    case host(String, port: UInt16)
    case socket(String)
  }

  package var place: Place
  /// An ACL user; `nil` = the default one.
  package var user: String?
  package var database = 0

  /// `nil` for what is no such address.
  package init?(_ text: String) {
    if let rest = Self.rest(of: text, after: "redis://") {
      self.init(network: rest)
    } else if let rest = Self.rest(of: text, after: "unix://") {
      self.init(local: rest)
    } else {
      return nil
    }
  }

  private init?(network rest: Substring) {
    var rest = rest
    let user = Self.takeUser(&rest)
    let parts = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let (host, port) = Self.hostAndPort(parts[0]),
      let database = Self.database(parts.count > 1 ? parts[1] : "")
    else { return nil }
    place = .host(host, port: port)
    self.user = user
    self.database = database
    guard isUserWhole else { return nil }
  }

  private init?(local rest: Substring) {
    var rest = rest
    let user = Self.takeUser(&rest)
    let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let option = parts.count > 1 ? Self.rest(of: String(parts[1]), after: "db=") : ""
    guard parts[0].hasPrefix("/"), parts[0].utf8.count < Self.longestPath, let option,
      let database = Self.database(option)
    else { return nil }
    place = .socket(String(parts[0]))
    self.user = user
    self.database = database
    guard isUserWhole else { return nil }
  }

  package var description: String {
    switch place {
    case .host(let host, let port): "\(host):\(port)"
    case .socket(let path): path
    }
  }

  private static func rest(of text: String, after scheme: String) -> Substring? {
    text.hasPrefix(scheme) ? text.dropFirst(scheme.count) : nil
  }

  private static func takeUser(_ text: inout Substring) -> String? {
    guard let at = text.firstIndex(of: "@") else { return nil }
    defer { text = text[text.index(after: at)...] }
    return String(text[..<at])
  }

  /// A user with a colon would be one with a password.
  private var isUserWhole: Bool {
    user.map { !$0.isEmpty && !$0.contains(":") } ?? true
  }

  private static func hostAndPort(_ text: Substring) -> (String, UInt16)? {
    if text.hasPrefix("[") {
      let parts = text.dropFirst().split(
        separator: "]", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else { return nil }
      return port(parts[1]).map { (String(parts[0]), $0) }
    }
    let end = text.firstIndex(of: ":") ?? text.endIndex
    guard end > text.startIndex else { return nil }
    return port(text[end...]).map { (String(text[..<end]), $0) }
  }

  private static func port(_ text: Substring) -> UInt16? {
    text.isEmpty ? usualPort : text.first == ":" ? UInt16(text.dropFirst()) : nil
  }

  private static func database(_ text: Substring) -> Int? {
    text.isEmpty ? 0 : UInt16(text).map(Int.init)
  }

  private static let usualPort: UInt16 = 6379
  /// What fits `sockaddr_un`.
  private static let longestPath = 108
}
