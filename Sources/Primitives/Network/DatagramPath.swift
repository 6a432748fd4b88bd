/// Which of the host's own addresses a datagram came to, or is to leave from.
///
/// A number that only the socket can turn into an address; a machine keeps it and gives it back.
/// A socket gives the same number to the same address for as long as it is open.
package struct LocalAddressID: RawRepresentable, Hashable, Sendable, BitwiseCopyable {
  /// 0, or the place in the socket's table plus one.
  package let rawValue: UInt16

  package init(rawValue: UInt16) { self.rawValue = rawValue }

  /// The system chooses, by its routes (RFC 1122 §3.3.4.3).
  package static let unspecified = LocalAddressID(rawValue: 0)

  package var isUnspecified: Bool { rawValue == 0 }

  /// An address of ours at a TURN server: no number of a socket's, whose table is shorter.
  package static let relay = LocalAddressID(rawValue: .max)

  package var isRelay: Bool { self == .relay }

  /// A stream to a TURN server: no number of a socket's either. Each connection has another one.
  package static func stream(_ number: UInt8) -> LocalAddressID {
    LocalAddressID(rawValue: 0xFE00 | UInt16(number))
  }

  package var isStream: Bool { rawValue >> 8 == 0xFE }

  /// The same address, and another port than the socket's: only a server has one.
  package var atOtherPort: LocalAddressID { LocalAddressID(rawValue: rawValue | 0x8000) }

  package var isAtOtherPort: Bool { rawValue >> 14 == 2 }

  /// The same address, and the socket's port.
  package var atUsualPort: LocalAddressID {
    isAtOtherPort ? LocalAddressID(rawValue: rawValue & 0x7FFF) : self
  }
}

/// An own address on another interface than the one that the routes choose, to be sent from when
/// that one carries nothing.
package struct AlternateSource: Hashable, Sendable, BitwiseCopyable {
  package var local: LocalAddressID
  package var family: SocketAddress.Family

  package init(_ local: LocalAddressID, _ family: SocketAddress.Family) {
    self.local = local
    self.family = family
  }
}

/// The two ends of a datagram's way, as this host sees them (RFC 9000 §9: a path).
package struct DatagramPath: Hashable, Sendable, BitwiseCopyable {
  package var remote: SocketAddress
  package var local: LocalAddressID
  /// How many routers the datagram passes before one drops it; 0 = as many as the system allows.
  package var hopLimit: UInt8 = 0

  package init(_ remote: SocketAddress, local: LocalAddressID = .unspecified) {
    self.remote = remote
    self.local = local
  }
}
