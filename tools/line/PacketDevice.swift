internal import Glibc
package import Reactor

/// A TUN device: what the kernel routes to it is read here, and what is written here arrives.
package final class PacketDevice {
  package typealias Body = (Span<UInt8>) -> Void

  /// Bytes of an IP packet at most.
  package static let maxByteCount = 65_535
  /// Packets read before what is due is delivered.
  private static let batch = 64
  /// Of <linux/if_tun.h>: _IOW('T', 202, int), IFF_TUN | IFF_NO_PI.
  private static let setInterface: UInt = 0x4004_54CA
  private static let flags: [UInt8] = [0x01, 0x10]
  /// Bytes of a name with the one that ends it (IFNAMSIZ), and of the whole request.
  private static let nameByteCount = 16
  private static let requestByteCount = 40

  package let name: String
  private let descriptor: FileDescriptor
  private var token: EventLoop.Token?
  private var room = [UInt8](repeating: 0, count: PacketDevice.maxByteCount)

  /// Makes the device, or opens a persistent one of this name. It is gone with its owner.
  package init(named name: String) throws(ReactorError) {
    let letters = Array(name.utf8)
    guard !letters.isEmpty, letters.count < Self.nameByteCount else {
      throw ReactorError("open device", name, reason: "a name has 1 to 15 letters")
    }
    let number = unsafe Glibc.open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard number >= 0 else { throw ReactorError("open", "/dev/net/tun", errno: errno) }
    let opened = FileDescriptor(owning: number)
    var request = letters + [UInt8](repeating: 0, count: Self.requestByteCount - letters.count)
    for index in Self.flags.indices { request[Self.nameByteCount + index] = Self.flags[index] }
    let result = unsafe request.withUnsafeMutableBytes { bytes in
      unsafe bytes.baseAddress.map { unsafe ioctl(number, Self.setInterface, $0) } ?? -1
    }
    guard result >= 0 else { throw ReactorError("make device", name, errno: errno) }
    self.name = name
    descriptor = opened
  }

  /// Calls `body` for each packet, `afterBatch` when no more wait.
  package func open(
    on loop: EventLoop, _ body: @escaping Body, afterBatch: @escaping () -> Void
  ) throws(ReactorError) {
    token = try loop.watch(descriptor.number, for: .readable) { [unowned self] _ in
      for _ in 0..<Self.batch {
        guard let count = read() else { break }
        let packet = Array(room[0..<count])
        body(packet.span)
      }
      afterBatch()
    }
  }

  package func close(on loop: EventLoop) {
    if let token { loop.unwatch(token) }
    token = nil
  }

  /// Gives a packet to the kernel; an `errno`, or 0. A device that is down refuses all.
  package func write(_ packet: [UInt8]) -> Int32 {
    let written = unsafe packet.withUnsafeBytes { bytes in
      unsafe Glibc.write(descriptor.number, bytes.baseAddress, bytes.count)
    }
    return written == packet.count ? 0 : errno
  }

  /// The bytes of the next packet that waits, which are in `room`.
  private func read() -> Int? {
    let count = unsafe room.withUnsafeMutableBytes { bytes in
      unsafe Glibc.read(descriptor.number, bytes.baseAddress, bytes.count)
    }
    return count > 0 ? count : nil
  }
}
