internal import CLinux
internal import Primitives

/// The own addresses that datagrams came to, under the numbers that the machines keep.
///
/// The table only grows, so that a number keeps its meaning, and it has a limit: a host that takes
/// a whole network's addresses for its own would otherwise fill memory for whoever asks at all of
/// them. What finds no room is answered from the address that the system chooses.
@safe struct LocalAddresses: ~Copyable {
  static let limit = 1024

  let reporting: UDPSocket.LocalAddressReporting
  private(set) var count = 0
  /// For `earshot_send`.
  let table: UnsafeMutablePointer<earshot_own_address>
  /// The number that was found last: mostly the next one as well.
  private var last = 0
  private var choices: [Choice]

  /// Whether the system would have chosen a local address for a remote one, as it was a while ago.
  private struct Choice {
    var remote: SocketAddress?
    var local: UInt16 = 0
    var isSystems = false
    var asked = Instant.zero
  }

  init(reporting: UDPSocket.LocalAddressReporting) {
    self.reporting = reporting
    unsafe table = .allocate(capacity: Self.limit)
    let isComparing = reporting == .whereSystemDiffers
    choices = Array(repeating: Choice(), count: isComparing ? Self.choiceCount : 0)
  }

  deinit { unsafe table.deallocate() }

  /// The number of the address that a message came to.
  mutating func number(
    of raw: earshot_address, interface: UInt32, from source: SocketAddress, now: Instant
  ) -> LocalAddressID {
    guard reporting != .never, raw.family != 0, raw.high | raw.low != 0 else { return .unspecified }
    guard let number = find(raw, interface: kept(interface, raw, source)) else {
      return .unspecified
    }
    if reporting == .whereSystemDiffers, isSystems(raw, number, source, now: now) {
      return .unspecified
    }
    return LocalAddressID(rawValue: number)
  }

  /// The number under which an own address, not the system's choice, is sent from.
  mutating func number(of address: SocketAddress, interface: UInt32) -> LocalAddressID {
    guard reporting != .never, interface != Self.loopbackInterface,
      let number = find(address.forKernel, interface: interface)
    else { return .unspecified }
    return LocalAddressID(rawValue: number)
  }

  /// The address under a number, without a port; `nil` for what the system chooses.
  func address(_ local: LocalAddressID) -> SocketAddress? {
    guard !local.isUnspecified, Int(local.rawValue) <= count else { return nil }
    return SocketAddress(unsafe table[Int(local.rawValue) - 1].address)
  }

  /// The interface an answer must leave by. A server's way back is the routes' affair, except that
  /// a link-local address means nothing without its interface; a peer's second uplink leads nowhere
  /// but by itself. Never the loopback, by which the kernel does not let what is routed pass.
  private func kept(
    _ interface: UInt32, _ raw: earshot_address, _ source: SocketAddress
  ) -> UInt32 {
    guard interface != Self.loopbackInterface else { return 0 }
    let isLinkLocal =
      source.isLinkLocalV6 || (raw.family == 6 && raw.high >> 54 == 0xFE80 >> 6)
    return isLinkLocal || reporting == .whereSystemDiffers ? interface : 0
  }

  private mutating func find(_ raw: earshot_address, interface: UInt32) -> UInt16? {
    if last < count, unsafe table[last].isSame(raw, interface) { return UInt16(last + 1) }
    for index in 0..<count where unsafe table[index].isSame(raw, interface) {
      last = index
      return UInt16(index + 1)
    }
    guard count < Self.limit else { return nil }
    var address = raw
    address.port = 0
    unsafe table[count] = earshot_own_address(address: address, interface: interface)
    last = count
    count += 1
    return UInt16(count)
  }

  /// Whether the system would send to `source` from `raw` by itself. Asked anew every two seconds
  /// for each of the last few remotes, because routes change.
  private mutating func isSystems(
    _ raw: earshot_address, _ number: UInt16, _ source: SocketAddress, now: Instant
  ) -> Bool {
    let hash = source.high ^ source.low ^ source.high >> 32 ^ UInt64(number)
    let index = Int((hash ^ hash >> 8) % UInt64(Self.choiceCount))
    let known = choices[index]
    if known.remote == source, known.local == number, now < known.asked + Self.choiceLife {
      return known.isSystems
    }
    var remote = source.forKernel
    var chosen = earshot_address()
    let isFound = unsafe earshot_source_address(&remote, &chosen) == 0
    let isSystems =
      isFound && chosen.family == raw.family && chosen.high == raw.high && chosen.low == raw.low
    choices[index] = Choice(remote: source, local: number, isSystems: isSystems, asked: now)
    return isSystems
  }

  private static let choiceCount = 64
  private static let choiceLife = Duration.seconds(2)
  /// `LOOPBACK_IFINDEX`.
  private static let loopbackInterface: UInt32 = 1
}

extension UDPSocket {
  /// Of which datagrams a socket that is bound to every address says where they came to.
  package enum LocalAddressReporting: Sendable {
    case never
    /// Of those that came to another address than the system would answer from: everything else
    /// then follows the routes when the host moves.
    case whereSystemDiffers
    /// Of all: for servers, which are asked by many and do not move.
    case always
  }
}

extension earshot_own_address {
  fileprivate func isSame(_ other: earshot_address, _ interface: UInt32) -> Bool {
    address.low == other.low && address.high == other.high && address.family == other.family
      && self.interface == interface
  }
}
