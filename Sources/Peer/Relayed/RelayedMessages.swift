import Primitives
import Wire

/// Messages to and from all members of a channel by way of a relay: numbers and pace of the own
/// ones, the order of others'. Each hop is reliable, but keeps no order; what has not come after a
/// while is skipped.
struct RelayedMessages {
  /// Of one sender.
  private struct Sender {
    let uid: UInt32
    var epoch: UInt64
    /// The next one to be told of.
    var next: UInt32
    /// Those that came before it, by their numbers.
    var held: [UInt32: [UInt8]] = [:]
    /// Until then the next one is waited for.
    var patience: Instant?
    /// None was told of yet.
    var isNew = true
  }

  private let epoch: UInt64
  private var number: UInt32 = 0
  private var tokens: Double = RelayedMessages.burst
  private var lastSent: Instant?
  private var senders: [Sender] = []

  /// - Parameter epoch: When the seat began, in ms since 1970 UTC.
  init(epoch: UInt64) { self.epoch = epoch }

  /// The next own message, numbered; `nil` where it would be one too many.
  mutating func makeMessage(_ bytes: [UInt8], now: Instant) -> DataMessage? {
    let passed = lastSent.map { now - $0 } ?? .zero
    tokens = min(Self.burst, tokens + Double(passed.milliseconds) / 1000 * Self.perSecond)
    lastSent = now
    guard tokens >= 1 else { return nil }
    tokens -= 1
    number += 1
    return DataMessage(epoch: epoch, number: number, bytes: bytes)
  }

  /// Takes a message that has opened.
  ///
  /// - Returns: Those that are to be told of now, in their order.
  mutating func handle(_ message: DataMessage, of uid: UInt32, now: Instant) -> [[UInt8]] {
    guard let index = senders.firstIndex(where: { $0.uid == uid }) else {
      senders.append(Self.sender(uid, message))
      return hold(message, senders.count - 1, now: now)
    }
    guard message.epoch >= senders[index].epoch else { return [] }
    if message.epoch > senders[index].epoch {
      // The sender has another seat: what is missing of the one before does not come any more.
      let rest = skip(index, all: true, now: now)
      senders[index] = Self.sender(uid, message)
      return rest + hold(message, index, now: now)
    }
    return hold(message, index, now: now)
  }

  /// The first message of a seat that is heard of. One of the first eight may have been overtaken
  /// by it; who joins later has none of those before.
  private static func sender(_ uid: UInt32, _ message: DataMessage) -> Sender {
    Sender(uid: uid, epoch: message.epoch, next: message.number <= 8 ? 1 : message.number)
  }

  private mutating func hold(_ message: DataMessage, _ index: Int, now: Instant) -> [[UInt8]] {
    guard message.number >= senders[index].next,
      senders[index].held.updateValue(message.bytes, forKey: message.number) == nil
    else { return [] }
    var told = takeInOrder(index)
    // Another one is missing now.
    if !told.isEmpty { senders[index].patience = nil }
    while senders[index].held.count > Self.mostHeld {
      told += skip(index, all: false, now: now)
    }
    settle(index, now: now)
    return told
  }

  /// - Returns: Those that need not wait any longer, with whose they are.
  mutating func handleTimeout(now: Instant) -> [(uid: UInt32, bytes: [UInt8])] {
    var told: [(uid: UInt32, bytes: [UInt8])] = []
    for index in senders.indices {
      guard let patience = senders[index].patience, patience <= now else { continue }
      let uid = senders[index].uid
      told += skip(index, all: false, now: now).map { (uid, $0) }
      settle(index, now: now)
    }
    return told
  }

  mutating func remove(_ uid: UInt32) { senders.removeAll { $0.uid == uid } }

  var nextDeadline: Instant? { senders.lazy.compactMap(\.patience).min() }

  private mutating func takeInOrder(_ index: Int) -> [[UInt8]] {
    var told: [[UInt8]] = []
    while let bytes = senders[index].held.removeValue(forKey: senders[index].next) {
      senders[index].next &+= 1
      senders[index].isNew = false
      told.append(bytes)
    }
    return told
  }

  /// What is missing before the next one that is held is not waited for any longer; or before any.
  private mutating func skip(_ index: Int, all: Bool, now: Instant) -> [[UInt8]] {
    var told: [[UInt8]] = []
    while let least = senders[index].held.keys.min() {
      senders[index].next = least
      told += takeInOrder(index)
      if !all { break }
    }
    senders[index].patience = nil
    return told
  }

  private mutating func settle(_ index: Int, now: Instant) {
    if senders[index].held.isEmpty {
      senders[index].patience = nil
    } else if senders[index].patience == nil {
      senders[index].patience = now + (senders[index].isNew ? Self.firstPatience : Self.patience)
    }
  }

  /// As data streams of other services have it.
  private static let perSecond = 30.0
  private static let burst = 30.0
  /// As long as a hop tries. With 2 s some were skipped in 3 of 20 runs where each hop loses 30 %
  /// both ways.
  private static let patience = Duration.seconds(8)
  /// Before the first one of a sender: who has just joined misses none of those before.
  private static let firstPatience = Duration.seconds(2)
  /// What a sender has in that time.
  private static let mostHeld = Int(burst + perSecond * 8)
}
