package import Primitives

/// What waits to be sent, in the order in which it goes (docs/congestion.md).
package enum SendClass: UInt8, CaseIterable, Sendable, BitwiseCopyable {
  case audio, feedback, message, retransmission, video, padding
}

/// A packet that waits; its bytes are elsewhere, `token` says where.
package struct PacedPacket: Equatable, Sendable, BitwiseCopyable {
  package var sendClass = SendClass.padding
  /// On the line.
  package var byteCount = 0
  package var token: UInt32 = 0
  package var enqueued = Instant.zero
}

/// Spreads packets over time: a rate, a limit on what is under way, and an order of classes.
///
/// Audio and feedback go at once and are charged to those behind them, so that they never wait for
/// more than the packet that has just left. The rest leaves at `rate`; retransmissions, video and
/// padding also wait while as much is under way as the path holds. Nothing is allocated after
/// construction.
package struct Pacer: Sendable {
  private var gate: PacingGate
  private var queues: [PacketRing]
  private(set) var queuedBytes = InlineArray<6, Int>(repeating: 0)

  /// - Parameter capacity: Packets that wait in each class; a power of two.
  package init(rate: Double, capacity: Int = 1024) {
    gate = PacingGate(rate: rate)
    queues = SendClass.allCases.map { _ in PacketRing(capacity: capacity) }
  }

  /// In bit/s.
  package var rate: Double {
    get { gate.rate }
    set { gate.rate = newValue }
  }

  /// Bytes under way above which the classes from retransmission down wait.
  package var inFlightLimit: Int {
    get { gate.inFlightLimit }
    set { gate.inFlightLimit = newValue }
  }

  /// Audio looks for the end of an outage (`AudioHold`).
  package var isProbed: Bool {
    get { gate.isProbed }
    set { gate.isProbed = newValue }
  }

  // MARK: Inputs

  /// `false` when the class's queue is full.
  package mutating func enqueue(
    _ sendClass: SendClass, byteCount: Int, token: UInt32, now: Instant
  ) -> Bool {
    let index = Int(sendClass.rawValue)
    guard
      queues[index].append(
        PacedPacket(sendClass: sendClass, byteCount: byteCount, token: token, enqueued: now))
    else { return false }
    queuedBytes[index] += byteCount
    return true
  }

  /// Forgets what waits in a class; `drop` is told each token.
  package mutating func removeAll(_ sendClass: SendClass) {
    let index = Int(sendClass.rawValue)
    queues[index].removeAll()
    queuedBytes[index] = 0
  }

  // MARK: Outputs

  /// The next packet that may leave now.
  package mutating func next(now: Instant, bytesInFlight: Int) -> PacedPacket? {
    for sendClass in SendClass.allCases {
      let index = Int(sendClass.rawValue)
      guard !queues[index].isEmpty else { continue }
      guard gate.admits(sendClass, bytesInFlight: bytesInFlight, now: now) else { return nil }
      guard let packet = queues[index].removeFirst() else { continue }
      queuedBytes[index] -= packet.byteCount
      gate.noteSent(byteCount: packet.byteCount, now: now)
      return packet
    }
    return nil
  }

  /// When `next` could give something; `nil` while nothing waits.
  package func nextDeadline(now: Instant, bytesInFlight: Int) -> Instant? {
    for sendClass in SendClass.allCases where !queues[Int(sendClass.rawValue)].isEmpty {
      return gate.admission(of: sendClass, bytesInFlight: bytesInFlight, now: now)
    }
    return nil
  }

  /// How long video that waits needs to leave at the present rate, in nanoseconds.
  package var videoDelay: UInt64 {
    let bytes =
      queuedBytes[Int(SendClass.video.rawValue)]
      + queuedBytes[Int(SendClass.retransmission.rawValue)]
    return gate.duration(bytes)
  }

  package func isEmpty(_ sendClass: SendClass) -> Bool {
    queues[Int(sendClass.rawValue)].isEmpty
  }
}

/// A queue of fixed capacity.
struct PacketRing: Sendable {
  private var ring: [PacedPacket]
  private var first = 0
  private var count = 0

  init(capacity: Int) {
    precondition(capacity > 0 && capacity & (capacity - 1) == 0, "capacity is a power of two")
    ring = Array(repeating: PacedPacket(), count: capacity)
  }

  var isEmpty: Bool { count == 0 }

  mutating func append(_ packet: PacedPacket) -> Bool {
    guard count < ring.count else { return false }
    ring[(first &+ count) & (ring.count - 1)] = packet
    count += 1
    return true
  }

  mutating func removeFirst() -> PacedPacket? {
    guard count > 0 else { return nil }
    let packet = ring[first]
    first = (first &+ 1) & (ring.count - 1)
    count -= 1
    return packet
  }

  mutating func removeAll() { count = 0 }
}
