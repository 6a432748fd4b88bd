package import Primitives

/// A second port of a server: datagrams leave from it, and what comes to it is never read.
///
/// Belongs to the loop's thread.
package final class SendingPort {
  private var socket: UDPSocket

  /// - Parameter address: What the server's socket is bound to; the system chooses the port.
  package init(beside address: SocketAddress) throws(ReactorError) {
    var place = address
    place.port = 0
    var options = UDPSocket.Options()
    options.slotCount = 1
    options.merges = false
    options.kernelBufferByteCount = Self.bufferByteCount
    options.localAddresses = .always
    socket = try UDPSocket(binding: place, options)
  }

  package var localAddress: SocketAddress { socket.localAddress }

  /// Sends one datagram.
  ///
  /// - Parameter own: The own address that it is to leave from; `nil` = the system's choice.
  package func send(_ bytes: [UInt8], to remote: SocketAddress, from own: SocketAddress?) {
    var path = DatagramPath(remote)
    if let own, socket.localAddress.isUnspecified {
      path.local = socket.number(of: InterfaceAddress(address: own, interface: 0, isUp: true))
    }
    let room = unsafe socket.room(bytes.count)
    guard room.count >= bytes.count else { return }
    for index in bytes.indices { unsafe room[index] = bytes[index] }
    socket.commit(bytes.count, on: path)
    socket.flush()
  }

  /// Some packets: the kernel drops what nobody reads.
  private static let bufferByteCount = 8192
}
