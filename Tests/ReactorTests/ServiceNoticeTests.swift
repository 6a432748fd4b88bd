import Glibc
import Primitives
import Testing

@testable import Reactor

/// A service manager that listens as systemd does.
struct ServiceNoticeTests {
  private static func listener(at path: String) throws -> FileDescriptor {
    let number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    let descriptor = FileDescriptor(owning: number)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in
      unsafe room.copyBytes(from: bytes)
      if path.hasPrefix("@") { unsafe room[0] = 0 }
    }
    let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    let result = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(number, $0, size)
      }
    }
    try #require(result == 0)
    return descriptor
  }

  private static func next(_ descriptor: borrowing FileDescriptor) -> String {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = unsafe recv(descriptor.number, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  @Test(arguments: ["/tmp/earshot-notice-\(getpid())", "@earshot-notice-\(getpid())"])
  func `tells a socket that it serves, reads again and ends`(path: String) throws {
    defer { _ = unsafe unlink(path) }
    let manager = try Self.listener(at: path)
    let notice = try #require(ServiceNotice(socket: path))
    notice.sendState(.ready)
    #expect(Self.next(manager) == "READY=1")
    let before = SystemClock.now.nanoseconds / 1000
    notice.sendState(.reloading)
    let text = Self.next(manager)
    #expect(text.hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
    #expect(UInt64(text.dropFirst("RELOADING=1\nMONOTONIC_USEC=".count)) ?? 0 >= before)
    notice.sendState(.stopping)
    #expect(Self.next(manager) == "STOPPING=1")
  }

  @Test func `nobody is told where no manager is named`() {
    #expect(ServiceNotice(socket: nil) == nil)
    #expect(ServiceNotice(socket: "relative") == nil)
    // Nobody listens, and the path is too long: neither stops the program.
    ServiceNotice(socket: "/nobody/listens")?.sendState(.ready)
    ServiceNotice(socket: "/" + String(repeating: "x", count: 200))?.sendState(.ready)
  }
}
