/// A protocol machine that speaks in datagrams: what the epoll loop and the simulator can run.
///
/// A driver calls one input (`handle` or `handleTimeout`), then polls the outputs until they are
/// empty (`drain` does that), then waits for a datagram or for `nextDeadline`, whichever is first.
/// Several inputs at one `now` may precede one drain.
package protocol DatagramMachine: ~Copyable {
  associatedtype Event: Sendable

  /// Takes one datagram. The machine may overwrite `bytes` (to decrypt in place) and must copy what
  /// it wants to keep: the memory belongs to the driver.
  @_lifetime(bytes: copy bytes)
  mutating func handle(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant)

  /// Does whatever is due. Harmless when nothing is.
  mutating func handleTimeout(now: Instant)

  /// How many bytes `pollTransmit` has room for: `Datagram.maximumByteCount` unless the machine
  /// puts headers of its own around its datagrams.
  static var roomByteCount: Int { get }

  /// Writes the next datagram into `packet`, which is empty and has room for
  /// `roomByteCount`, and says where it goes and which own address it leaves from;
  /// `nil` when there is nothing to send.
  @_lifetime(packet: copy packet)
  mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath?

  /// The next thing that happened, for whoever owns the machine.
  mutating func pollEvent() -> Event?

  /// When `handleTimeout` next has something to do; `nil` means only a datagram can wake it.
  var nextDeadline: Instant? { get }
}

extension DatagramMachine where Self: ~Copyable {
  package static var roomByteCount: Int { Datagram.maximumByteCount }
}

/// What the kernel knows about a received datagram besides its bytes.
package struct DatagramMarks: Hashable, Sendable, BitwiseCopyable {
  /// The two ECN bits of the IP header (RFC 3168 §5): 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
  package var ecn: UInt8
  /// The own address that it came to: an answer leaves from there.
  package var local: LocalAddressID

  package init(ecn: UInt8 = 0, local: LocalAddressID = .unspecified) {
    self.ecn = ecn & 3
    self.local = local
  }

  package var isCongestionExperienced: Bool { ecn == 3 }
}

package enum Datagram {
  /// No datagram we send is longer (docs/protocol/session.md §2): RFC 9000 §14, IPv6 minimum MTU.
  package static let maximumByteCount = 1200
  /// What a machine may put around one, for a relay (RFC 8656 §11, §12): 4 bytes of channel data,
  /// or up to 51 of a Send indication.
  package static let maximumRelayHeaderByteCount = 52
}
