internal import CTLS
internal import Glibc

/// What a TLS client needs to know of its server.
package struct TLSOptions: Hashable, Sendable {
  /// Whom the server's certificate must name: a host name or an address.
  package var host: String
  /// PEM file with the authorities to believe; `nil` = those of the system.
  package var authorities: String?

  package init(host: String, authorities: String? = nil) {
    self.host = host
    self.authorities = authorities
  }

  /// Whether a session could begin: the authorities are there.
  package func check() throws(ReactorError) { _ = try TLSSession(self) }
}

/// One TLS session of a client, TLS 1.2 or 1.3: bytes of the connection in and out, no socket.
@safe final class TLSSession {
  enum Step: Equatable { case waiting, done, failed }

  private let session: OpaquePointer

  init(_ options: TLSOptions) throws(ReactorError) {
    var problem: Int32 = 0
    let made =
      if let authorities = options.authorities {
        unsafe earshot_tls_open(options.host, authorities, &problem)
      } else {
        unsafe earshot_tls_open(options.host, nil, &problem)
      }
    guard let made = unsafe made else {
      let file = options.authorities ?? "the system's store"
      let reason =
        switch problem {
        case Int32(earshot_tls_no_authorities): "\(file) holds no certificate of an authority"
        case ..<0:
          "\(file) cannot be read: \(ReactorError("read", file, errno: -problem).reason)"
        default: "no memory"
        }
      throw ReactorError("verify", "certificates", reason: reason)
    }
    unsafe session = made
  }

  deinit { unsafe earshot_tls_close(session) }

  /// Goes on with the handshake.
  func handshake() -> Step {
    switch unsafe earshot_tls_handshake(session) {
    case 1: .done
    case 0: .waiting
    default: .failed
    }
  }

  /// Whether the handshake failed because the certificate is not to be trusted.
  var isUntrusted: Bool { unsafe earshot_tls_is_untrusted(session) != 0 }

  /// Why the handshake failed.
  var reason: String {
    var text = [CChar](repeating: 0, count: 160)
    let count = text.count
    unsafe text.withUnsafeMutableBufferPointer { room in
      guard let start = room.baseAddress else { return }
      unsafe earshot_tls_reason(session, start, count)
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Takes bytes of the connection.
  func feed(_ bytes: [UInt8], _ count: Int) -> Bool {
    unsafe bytes.withUnsafeBufferPointer { room in
      guard let start = room.baseAddress else { return true }
      return unsafe earshot_tls_feed(session, start, count) == 0
    }
  }

  /// What the server said, into `room`; `nil` when the session is over.
  func read(into room: inout [UInt8]) -> Int? {
    let limit = room.count
    let count = unsafe room.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return 0 }
      return unsafe earshot_tls_read(session, start, limit)
    }
    return count < 0 ? nil : count
  }

  /// Seals bytes for the server; `false` when the session is over.
  func write(_ bytes: [UInt8]) -> Bool {
    unsafe bytes.withUnsafeBufferPointer { room in
      guard let start = room.baseAddress else { return true }
      return unsafe earshot_tls_write(session, start, room.count) == 0
    }
  }

  /// What is to go out by the connection.
  func takeOutput() -> [UInt8] {
    let count = unsafe earshot_tls_pending(session)
    guard count > 0 else { return [] }
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, taken in
      guard let start = buffer.baseAddress else { return }
      taken = unsafe earshot_tls_take(session, start, count)
    }
  }
}
