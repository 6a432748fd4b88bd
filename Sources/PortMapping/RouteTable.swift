package import Primitives

/// The kernel's IPv4 routes, as `/proc/net/route` lists them.
package enum RouteTable {
  /// The router of the default route with the lowest metric; `nil` = there is none.
  package static func defaultRouter(in text: String) -> SocketAddress? {
    var best: (metric: UInt32, router: SocketAddress)?
    for line in text.split(separator: "\n").dropFirst() {
      let words = line.split { $0 == "\t" || $0 == " " }
      guard words.count >= 8, UInt32(words[1], radix: 16) == 0, UInt32(words[7], radix: 16) == 0,
        let gateway = UInt32(words[2], radix: 16), gateway != 0,
        let flags = UInt32(words[3], radix: 16), flags & upAndGateway == upAndGateway,
        let metric = UInt32(words[6])
      else { continue }
      if best.map({ metric < $0.metric }) ?? true { best = (metric, address(gateway)) }
    }
    return best?.router
  }

  /// `RTF_UP` and `RTF_GATEWAY`.
  private static let upAndGateway: UInt32 = 3

  /// The kernel prints the four bytes as one number of the host's order.
  private static func address(_ word: UInt32) -> SocketAddress {
    let word = word.littleEndian
    return SocketAddress(
      v4: UInt8(truncatingIfNeeded: word), UInt8(truncatingIfNeeded: word >> 8),
      UInt8(truncatingIfNeeded: word >> 16), UInt8(truncatingIfNeeded: word >> 24), port: 0)
  }
}
