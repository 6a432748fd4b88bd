extension SocketAddress {
  /// Whether an IPv4 address is one of a network behind a translator (RFC 1918, RFC 6598).
  package var isPrivateV4: Bool {
    guard family == .v4 else { return false }
    let word = UInt32(truncatingIfNeeded: high >> 32)
    return word >> 24 == 10 || word >> 20 == 0xAC1 || word >> 16 == 0xC0A8
      || word >> 22 == 0x6440 >> 6
  }

  /// Whether an IPv4 address can be reached from everywhere, as far as the address itself tells.
  package var isPublicV4: Bool {
    guard family == .v4, !isLoopback, !isUnspecified, !isPrivateV4 else { return false }
    let word = UInt32(truncatingIfNeeded: high >> 32)
    // "This network", link-local, multicast and reserved (RFC 6890).
    return word >> 24 != 0 && word >> 16 != 0xA9FE && word >> 28 < 0xE
  }
}
