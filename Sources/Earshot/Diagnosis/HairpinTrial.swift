internal import Primitives

/// One end of the question whether two sockets behind one translator reach each other by the
/// addresses that others see (RFC 4787 §6): sends a few packets to the other's, and listens.
///
/// Both ends send: where the translator lets in only what was asked for, the first packet of each
/// opens the way for the other's.
struct HairpinTrial: DatagramMachine {
  /// The address from which the other end was heard.
  typealias Event = SocketAddress

  private let target: SocketAddress
  private let sends: [UInt8]
  private let expects: [UInt8]
  private var left = Self.packetCount
  private var nextAt: Instant
  private var heard: SocketAddress?
  private(set) var isHeard = false

  /// Packets of each end, and the time between them.
  static let packetCount = 5
  static let pace = Duration.milliseconds(100)
  /// After this nothing more comes.
  static let duration = Duration.milliseconds(900)

  /// - Parameters:
  ///   - target: The other end, as others see it.
  ///   - sends: 16 random bytes.
  ///   - expects: Those of the other end.
  init(to target: SocketAddress, sends: [UInt8], expects: [UInt8], now: Instant) {
    self.target = target
    self.sends = sends
    self.expects = expects
    nextAt = now
  }

  @_lifetime(bytes: copy bytes)
  mutating func handle(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant
  ) {
    guard !isHeard, bytes.count == expects.count else { return }
    for index in expects.indices where bytes[index] != expects[index] { return }
    isHeard = true
    heard = source
  }

  mutating func handleTimeout(now: Instant) {}

  @_lifetime(packet: copy packet)
  mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    guard left > 0, nextAt <= now else { return nil }
    left -= 1
    nextAt = now + Self.pace
    packet.append(bytes: sends)
    return DatagramPath(target)
  }

  mutating func pollEvent() -> SocketAddress? { heard.take() }

  var nextDeadline: Instant? { left > 0 ? nextAt : nil }
}
