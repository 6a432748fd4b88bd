package import Primitives
package import Wire

/// Messages of one host to a channel: put together of their parts, and told of in their order, or
/// as they come.
///
/// Each hop is reliable, but keeps no order. What has not come after a while is skipped: the relay
/// may have dropped it.
package struct IncomingMessages {
  package let uid: UInt32
  private var epoch: UInt64
  /// The next one in order to be told of; `nil` before the first.
  private var next: UInt32?
  private var isNew = true
  private var held = PartialMessages()
  private var unordered = PartialMessages()
  /// Until then the next one is waited for.
  package private(set) var patience: Instant?

  package init(uid: UInt32, epoch: UInt64) {
    self.uid = uid
    self.epoch = epoch
  }

  /// Takes a part that has opened.
  ///
  /// - Returns: What is to be told of now.
  package mutating func handle(_ part: DataPart, now: Instant) -> [[UInt8]] {
    guard part.epoch >= epoch else { return [] }
    guard part.epoch > epoch else { return handlePart(part, now: now) }
    // The sender has another seat: what is missing of the one before does not come any more.
    var told: [[UInt8]] = []
    while !held.isEmpty { told += skip() }
    self = IncomingMessages(uid: uid, epoch: part.epoch)
    return told + handlePart(part, now: now)
  }

  /// - Returns: What need not wait any longer.
  package mutating func handleTimeout(now: Instant) -> [[UInt8]] {
    guard let patience, patience <= now else { return [] }
    let told = skip()
    settle(now: now)
    return told
  }

  private mutating func handlePart(_ part: DataPart, now: Instant) -> [[UInt8]] {
    guard part.isOrdered else {
      unordered.add(part)
      while !unordered.isWithinLimits, let least = unordered.least { unordered.remove(least) }
      return unordered.takeWhole(part.number).map { [$0] } ?? []
    }
    // One of the first eight may have been overtaken; who joins later has none of those before.
    let expected = next ?? (part.number <= 8 ? 1 : part.number)
    next = expected
    guard part.number >= expected else { return [] }
    held.add(part)
    // Something of it has come, so the rest may.
    if part.number == expected { patience = nil }
    var told = takeInOrder()
    while !held.isWithinLimits { told += skip() }
    settle(now: now)
    return told
  }

  private mutating func takeInOrder() -> [[UInt8]] {
    var told: [[UInt8]] = []
    while let number = next, let bytes = held.takeWhole(number) {
      next = number &+ 1
      isNew = false
      told.append(bytes)
    }
    return told
  }

  /// The next one is not waited for any longer.
  private mutating func skip() -> [[UInt8]] {
    patience = nil
    guard let number = next, let least = held.least else { return [] }
    if least == number {
      held.remove(number)
      next = number &+ 1
    } else {
      next = least
    }
    return takeInOrder()
  }

  private mutating func settle(now: Instant) {
    if held.isEmpty {
      patience = nil
    } else if patience == nil {
      patience = now + (isNew ? Self.firstPatience : Self.patience)
    }
  }

  /// As long as a hop tries. With 2 s some were skipped in 3 of 20 runs where each hop loses 30 %
  /// both ways.
  private static let patience = Duration.seconds(8)
  /// Before the first one of a sender: who has just joined misses none of those before.
  private static let firstPatience = Duration.seconds(2)
}
