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

/// What the other nodes have not been told of programs here, because too many commands waited for
/// Redis: said again when there is room (docs/protocol/cluster.md §3).
struct LateWords {
  private enum Word {
    /// A program has gone; `isExpected` = its client was told to register anew.
    case withdrawal(PresenceRecord, isExpected: Bool)
    /// A program is there, or others may know of it than before.
    case program(StoreWork.Client)
  }

  private var words = BoundedQueue<Word>(limit: limit)
  /// When the next attempt is; `nil` where nobody waits for one.
  private(set) var due: Instant?

  /// Tells other nodes of a program, where there are any.
  static func announce(_ slot: UInt32, in machine: inout RendezvousMachine) {
    let client = StoreWork.Client(slot: slot, connection: machine.registry[slot].local)
    say(.program(client), in: &machine)
  }

  /// Tells other nodes that a program has gone, where there are any.
  static func withdraw(
    _ slot: UInt32, _ departure: ServerEvent.Departure, in machine: inout RendezvousMachine
  ) {
    let record = machine.record(of: slot)
    say(.withdrawal(record, isExpected: departure == .promiseBroken), in: &machine)
  }

  /// Says some of it, in its order.
  static func repeatSome(in machine: inout RendezvousMachine, now: Instant) {
    guard let due = machine.storeWork.late.due, due <= now else { return }
    for _ in 0..<repetitionCount {
      guard let word = machine.storeWork.late.words.first, isSaid(word, by: machine) else { break }
      _ = machine.storeWork.late.words.popFirst()
    }
    machine.storeWork.late.due = machine.storeWork.late.words.isEmpty ? nil : now + pace
  }

  private static func say(_ word: Word, in machine: inout RendezvousMachine) {
    guard !isSaid(word, by: machine) else { return }
    if machine.storeWork.late.words.append(word) {
      machine.storeWork.late.due = machine.storeWork.late.due ?? .zero
    } else {
      // By a new connection all is announced anew, and what was not withdrawn is gone.
      machine.storeWork.late = LateWords()
      machine.store.shared?.handleConnection()
    }
  }

  /// Whether it is on its way, or need not be said: a new connection begins with all programs.
  private static func isSaid(_ word: Word, by machine: borrowing RendezvousMachine) -> Bool {
    guard let shared = machine.store.shared, shared.isConnected else { return true }
    switch word {
    case .withdrawal(let record, let isExpected):
      return shared.withdraw(record, isExpected: isExpected)
    case .program(let client):
      return !client.isThere(in: machine.registry) || machine.announce(client.slot)
    }
  }

  /// 5 MB; a stall of Redis of more than 2 s ends the connection anyway.
  private static let limit = 65_536
  /// As many as programs are announced at a time (`StoreWork`).
  private static let repetitionCount = 256
  private static let pace = Duration.milliseconds(10)
}
