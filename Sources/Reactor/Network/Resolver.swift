internal import CLinux
internal import Glibc
package import Primitives

/// Turns `host:port` into addresses. Asking the system blocks, so it happens on a thread of its
/// own, never on the loop and never in the pool of Swift's tasks.
package enum Resolver {
  /// More than this a name is not tried at.
  package static let addressLimit = 8

  /// The addresses of `text`: `192.0.2.1:7400`, `[2001:db8::1]:7400`, `example.org:7400`, or
  /// without a port if there is a `defaultPort`; in the system's order of preference (RFC 6724).
  package static func resolve(
    _ text: String, defaultPort: UInt16? = nil
  ) async throws(ReactorError) -> [SocketAddress] {
    let endpoint = try HostAndPort(text, defaultPort: defaultPort)
    if let address = endpoint.numeric { return [address] }
    return try await race(patience: patience) { family throws(ReactorError) in
      try ask(endpoint, family)
    }
  }

  /// Asks for both families at once; if that takes longer than `patience`, also for each by itself,
  /// and takes what comes first (RFC 8305 §3): a name server that is silent about one family must
  /// not keep the other one away.
  static func race(
    patience: Duration,
    _ ask: @escaping @Sendable (Int32) throws(ReactorError) -> [SocketAddress]
  ) async throws(ReactorError) -> [SocketAddress] {
    let first = FirstAnswer()
    await withCheckedContinuation { continuation in
      first.await(continuation)
      do throws(ReactorError) {
        // None of them is joined: each ends with its answer.
        _ = try startThread(named: "earshot-resolve") {
          first.give(Answer { () throws(ReactorError) in try ask(AF_UNSPEC) })
        }
        for family in [AF_INET, AF_INET6] {
          _ = try startThread(named: "earshot-resolve") {
            usleep(UInt32(clamping: patience.nanoseconds / 1000))
            // That there is none of this family is no answer.
            let answer = first.isTaken ? nil : try? ask(family)
            if let answer { first.give(.success(answer)) }
          }
        }
      } catch {
        first.give(.failure(error))
      }
    }
    return try first.answer.get()
  }

  typealias Answer = Result<[SocketAddress], ReactorError>

  /// The answer that came first.
  private final class FirstAnswer: Sendable {
    private let state = Guarded(
      (waiting: CheckedContinuation<Void, Never>?.none, answer: Answer.success([])))

    func await(_ continuation: CheckedContinuation<Void, Never>) {
      state.withLock { $0.waiting = continuation }
    }

    var isTaken: Bool { state.withLock { $0.waiting == nil } }
    /// Of the one that came first.
    var answer: Answer { state.withLock { $0.answer } }

    func give(_ answer: Answer) {
      let waiting = state.withLock { state in
        if state.waiting != nil { state.answer = answer }
        return state.waiting.take()
      }
      waiting?.resume()
    }
  }

  /// A name server that answers takes less.
  private static let patience = Duration.milliseconds(300)

  /// The same for a program that has nothing else to do meanwhile: blocks the calling thread.
  package static func resolveBlocking(
    _ text: String, defaultPort: UInt16? = nil
  ) throws(ReactorError) -> [SocketAddress] {
    let endpoint = try HostAndPort(text, defaultPort: defaultPort)
    if let address = endpoint.numeric { return [address] }
    return try ask(endpoint, AF_UNSPEC)
  }

  private static func ask(
    _ endpoint: HostAndPort, _ family: Int32
  ) throws(ReactorError) -> [SocketAddress] {
    var hints = unsafe addrinfo()
    unsafe hints.ai_family = family
    unsafe hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    let result = unsafe getaddrinfo(endpoint.host, nil, &hints, &first)
    guard result == 0 else {
      let reason = unsafe gai_strerror(result).map { unsafe String(cString: $0) }
      throw ReactorError("resolve", "host '\(endpoint.host)'", reason: reason ?? "error \(result)")
    }
    defer { unsafe freeaddrinfo(first) }
    var addresses: [SocketAddress] = []
    var next = unsafe first
    while let entry = unsafe next, addresses.count < addressLimit {
      unsafe next = entry.pointee.ai_next
      guard let pointer = unsafe entry.pointee.ai_addr else { continue }
      var raw = earshot_address()
      unsafe earshot_read_address(pointer, &raw)
      raw.port = endpoint.port
      if let address = SocketAddress(raw), !addresses.contains(address) {
        addresses.append(address)
      }
    }
    guard !addresses.isEmpty else {
      throw ReactorError("resolve", "host '\(endpoint.host)'", reason: "it has no IP address")
    }
    return addresses
  }
}

/// A host, by name or number, and a port.
struct HostAndPort: Equatable {
  var host: String
  var port: UInt16
  /// Set when the host is a number.
  var numeric: SocketAddress?

  init(_ text: String, defaultPort: UInt16?) throws(ReactorError) {
    if let address = SocketAddress(text) {
      self.init(address)
      return
    }
    if let defaultPort, let address = Self.bareNumber(text, port: defaultPort) {
      self.init(address)
      return
    }
    let colon = text.lastIndex(of: ":")
    let host = colon.map { text[..<$0] } ?? text[...]
    let port = try Self.port(colon.map { text[text.index(after: $0)...] }, of: text, defaultPort)
    // Longer names do not exist (RFC 1035 §2.3.4); a colon is an IPv6 address without brackets.
    guard (1...253).contains(host.utf8.count), !host.contains(":"), !host.contains("["),
      host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
    else {
      throw ReactorError(
        "resolve", "'\(text)'", reason: "it is neither host:port nor [IPv6 address]:port")
    }
    self.init(host: String(host), port: port)
  }

  private init(_ address: SocketAddress) {
    self.init(host: address.hostText, port: address.port, numeric: address)
  }

  private init(host: String, port: UInt16, numeric: SocketAddress? = nil) {
    self.host = host
    self.port = port
    self.numeric = numeric
  }

  private static func bareNumber(_ text: String, port: UInt16) -> SocketAddress? {
    SocketAddress("\(text):\(port)") ?? SocketAddress("[\(text)]:\(port)")
  }

  private static func port(
    _ text: Substring?, of whole: String, _ defaultPort: UInt16?
  ) throws(ReactorError) -> UInt16 {
    guard let text else {
      if let defaultPort { return defaultPort }
      throw ReactorError("resolve", "'\(whole)'", reason: "it has no port; write \(whole):PORT")
    }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(text) else {
      throw ReactorError("resolve", "'\(whole)'", reason: "'\(text)' is not a port (0 to 65535)")
    }
    return port
  }
}
