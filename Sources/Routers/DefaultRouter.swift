internal import CPortMapping
internal import PortMapping
package import Primitives

/// The router that packets of IPv4 to the internet go by.
package enum DefaultRouter {
  /// As the kernel's routes say now; `nil` = there is none.
  package static func address() -> SocketAddress? {
    var bytes = [UInt8](repeating: 0, count: byteLimit)
    let count = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return 0 }
      return unsafe earshot_read_routes(start, buffer.count)
    }
    guard count > 0 else { return nil }
    return RouteTable.defaultRouter(in: String(decoding: bytes.prefix(count), as: UTF8.self))
  }

  /// About 500 routes.
  private static let byteLimit = 65_536
}
