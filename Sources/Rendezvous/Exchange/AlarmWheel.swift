import Primitives

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
