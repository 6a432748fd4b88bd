import Foundation
import Glibc

/// Answers one connection after the other with the bytes it was given, whatever it is asked.
/// On loopback.
struct PlayedRouter {
  let port: UInt16

  struct Failure: Error {}

  /// - Parameters:
  ///   - host: Which address of loopback, in host order.
  ///   - keepsOpen: Whether it leaves it to the other end to close a connection.
  init(_ replies: [[UInt8]], host: UInt32 = 0x7F00_0001, keepsOpen: Bool = false) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = host.bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe bind(listener, generic, length) == 0 && listen(listener, 8) == 0
          && getsockname(listener, generic, &length) == 0
      }
    }
    guard isListening else { throw Failure() }
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread {
      for reply in replies { Self.answer(listener, reply, keepsOpen) }
      close(listener)
    }
  }

  private static func answer(_ listener: Int32, _ reply: [UInt8], _ keepsOpen: Bool) {
    let connection = accept(listener, nil, nil)
    guard connection >= 0 else { return }
    var request = [UInt8](repeating: 0, count: 4096)
    _ = unsafe recv(connection, &request, request.count, 0)
    var sent = 0
    while sent < reply.count {
      let rest = Array(reply[sent...])
      let count = unsafe send(connection, rest, rest.count, Int32(MSG_NOSIGNAL))
      guard count > 0 else { break }
      sent += count
    }
    if !keepsOpen { shutdown(connection, Int32(SHUT_WR)) }
    // Read to the end, so that closing is no reset that throws away what was sent.
    while unsafe recv(connection, &request, request.count, 0) > 0 {}
    close(connection)
  }
}
