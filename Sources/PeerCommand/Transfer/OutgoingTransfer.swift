internal import Primitives
package import Reactor
package import Wire

/// One content as its sender sees it: what to say, and how much of it has arrived.
package final class OutgoingTransfer {
  package let offer: TransferOffer
  /// Bytes that the receiver has, as far as is known.
  package private(set) var delivered: UInt64 = 0
  /// Where the receiver was when it last said so.
  package private(set) var offset: UInt64 = 0
  package private(set) var result: TransferResult?

  private let read: (UInt64, Int) throws(ReactorError) -> [UInt8]
  /// What is read next; `nil` before the receiver wants anything.
  private var place: UInt64?
  /// Content in each message under way, by its tag.
  private var underWay: [UInt64: Int] = [:]

  private init(
    _ offer: TransferOffer, read: @escaping (UInt64, Int) throws(ReactorError) -> [UInt8]
  ) {
    (self.offer, self.read) = (offer, read)
  }

  /// A text.
  package convenience init(text: String) {
    let bytes = Array(text.utf8)
    let hash = ContentHash()
    hash.update(bytes)
    let offer = TransferOffer(
      .text, byteCount: UInt64(bytes.count), hash: hash.finish(), name: "")
    self.init(offer) { place, count in
      Array(bytes.dropFirst(Int(clamping: place)).prefix(count))
    }
  }

  /// A file, which is read twice: now for its hash, and then as it is sent.
  package convenience init(_ file: SourceFile, name: String) throws(ReactorError) {
    let hash = ContentHash()
    let byteCount = try hash.update { place throws(ReactorError) in
      try file.read(at: place, atMost: ContentHash.blockByteCount)
    }
    let offer = TransferOffer(.file, byteCount: byteCount, hash: hash.finish(), name: name)
    self.init(offer) { place, count throws(ReactorError) in
      try file.read(at: place, atMost: count)
    }
  }

  /// What of the receiver is waited for, once the offer is made.
  package enum Awaited: Hashable, Sendable {
    /// GO, or a no.
    case answer
    /// RESULT: it has everything.
    case result
  }

  /// `nil` while it is the sender's turn, and when all is said.
  package var awaited: Awaited? {
    guard result == nil else { return nil }
    guard place != nil else { return .answer }
    return delivered == offer.byteCount ? .result : nil
  }

  /// How long that may take. Before it answers an offer, the receiver may have to read what an
  /// earlier attempt left, from a slow disk.
  package func patience(for awaited: Awaited) -> Duration {
    switch awaited {
    case .result: Self.leastPatience
    case .answer:
      Self.leastPatience + .seconds(Int64(clamping: offer.byteCount / Self.slowDisk))
    }
  }

  private static let leastPatience = Duration.seconds(60)
  /// Bytes a second, of a memory card. Our choice.
  private static let slowDisk: UInt64 = 10_000_000

  /// A new call: the offer is made anew.
  package func begin() -> [UInt8] {
    place = nil
    underWay = [:]
    return TransferMessage.offer(offer).bytes
  }

  /// Takes a message of the receiver; `false` where it is not one that it may send now.
  package func handle(_ bytes: [UInt8]) -> Bool {
    do throws(WireError) {
      switch try TransferMessage(parsing: bytes.span) {
      case .go(let offset) where place == nil && offset <= offer.byteCount:
        place = offset
        self.offset = offset
        delivered = offset
        return true
      case .result(let result):
        self.result = result
        if result == .stored { delivered = offer.byteCount }
        return true
      case .go, .offer, .data: return false
      }
    } catch {
      return false
    }
  }

  /// The next message to send; `nil` when there is none now. `didSend` says that it went.
  package func nextMessage() throws(ReactorError) -> [UInt8]? {
    guard let place, place < offer.byteCount, result == nil else { return nil }
    let left = Int(clamping: offer.byteCount - place)
    let content = try read(place, min(left, TransferMessage.contentByteCount))
    // A file that became shorter: what was offered is not there any more.
    guard !content.isEmpty else {
      throw ReactorError("read", offer.name, reason: "it is shorter now")
    }
    return TransferMessage.data(content).bytes
  }

  package func didSend(_ message: [UInt8], tag: UInt64) {
    underWay[tag] = message.count - 1
    place = place.map { $0 + UInt64(message.count - 1) }
  }

  /// What became of a message; whether it is one of these.
  package func handleDelivery(tag: UInt64, isDelivered: Bool) -> Bool {
    guard let count = underWay.removeValue(forKey: tag) else { return false }
    if isDelivered { delivered = min(delivered + UInt64(count), offer.byteCount) }
    return true
  }
}
