import Primitives

/// Where a driver's datagrams go: end to end into the socket's memory, to leave in one flush; or to
/// whoever sends by a stream or from another port.
///
/// Station 11 of the house tour; next is `UDPSocket`.
struct SocketOutlet: ~Copyable, DatagramOutlet {
  var socket: UDPSocket
  var sendByStream: (([UInt8], LocalAddressID) -> Void)?
  var sendFromOtherPort: (([UInt8], SocketAddress, SocketAddress?) -> Void)?

  init(_ socket: consuming UDPSocket) { self.socket = socket }

  mutating func send(
    _ byteCount: Int, _ write: (inout OutputSpan<UInt8>) -> DatagramPath?
  ) -> Bool {
    let room = unsafe socket.room(byteCount)
    var packet = unsafe OutputSpan(buffer: room, initializedCount: 0)
    let path = write(&packet)
    let count = unsafe packet.finalize(for: room)
    guard let path else { return false }
    if path.local.isStream {
      sendByStream?(unsafe Array(room.prefix(count)), path.local)
    } else if path.local.isAtOtherPort {
      sendFromOtherPort?(
        unsafe Array(room.prefix(count)), path.remote, socket.address(path.local.atUsualPort))
    } else {
      socket.commit(count, on: path)
    }
    return true
  }

  mutating func flush() { socket.flush() }
}
