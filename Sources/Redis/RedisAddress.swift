/// Where a Redis server is, and as whom to talk to it: `redis://[USER@]HOST[:PORT][/DB]`,
/// `unix://[USER@]/PATH[?db=DB]`, or `sentinel://[USER@]HOST[:PORT][,HOST[:PORT]...]/NAME[/DB]` of
/// the service NAME. A password never stands there: others would read it in `ps`.
package struct RedisAddress: Equatable, Sendable, CustomStringConvertible {
  package enum Place: Equatable, Sendable {
    case host(String, port: UInt16)
    case socket(String)
    /// The primary of a service, which any of its Sentinels knows.
    case service(String, sentinels: [Sentinel])
  }

  /// One that is asked for the primary.
  package struct Sentinel: Equatable, Sendable {
    package var host: String
    package var port: UInt16

    package init(host: String, port: UInt16) {
      self.host = host
      self.port = port
    }
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
    } else if let rest = Self.rest(of: text, after: "sentinel://") {
      self.init(service: rest)
    } else {
      return nil
    }
  }

  package init(host: String, port: UInt16) { place = .host(host, port: port) }

  private init?(service rest: Substring) {
    var rest = rest
    let user = Self.takeUser(&rest)
    let parts = rest.split(separator: "/", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), Self.isServiceName(parts[1]),
      let database = Self.database(parts.count > 2 ? parts[2] : "")
    else { return nil }
    let sentinels = parts[0].split(separator: ",", omittingEmptySubsequences: false).map {
      Self.hostAndPort($0, usual: Self.sentinelPort)
    }
    guard !sentinels.contains(where: { $0 == nil }), sentinels.count <= Self.mostSentinels else {
      return nil
    }
    place = .service(
      String(parts[1]), sentinels: sentinels.compactMap(\.self).map(Sentinel.init))
    self.user = user
    self.database = database
    guard isUserWhole else { return nil }
  }

  private init?(network rest: Substring) {
    var rest = rest
    let user = Self.takeUser(&rest)
    let parts = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let (host, port) = Self.hostAndPort(parts[0], usual: Self.usualPort),
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
    case .service(let name, _): "the primary of \(name)"
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

  /// What redis.conf allows, and no more than 64 letters.
  private static func isServiceName(_ text: Substring) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) || "._-".utf8.contains($0)
      }
  }

  private static func hostAndPort(
    _ text: Substring, usual usualPort: UInt16
  ) -> (host: String, port: UInt16)? {
    if text.hasPrefix("[") {
      let parts = text.dropFirst().split(
        separator: "]", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else { return nil }
      return port(parts[1], usual: usualPort).map { (String(parts[0]), $0) }
    }
    let end = text.firstIndex(of: ":") ?? text.endIndex
    guard end > text.startIndex else { return nil }
    return port(text[end...], usual: usualPort).map { (String(text[..<end]), $0) }
  }

  private static func port(_ text: Substring, usual usualPort: UInt16) -> UInt16? {
    text.isEmpty ? usualPort : text.first == ":" ? UInt16(text.dropFirst()) : nil
  }

  private static func database(_ text: Substring) -> Int? {
    text.isEmpty ? 0 : UInt16(text).map(Int.init)
  }

  private static let usualPort: UInt16 = 6379
  private static let sentinelPort: UInt16 = 26379
  /// Asked one after the other where none answers.
  private static let mostSentinels = 8
  /// What fits `sockaddr_un`.
  private static let longestPath = 108
}
