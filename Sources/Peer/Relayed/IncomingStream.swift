import Primitives
import Wire

/// The messages of one stream of one host, those in order or the others: put together of their
/// parts, and told of in their order, or as they come.
///
/// Each hop is reliable, but keeps no order. What has not come after a while is skipped, and told
/// as missed: the relay may have dropped it.
struct IncomingStream {
  let stream: UInt8
  let isOrdered: Bool
  /// All before it have been told of or skipped.
  private var next: UInt32
  /// Nothing was told of yet in its turn: what is missing may be from before this member came.
  private var isNew = true
  private var held = PartialMessages()
  /// Those after `next` that have been told of as they came.
  private var told: Set<UInt32> = []
  /// Until then `next` is waited for.
  private(set) var patience: Instant?

  /// - Parameter part: The first that has come.
  init(_ part: DataPart) {
    stream = part.stream
    isOrdered = part.isOrdered
    // One of the first eight may have been overtaken; who joins later has none of those before.
    let overtaken: UInt32 = isOrdered ? 0 : Self.overtaken
    next = part.number <= Self.overtaken ? 1 : part.number - overtaken
  }

  // MARK: - Inputs

  /// Takes a part of this stream.
  ///
  /// - Returns: What is to be told of now.
  mutating func handle(_ part: DataPart, now: Instant) -> [MessageNews] {
    guard part.number >= next, !told.contains(part.number) else { return [] }
    held.add(part)
    // Something of it has come, so the rest may.
    if part.number == next { patience = nil }
    var news: [MessageNews] = []
    if !isOrdered, let bytes = held.takeWhole(part.number) {
      told.insert(part.number)
      news.append(.message(stream: stream, bytes))
    }
    news += takeInOrder()
    while !held.isWithinLimits || told.count > PartialMessages.most { news += skip() }
    settle(now: now)
    return news
  }

  /// - Returns: What need not wait any longer.
  mutating func handleTimeout(now: Instant) -> [MessageNews] {
    guard let patience, patience <= now else { return [] }
    let news = skip()
    settle(now: now)
    return news
  }

  /// The next one is not waited for any longer, because others need the room.
  mutating func skip(now: Instant) -> [MessageNews] {
    defer { settle(now: now) }
    return skip()
  }

  private mutating func skip() -> [MessageNews] {
    patience = nil
    guard let least = [held.least, told.min()].compactMap({ $0 }).min() else { return [] }
    var missed = 1
    if least == next {
      held.remove(next)
      next &+= 1
    } else {
      missed = Int(least &- next)
      next = least
    }
    let wasNew = isNew
    let following = takeInOrder()
    guard !wasNew else { return following }
    return [.missed(stream: stream, missed: missed, cached: following.count)] + following
  }

  /// No more of it will come.
  mutating func finish() -> [MessageNews] {
    var news: [MessageNews] = []
    while !isIdle { news += skip() }
    return news
  }

  // MARK: - Getters

  /// What it holds, against the limits of its host.
  var size: (messages: Int, bytes: Int) { (held.count + told.count, held.byteCount) }

  // MARK: - Parts

  private var isIdle: Bool { held.isEmpty && told.isEmpty }

  private mutating func takeInOrder() -> [MessageNews] {
    var news: [MessageNews] = []
    while true {
      if isOrdered, let bytes = held.takeWhole(next) {
        news.append(.message(stream: stream, bytes))
      } else if told.remove(next) == nil {
        return news
      }
      next &+= 1
      isNew = false
    }
  }

  private mutating func settle(now: Instant) {
    if isIdle {
      patience = nil
    } else if patience == nil {
      patience = now + (isNew ? Self.firstPatience : Self.patience)
    }
  }

  /// Messages that a later one may have overtaken.
  private static let overtaken: UInt32 = 8
  /// As long as a hop tries. With 2 s some were skipped in 3 of 20 runs where each hop loses 30 %
  /// both ways.
  private static let patience = Duration.seconds(8)
  /// Before the first one of a sender: who has just joined misses none of those before.
  private static let firstPatience = Duration.seconds(2)
}
