import Primitives
import Wire

/// A FORWARD that was handed to other nodes, until they have said what became of it
/// (docs/protocol/cluster.md §4).
struct AwaitedDelivery {
  private let route: ForwardRoute
  /// Nodes that have not said it yet.
  private var nodes: [UInt64]
  /// Programs that it was passed on to.
  private var count: Int

  init(route: ForwardRoute, nodes: [UInt64], count: Int) {
    self.route = route
    self.nodes = nodes
    self.count = count
  }

  var isComplete: Bool { nodes.isEmpty }

  mutating func noteAnswer(_ taken: BodyTaken) {
    guard let index = nodes.firstIndex(of: taken.node) else { return }
    nodes.remove(at: index)
    count += Int(taken.count)
  }

  /// Tells the sender.
  func conclude(in machine: inout RendezvousMachine, now: Instant) {
    guard route.sender.isThere(in: machine.registry) else { return }
    let status: ForwardResult.Status = count > 0 ? .forwarded : .unavailable
    machine.conclude(route, status, UInt8(clamping: count), now: now)
  }
}

/// Those that are under way, and the bodies of other nodes that came lately.
struct AwaitedDeliveries {
  private var open: [UInt64: AwaitedDelivery] = [:]
  /// In the order of their ends.
  private var order = BoundedQueue<(number: UInt64, due: Instant)>(limit: orderLimit)
  private var known = RecentNumbers()

  var hasRoom: Bool { open.count < Self.limit && order.count < Self.orderLimit }

  var nextDeadline: Instant? { order.first?.due }

  mutating func insert(_ delivery: AwaitedDelivery, _ number: UInt64, now: Instant) {
    if order.append((number, now + Self.patience)) { open[number] = delivery }
  }

  /// What another node says; the delivery, when that was the last.
  mutating func noteAnswer(_ taken: BodyTaken) -> AwaitedDelivery? {
    open[taken.number]?.noteAnswer(taken)
    guard open[taken.number]?.isComplete ?? false else { return nil }
    return open.removeValue(forKey: taken.number)
  }

  /// One that is waited for no longer.
  mutating func popDue(now: Instant) -> AwaitedDelivery? {
    while let first = order.first, first.due <= now || open[first.number] == nil {
      _ = order.popFirst()
      if let delivery = open.removeValue(forKey: first.number) { return delivery }
    }
    return nil
  }

  /// Whether a body comes for the first time: what Redis says again is not passed on again.
  mutating func isNew(_ number: UInt64) -> Bool { known.insert(number) }

  /// As many as requests that wait for Redis.
  private static let limit = 4096
  /// Those that are answered stand in the order until the one before them is over.
  private static let orderLimit = 65_536
  /// As long as a request waits for Redis.
  private static let patience = Duration.milliseconds(800)
}

/// Numbers of messages that came lately.
struct RecentNumbers {
  private var known: Set<UInt64> = []
  private var order = BoundedQueue<UInt64>(limit: limit)

  /// Whether it comes for the first time.
  mutating func insert(_ number: UInt64) -> Bool {
    guard known.insert(number).inserted else { return false }
    while !order.append(number) {
      if let oldest = order.popFirst() { known.remove(oldest) }
    }
    return true
  }

  /// 16 bytes each: some seconds' worth at the highest rate.
  private static let limit = 65_536
}
