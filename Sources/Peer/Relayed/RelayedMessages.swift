import Messaging
import Primitives
import Wire

/// Messages to and from all members of a channel by way of a relay.
struct RelayedMessages {
  private var outgoing: OutgoingParts
  private var receipts = MessageReceipts()
  private var senders: [IncomingMessages] = []

  /// - Parameter epoch: When the seat began, in ms since 1970 UTC.
  init(epoch: UInt64) { outgoing = OutgoingParts(epoch: epoch) }

  // MARK: - Own ones

  /// Whether a message of that stream may be sent: only so many streams are.
  func mayUse(_ stream: UInt8) -> Bool { outgoing.mayUse(stream) }

  /// Takes an own message.
  ///
  /// - Parameter tag: What results name it by.
  /// - Returns: whether there was room for it.
  mutating func append(
    _ bytes: [UInt8], stream: UInt8 = 8, isOrdered: Bool = true, tag: UInt64 = 0
  ) -> Bool {
    guard outgoing.append(bytes, stream: stream, isOrdered: isOrdered, tag: tag) else {
      return false
    }
    receipts.begin(tag)
    return true
  }

  /// The next part of the own ones, once it may leave.
  mutating func poll(_ room: OutgoingParts.Room, now: Instant) -> OutgoingParts.Departure? {
    outgoing.poll(room, now: now)
  }

  /// There is no session to send by at present.
  mutating func hold(now: Instant) { outgoing.hold(now: now) }

  /// That part has left.
  ///
  /// - Parameter tag: Its own in the session; `nil` = it could not leave.
  mutating func handleDeparture(
    _ departure: OutgoingParts.Departure, as tag: MessageTag?
  ) -> MessageReceipts.Result? {
    receipts.handleDeparture(of: departure.tag, as: tag, isLast: departure.isLast)
  }

  mutating func handleEnd(of part: MessageTag, isDelivered: Bool) -> MessageReceipts.Result? {
    receipts.handleEnd(of: part, isDelivered: isDelivered)
  }

  mutating func handleSessionEnd() -> [MessageReceipts.Result] { receipts.handleSessionEnd() }

  /// Own messages of which it is not known what has become.
  var openTags: [UInt64] { receipts.openTags }

  // MARK: - Those of others

  /// Takes a part that has opened.
  ///
  /// - Returns: What is to be told of now.
  mutating func handle(_ part: DataPart, of uid: UInt32, now: Instant) -> [MessageNews] {
    let known = senders.firstIndex { $0.uid == uid }
    if known == nil { senders.append(IncomingMessages(uid: uid, epoch: part.epoch)) }
    return senders[known ?? senders.count - 1].handle(part, now: now)
  }

  /// - Returns: What need not wait any longer, with whose it is.
  mutating func handleTimeout(now: Instant) -> [(uid: UInt32, news: MessageNews)] {
    var told: [(uid: UInt32, news: MessageNews)] = []
    for index in senders.indices {
      let uid = senders[index].uid
      told += senders[index].handleTimeout(now: now).map { (uid, $0) }
    }
    return told
  }

  /// A member is gone.
  ///
  /// - Returns: What has waited for messages of it that do not come any more.
  mutating func remove(_ uid: UInt32) -> [MessageNews] {
    guard let index = senders.firstIndex(where: { $0.uid == uid }) else { return [] }
    var sender = senders.remove(at: index)
    return sender.finish()
  }

  var nextDeadline: Instant? {
    earliest(senders.lazy.compactMap(\.patience).min(), outgoing.nextDeadline)
  }
}
