internal import CLinux
internal import Primitives

extension SocketAddress {
  /// `nil` for an address that is neither IPv4 nor IPv6.
  init?(_ address: earshot_address) {
    guard let family = Family(rawValue: address.family) else { return nil }
    self.init(family: family, high: address.high, low: address.low, port: address.port)
  }

  var forKernel: earshot_address {
    earshot_address(high: high, low: low, port: port, family: family.rawValue)
  }
}
