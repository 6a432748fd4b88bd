import Primitives

/// A machine for tests of the network alone: sends a numbered datagram every interval to `target`,
/// if it has one, and answers what begins with 0.
struct PingPong: ~Copyable, DatagramMachine {
  enum Event: Sendable, Equatable {
    case asked(UInt8, from: SocketAddress, at: Instant)
    case answered(UInt8, at: Instant, ecn: UInt8)
  }

  private let target: SocketAddress?
  private let interval: Duration
  private let byteCount: Int
  private var due: Instant?
  private var asked: UInt8 = 0
  private var outbox: [(bytes: [UInt8], to: DatagramPath)] = []
  private var events: [Event] = []

  init(target: SocketAddress?, interval: Duration, byteCount: Int = 100, now: Instant) {
    self.target = target
    self.interval = interval
    self.byteCount = byteCount
    due = target == nil ? nil : now
  }

  @_lifetime(bytes: copy bytes)
  mutating func handle(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant
  ) {
    guard bytes.count >= 2 else { return }
    if bytes[0] == 0 {
      events.append(.asked(bytes[1], from: source, at: now))
      outbox.append(([1, bytes[1]], DatagramPath(source, local: marks.local)))
    } else {
      events.append(.answered(bytes[1], at: now, ecn: marks.ecn))
    }
  }

  mutating func handleTimeout(now: Instant) {
    guard let target, let due, due <= now else { return }
    outbox.append(([0, asked] + [UInt8](repeating: 0, count: byteCount - 2), DatagramPath(target)))
    asked &+= 1
    self.due = due + interval
  }

  @_lifetime(packet: copy packet)
  mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    guard !outbox.isEmpty else { return nil }
    let next = outbox.removeFirst()
    packet.append(bytes: next.bytes)
    return next.to
  }

  mutating func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

  var nextDeadline: Instant? { due }
}
