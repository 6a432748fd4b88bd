package import LinkModel
package import Primitives

/// Both directions of a line, and the datagrams on it: takes them in, and gives them out when they
/// have crossed. Knows no sockets; a seed reproduces what it does to the same datagrams.
package struct LineRelay {
  package typealias Direction = LineDirection

  /// Whose datagram it is, and whom it is for: places in the tables of whoever owns the relay.
  package struct Route: Equatable, Sendable, BitwiseCopyable {
    package var client: Int
    package var portal: Int

    package init(client: Int, portal: Int) {
      self.client = client
      self.portal = portal
    }
  }

  /// A datagram that has crossed; its bytes are in the `buffer` given to `pop`.
  package struct Delivery: Equatable, Sendable {
    package var direction: Direction
    package var route: Route
    package var ecn: UInt8
    /// When it should come out, which is no later than when it does.
    package var due: Instant
  }

  /// Datagrams on the line at most: a second of a gigabit. More are dropped and counted.
  package static let maxWaiting = 100_000

  package private(set) var up: SimulatedLink
  package private(set) var down: SimulatedLink
  package private(set) var overflowCount = 0
  private var queue = EventQueue<Int>()
  private var flights: [Delivery] = []
  private var buffers: [[UInt8]] = []
  private var free: [Int] = []

  package init(up: LinkConditions, down: LinkConditions, seed: UInt64) {
    var random = RandomSource(seed: seed)
    self.up = SimulatedLink(up, random: random.split())
    self.down = SimulatedLink(down, random: random.split())
  }

  // MARK: - Inputs

  /// Takes a datagram in at `now`; gives what becomes of it.
  ///
  /// - Parameter isWhole: Whether the bytes are an IP packet, not the payload of a UDP datagram.
  @discardableResult
  package mutating func take(
    _ bytes: Span<UInt8>, _ direction: Direction, _ route: Route, ecn: UInt8,
    isWhole: Bool = false, now: Instant
  ) -> SimulatedLink.Passage {
    let isECNCapable = ecn & 3 != 0
    let byteCount = Self.payload(bytes.count, isWhole: isWhole)
    let passage =
      switch direction {
      case .up: up.carry(byteCount: byteCount, at: now, isECNCapable: isECNCapable)
      case .down: down.carry(byteCount: byteCount, at: now, isECNCapable: isECNCapable)
      }
    guard passage.fate == .arrives else { return passage }
    var delivery = Delivery(
      direction: direction, route: route, ecn: passage.isMarked ? 3 : ecn & 3,
      due: passage.arrival)
    launch(delivery, bytes, corruption: passage.corruption)
    if let second = passage.duplicate {
      delivery.due = second
      launch(delivery, bytes, corruption: 0)
    }
    return passage
  }

  /// The bytes for which a link counts, which adds its headers itself.
  package static func payload(_ byteCount: Int, isWhole: Bool) -> Int {
    isWhole ? max(0, byteCount - SimulatedLink.headerByteCount) : byteCount
  }

  /// Changes what the line is like from now on.
  package mutating func change(_ direction: Direction, _ change: (inout LinkConditions) -> Void) {
    switch direction {
    case .up: change(&up.conditions)
    case .down: change(&down.conditions)
    }
  }

  // MARK: - Outputs

  package var nextTime: Instant? { queue.nextTime }

  /// The next datagram that has crossed at `now`; its bytes replace what `buffer` held.
  package mutating func pop(at now: Instant, into buffer: inout [UInt8]) -> Delivery? {
    guard let slot = queue.pop(at: now) else { return nil }
    swap(&buffer, &buffers[slot])
    free.append(slot)
    return flights[slot]
  }

  private mutating func launch(_ delivery: Delivery, _ bytes: Span<UInt8>, corruption: UInt64) {
    let slot: Int
    if let place = free.popLast() {
      slot = place
      flights[slot] = delivery
    } else {
      guard flights.count < Self.maxWaiting else {
        overflowCount += 1
        return
      }
      slot = flights.count
      flights.append(delivery)
      buffers.append([])
    }
    buffers[slot].removeAll(keepingCapacity: true)
    buffers[slot].append(addingCapacity: bytes.count) { $0.append(span: bytes) }
    if corruption != 0 { SimulatedLink.flipBits(of: &buffers[slot], corruption) }
    queue.push(slot, at: delivery.due)
  }
}
