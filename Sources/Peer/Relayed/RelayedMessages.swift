import Primitives
import Wire

/// Messages to and from all members of a channel by way of a relay.
struct RelayedMessages {
  private var outgoing: OutgoingParts
  private var senders: [IncomingMessages] = []

  /// - Parameter epoch: When the seat began, in ms since 1970 UTC.
  init(epoch: UInt64) { outgoing = OutgoingParts(epoch: epoch) }

  /// Takes an own message.
  ///
  /// - Returns: whether there was room for it.
  mutating func append(_ bytes: [UInt8], isOrdered: Bool = true) -> Bool {
    outgoing.append(bytes, isOrdered: isOrdered)
  }

  /// The next part of the own ones, once it may leave.
  mutating func poll(_ room: OutgoingParts.Room, now: Instant) -> DataPart? {
    outgoing.poll(room, now: now)
  }

  /// Takes a part that has opened.
  ///
  /// - Returns: Messages that are to be told of now.
  mutating func handle(_ part: DataPart, of uid: UInt32, now: Instant) -> [[UInt8]] {
    let known = senders.firstIndex { $0.uid == uid }
    if known == nil { senders.append(IncomingMessages(uid: uid, epoch: part.epoch)) }
    return senders[known ?? senders.count - 1].handle(part, now: now)
  }

  /// - Returns: Those that need not wait any longer, with whose they are.
  mutating func handleTimeout(now: Instant) -> [(uid: UInt32, bytes: [UInt8])] {
    var told: [(uid: UInt32, bytes: [UInt8])] = []
    for index in senders.indices {
      let uid = senders[index].uid
      told += senders[index].handleTimeout(now: now).map { (uid, $0) }
    }
    return told
  }

  mutating func remove(_ uid: UInt32) { senders.removeAll { $0.uid == uid } }

  var nextDeadline: Instant? {
    earliest(senders.lazy.compactMap(\.patience).min(), outgoing.nextDeadline)
  }
}
