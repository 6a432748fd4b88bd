import Foundation
import Glibc
import Primitives
import Synchronization

/// Plays what a router says by UDP, NAT-PMP and SSDP, at an address of loopback of its own. What it
/// does not play is not listened for.
final class PlayedGateway: Sendable {
  /// A datagram that came, and from which address, in host order.
  struct Question: Sendable {
    var source: UInt32
    var bytes: [UInt8]
  }

  /// The answer to a question, by its number from 1; `nil` = none.
  typealias Answer = @Sendable (_ number: Int, _ question: [UInt8]) -> [UInt8]?

  struct Failure: Error {}

  /// In host order.
  let host: UInt32
  private let questions = Mutex<[Question]>([])

  /// An address of loopback that nobody else has.
  static func anyHost() -> UInt32 {
    var random = RandomSource.system
    return 0x7F00_0000 | UInt32.random(in: 0x1_0000...0xFE_FFFE, using: &random)
  }

  init(at host: UInt32 = anyHost(), natPMP: Answer? = nil, ssdp: Answer? = nil) throws {
    self.host = host
    for (port, answer) in [(UInt16(5351), natPMP), (1900, ssdp)] {
      guard let answer else { continue }
      let socket = try Self.open(host, port)
      Thread.detachNewThread { self.serve(socket, answer) }
    }
  }

  /// Everything that came, in order.
  var heard: [Question] { questions.withLock { $0 } }

  /// As a router's address.
  var address: SocketAddress {
    SocketAddress(family: .v4, high: UInt64(host) << 32, low: 0, port: 0)
  }

  private static func open(_ host: UInt32, _ port: UInt16) throws -> Int32 {
    let number = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = host.bigEndian
    // Whoever asks nothing for so long has gone.
    var patience = timeval(tv_sec: 3, tv_usec: 0)
    let isOpen = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe bind(number, generic, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
          && setsockopt(
            number, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size)) == 0
      }
    }
    guard isOpen else { throw Failure() }
    return number
  }

  private func serve(_ socket: Int32, _ answer: Answer) {
    var buffer = [UInt8](repeating: 0, count: 2048)
    var source = sockaddr_in()
    var number = 0
    while true {
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let size = buffer.count
      let count = unsafe withUnsafeMutablePointer(to: &source) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
          unsafe recvfrom(socket, &buffer, size, 0, generic, &length)
        }
      }
      guard count > 0 else { break }
      let bytes = Array(buffer.prefix(count))
      let host = UInt32(bigEndian: source.sin_addr.s_addr)
      questions.withLock { $0.append(Question(source: host, bytes: bytes)) }
      number += 1
      guard let reply = answer(number, bytes) else { continue }
      _ = unsafe withUnsafeMutablePointer(to: &source) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
          unsafe sendto(socket, reply, reply.count, 0, generic, length)
        }
      }
    }
    close(socket)
  }
}
