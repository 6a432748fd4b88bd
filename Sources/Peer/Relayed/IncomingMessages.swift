package import Primitives
package import Wire

/// Messages of one host to a channel, each stream by itself.
package struct IncomingMessages {
  package let uid: UInt32
  private var epoch: UInt64
  private var streams: [IncomingStream] = []

  package init(uid: UInt32, epoch: UInt64) {
    self.uid = uid
    self.epoch = epoch
  }

  /// Takes a part that has opened. One of a stream too many is left out.
  ///
  /// - Returns: What is to be told of now.
  package mutating func handle(_ part: DataPart, now: Instant) -> [MessageNews] {
    guard part.epoch >= epoch else { return [] }
    var news: [MessageNews] = []
    if part.epoch > epoch {
      // The sender has another seat: what is missing of the one before does not come any more.
      news = finish()
      epoch = part.epoch
    }
    guard let place = place(of: part) else { return news }
    news += streams[place].handle(part, now: now)
    while !isWithinLimits, let fullest { news += streams[fullest].skip(now: now) }
    return news
  }

  /// - Returns: What need not wait any longer.
  package mutating func handleTimeout(now: Instant) -> [MessageNews] {
    var news: [MessageNews] = []
    for place in streams.indices { news += streams[place].handleTimeout(now: now) }
    return news
  }

  /// No more will come of this epoch.
  package mutating func finish() -> [MessageNews] {
    var news: [MessageNews] = []
    for place in streams.indices { news += streams[place].finish() }
    streams = []
    return news
  }

  /// Until then the next one of some stream is waited for.
  package var patience: Instant? { streams.lazy.compactMap(\.patience).min() }

  // MARK: - Parts

  private mutating func place(of part: DataPart) -> Int? {
    let known = streams.firstIndex {
      $0.stream == part.stream && $0.isOrdered == part.isOrdered
    }
    if let known { return known }
    guard Set(streams.map(\.stream)).union([part.stream]).count <= DataPart.mostStreams else {
      return nil
    }
    streams.append(IncomingStream(part))
    return streams.count - 1
  }

  private var isWithinLimits: Bool {
    let sizes = streams.map(\.size)
    return sizes.reduce(0) { $0 + $1.messages } <= 2 * PartialMessages.most
      && sizes.reduce(0) { $0 + $1.bytes } <= 2 * PartialMessages.mostBytes
  }

  private var fullest: Int? {
    streams.indices.max {
      let (one, other) = (streams[$0].size, streams[$1].size)
      return (one.bytes, one.messages) < (other.bytes, other.messages)
    }
  }
}
