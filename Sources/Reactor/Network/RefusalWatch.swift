internal import CLinux
internal import Glibc
package import Primitives

/// Whether the host behind an address answers that nothing listens at the port (ICMP port
/// unreachable, RFC 1122 §3.2.2.1), which the kernel tells connected sockets only.
///
/// It has a socket of its own: on the socket of the calls each such message would cost a datagram.
/// Anybody on the way can forge one, so it is a hint and never proof.
package final class RefusalWatch {
  /// What became of the questions so far.
  package enum Finding: Equatable {
    /// No answer of any kind.
    case silent
    /// Each question that was answered was refused.
    case refused
    /// A datagram came back: somebody listens.
    case answered
  }

  private let descriptor: FileDescriptor
  package private(set) var finding = Finding.silent
  /// Refusals that came.
  package private(set) var refusals = 0

  package init(of remote: SocketAddress) throws(ReactorError) {
    var remote = remote.forKernel
    let number = unsafe earshot_udp_connect(&remote)
    guard number >= 0 else { throw ReactorError("open", "a UDP socket", errno: -number) }
    descriptor = FileDescriptor(owning: number)
  }

  /// Sends `bytes` there. What became of the last question is taken in first.
  package func ask(_ bytes: [UInt8]) {
    look()
    let count = unsafe send(descriptor.number, bytes, bytes.count, 0)
    if count < 0, errno == ECONNREFUSED { noteRefusal() }
  }

  /// Takes in what has come back.
  package func look() {
    var bytes = [UInt8](repeating: 0, count: 64)
    for _ in 0..<Self.mostReads {
      let count = unsafe recv(descriptor.number, &bytes, bytes.count, 0)
      if count >= 0 {
        finding = .answered
      } else if errno == ECONNREFUSED {
        noteRefusal()
      } else {
        return
      }
    }
  }

  private func noteRefusal() {
    refusals += 1
    if finding == .silent { finding = .refused }
  }

  private static let mostReads = 8
}
