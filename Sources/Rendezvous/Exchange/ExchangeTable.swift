import Messaging
import Primitives
import Wire

/// The exchanges under way, and which of them has something to do next.
///
/// Places are used again; alarms lie on a wheel of 1024 slots of 4 ms, so that setting, moving and
/// finding them does not depend on how many there are.
struct ExchangeTable {
  private var places: [Exchange] = []
  private var free: [UInt32] = []
  private(set) var count = 0
  private let limit: Int
  /// Bytes of half-received messages.
  private(set) var reassemblyByteCount = 0
  private var wheel = AlarmWheel()

  init(limit: Int) { self.limit = limit }

  var isFull: Bool { count >= limit }

  /// A new exchange; `nil` at the limit.
  mutating func insert(_ exchange: Exchange) -> UInt32? {
    guard !isFull else { return nil }
    count += 1
    if let index = free.popLast() {
      places[Int(index)] = exchange
      return index
    }
    places.append(exchange)
    return UInt32(places.count - 1)
  }

  mutating func remove(_ index: UInt32) {
    reassemblyByteCount -= places[Int(index)].channel.reassemblyByteCount
    places[Int(index)] = Exchange(slot: Exchange.noSlot)
    free.append(index)
    count -= 1
  }

  subscript(index: UInt32) -> Exchange { _read { yield places[Int(index)] } }

  /// Runs `body` on an exchange, in place.
  @inline(__always)
  mutating func with<Result, Failure: Error>(
    _ index: UInt32, _ body: (inout Exchange) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(&places[Int(index)])
  }

  /// Hands a fragment to an exchange, and keeps the count of half-received bytes.
  mutating func handle(
    _ frame: MessageFrame, _ bytes: Span<UInt8>, of index: UInt32, now: Instant
  ) throws(MessageFault) {
    let before = places[Int(index)].channel.reassemblyByteCount
    defer { reassemblyByteCount += places[Int(index)].channel.reassemblyByteCount - before }
    try places[Int(index)].channel.handle(frame, bytes: bytes, now: now)
  }

  mutating func poll(_ index: UInt32) -> MessageEvent? {
    places[Int(index)].hasChannel ? places[Int(index)].channel.poll() : nil
  }

  /// Puts the exchange's next deadline on the wheel, if it is sooner than what is there.
  mutating func setAlarm(_ index: UInt32) {
    let tick = with(index) { exchange -> UInt64? in
      guard let deadline = exchange.nextDeadline else { return nil }
      let tick = AlarmWheel.tick(atOrAfter: deadline)
      if let alarm = exchange.alarm, alarm <= tick { return nil }
      exchange.alarm = tick
      return tick
    }
    if let tick { wheel.add(index, at: tick) }
  }

  var nextDeadline: Instant? { wheel.nextDeadline }

  /// An exchange whose alarm has come; call until `nil`. It may turn out to have nothing to do.
  mutating func popDue(now: Instant) -> UInt32? {
    while let (index, tick) = wheel.popDue(now: now) {
      // An alarm that was moved to an earlier moment leaves its old entry behind.
      guard Int(index) < places.count, places[Int(index)].alarm == tick else { continue }
      places[Int(index)].alarm = nil
      return index
    }
    return nil
  }
}

/// Alarms in slots of 4 ms, 4 s around; those further away come round again.
struct AlarmWheel {
  private static let slotCount = 1024
  static let nanosecondsPerTick: UInt64 = 4_000_000

  private struct Entry {
    var index: UInt32
    var tick: UInt64
  }

  private var slots = [[Entry]](repeating: [], count: slotCount)
  /// Bit i of word w: slot 64 w + i is not empty.
  private var occupied = [UInt64](repeating: 0, count: slotCount / 64)
  /// Every slot before it has been emptied; `nil` while the wheel is empty.
  private var position: UInt64?
  private var count = 0

  /// The first tick at which `deadline` has come.
  static func tick(atOrAfter deadline: Instant) -> UInt64 {
    let ticks = deadline.nanoseconds / nanosecondsPerTick
    return deadline.nanoseconds % nanosecondsPerTick == 0 ? ticks : ticks + 1
  }

  mutating func add(_ index: UInt32, at tick: UInt64) {
    let slot = Int(tick % UInt64(Self.slotCount))
    slots[slot].append(Entry(index: index, tick: tick))
    occupied[slot / 64] |= 1 << UInt64(slot % 64)
    position = min(position ?? tick, tick)
    count += 1
  }

  /// Not later than the earliest alarm; one that lies a turn or more ahead wakes for nothing once
  /// a turn.
  var nextDeadline: Instant? {
    guard count > 0, let position else { return nil }
    var step: UInt64 = 0
    while step < UInt64(Self.slotCount) {
      let slot = Int((position &+ step) % UInt64(Self.slotCount))
      let word = occupied[slot / 64] >> UInt64(slot % 64)
      if word == 0 {
        step += UInt64(64 - slot % 64)
        continue
      }
      let tick = position &+ step &+ UInt64(word.trailingZeroBitCount)
      return Instant(nanoseconds: tick &* Self.nanosecondsPerTick)
    }
    return nil
  }

  /// One alarm whose tick has come.
  mutating func popDue(now: Instant) -> (index: UInt32, tick: UInt64)? {
    let current = now.nanoseconds / Self.nanosecondsPerTick
    while count > 0, let next = nextDeadline, next <= now {
      let tick = next.nanoseconds / Self.nanosecondsPerTick
      position = tick
      let slot = Int(tick % UInt64(Self.slotCount))
      if let found = slots[slot].lastIndex(where: { $0.tick <= current }) {
        let entry = slots[slot].remove(at: found)
        count -= 1
        if slots[slot].isEmpty { occupied[slot / 64] &= ~(1 << UInt64(slot % 64)) }
        return (entry.index, entry.tick)
      }
      // What is left in this slot belongs to a later turn.
      position = tick + 1
    }
    if count == 0 { position = nil }
    return nil
  }
}
