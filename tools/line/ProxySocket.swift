package import Primitives
package import Reactor

/// One UDP port of the proxy, and the one address it stands for or serves.
package final class ProxySocket {
  package typealias Body = (Span<UInt8>, SocketAddress, UInt8, Instant) -> Void

  /// The client behind an outer port, the remote behind an inner one.
  package let partner: SocketAddress
  private var socket: UDPSocket
  private var token: EventLoop.Token?
  private var body: Body?
  private var afterBatch: (() -> Void)?
  /// The ECN bits that are sent with now.
  private var ecn: UInt8 = 0

  package init(
    binding address: SocketAddress, partner: SocketAddress
  ) throws(ReactorError) {
    self.partner = partner
    socket = try UDPSocket(binding: address, Self.options)
  }

  package var address: SocketAddress { socket.localAddress }

  /// Calls `body` for each datagram, with the time at which the kernel took it.
  package func open(
    on loop: EventLoop, _ body: @escaping Body, afterBatch: @escaping () -> Void
  ) throws(ReactorError) {
    self.body = body
    self.afterBatch = afterBatch
    try watch(on: loop)
  }

  /// The same on another port.
  package func reopen(on loop: EventLoop) throws(ReactorError) {
    var address = socket.localAddress
    address.port = 0
    let new = try UDPSocket(binding: address, Self.options)
    close(on: loop)
    socket = new
    ecn = 0
    try watch(on: loop)
  }

  package func close(on loop: EventLoop) {
    if let token { loop.unwatch(token) }
    token = nil
  }

  package func send(_ bytes: [UInt8], to destination: SocketAddress, ecn wanted: UInt8) {
    if wanted != ecn {
      do throws(ReactorError) {
        try socket.setECN(wanted)
        ecn = wanted
      } catch {
        // Goes out with the bits of before: a kernel that refuses them all refuses each alike.
      }
    }
    let room = unsafe socket.room()
    guard bytes.count <= room.count else { return }
    for index in bytes.indices { unsafe room[index] = bytes[index] }
    socket.commit(bytes.count, to: destination)
    socket.flush()
  }

  private func watch(on loop: EventLoop) throws(ReactorError) {
    token = try loop.watch(socket.fileNumber, for: .readable) { [unowned self] _ in read() }
  }

  private func read() {
    let count = socket.receive()
    for index in 0..<count {
      guard let message = unsafe socket.message(index) else { continue }
      let bytes = unsafe Span(_unsafeStart: message.bytes, count: message.byteCount)
      unsafe body?(bytes, message.source, message.marks.ecn, message.arrival)
    }
    afterBatch?()
  }

  /// One datagram a message, each with a time of its own.
  private static var options: UDPSocket.Options {
    var options = UDPSocket.Options()
    options.segments = false
    options.merges = false
    return options
  }
}
