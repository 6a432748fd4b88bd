import Primitives
import Wire

/// Own messages to a channel on their way to its relay, cut into parts that leave at a pace.
struct OutgoingParts {
  private struct Message {
    let tag: UInt64
    let number: UInt32
    let stream: UInt8
    let isOrdered: Bool
    let bytes: [UInt8]
    /// The part that leaves next.
    var place = 0

    var last: Int { (bytes.count - 1) / DataPart.byteCounts.upperBound }
  }

  /// A part that leaves now.
  struct Departure {
    /// Of its message, for whoever sent that.
    let tag: UInt64
    let part: DataPart

    var isLast: Bool { part.place == part.last }
  }

  /// What the pace goes by.
  struct Room {
    /// Who gets each part.
    var listeners: Int
    /// What the own line carries, in bit/s; `nil` while that is not known.
    var bitsPerSecond: Double? = nil
  }

  private let epoch: UInt64
  /// By the stream.
  private var lastNumbers: [UInt8: (ordered: UInt32, others: UInt32)] = [:]
  private var waiting: [Message] = []
  private var waitingByteCount = 0
  /// Parts and bytes that may leave at once, as of `counted`.
  private var parts = OutgoingParts.mostParts
  private var bytes = OutgoingParts.leastBytes
  private var rates = (parts: OutgoingParts.mostParts, bytes: OutgoingParts.mostBytes)
  private var counted = Instant.zero
  /// Until then nothing leaves: there is no session.
  private var heldUntil: Instant?

  /// - Parameter epoch: When the seat began, in ms since 1970 UTC.
  init(epoch: UInt64) { self.epoch = epoch }

  /// Whether the sender may use that stream: one of those that it has used, or one more.
  func mayUse(_ stream: UInt8) -> Bool {
    lastNumbers[stream] != nil || lastNumbers.count < DataPart.mostStreams
  }

  /// - Parameter tag: What `poll` names it by.
  /// - Returns: whether there was room for it.
  mutating func append(
    _ bytes: [UInt8], stream: UInt8 = 8, isOrdered: Bool, tag: UInt64 = 0
  ) -> Bool {
    guard waiting.count < Self.mostWaiting,
      waitingByteCount + bytes.count <= Self.mostWaitingBytes, mayUse(stream)
    else { return false }
    var last = lastNumbers[stream] ?? (0, 0)
    if isOrdered { last.ordered &+= 1 } else { last.others &+= 1 }
    lastNumbers[stream] = last
    waiting.append(
      Message(
        tag: tag, number: isOrdered ? last.ordered : last.others, stream: stream,
        isOrdered: isOrdered, bytes: bytes))
    waitingByteCount += bytes.count
    return true
  }

  /// The next part, once it may leave.
  mutating func poll(_ room: Room, now: Instant) -> Departure? {
    heldUntil = nil
    count(room, now: now)
    guard let message = waiting.first, parts >= 1, bytes > 0 else { return nil }
    let start = message.place * DataPart.byteCounts.upperBound
    let end = min(start + DataPart.byteCounts.upperBound, message.bytes.count)
    let part = DataPart(
      epoch: epoch, number: message.number, stream: message.stream,
      isOrdered: message.isOrdered, place: UInt8(clamping: message.place),
      last: UInt8(clamping: message.last), bytes: Array(message.bytes[start..<end]))
    parts -= 1
    bytes -= Double(part.bytes.count + Self.overhead)
    if message.place == message.last {
      waitingByteCount -= message.bytes.count
      waiting.removeFirst()
    } else {
      waiting[0].place += 1
    }
    return Departure(tag: message.tag, part: part)
  }

  /// When `poll` next has something.
  var nextDeadline: Instant? {
    guard !waiting.isEmpty else { return nil }
    let seconds = max(0, (1 - parts) / rates.parts, -bytes / rates.bytes)
    let due = counted + .milliseconds(Int64(seconds * 1000) + 1)
    return heldUntil.map { max($0, due) } ?? due
  }

  /// There is no session at present.
  mutating func hold(now: Instant) { heldUntil = now + Self.holding }

  private mutating func count(_ room: Room, now: Instant) {
    let listeners = Double(max(1, room.listeners))
    rates.parts = min(Self.mostParts, Self.copiesPerSecond / listeners)
    let own = (room.bitsPerSecond ?? .infinity) / 8 * Self.share
    rates.bytes = min(max(Self.leastBytes, own), Self.mostBytes)
    let seconds = Double((now - counted).milliseconds) / 1000
    guard seconds > 0 else { return }
    counted = now
    parts = min(max(1, rates.parts), parts + seconds * rates.parts)
    bytes = min(max(Self.leastBytes, rates.bytes / 2), bytes + seconds * rates.bytes)
  }

  /// A second, and at once: as data streams of other services have it.
  private static let mostParts = 30.0
  /// Below what a relay passes on of one host (docs/protocol/relay.md §6), so that it drops none.
  private static let copiesPerSecond = 3600.0
  /// Of what the own line carries: sound and pictures go on beside messages.
  private static let share = 0.25
  /// Bytes a second, whatever the line carries: of so many parts, and one.
  private static let mostBytes = mostParts * 1200
  private static let leastBytes = 1200.0
  /// Bytes that a part has beside its own: IP, UDP, session, message, SFrame and its number.
  private static let overhead = 100
  /// From one look for a session to the next.
  private static let holding = Duration.milliseconds(50)
  private static let mostWaiting = 64
  private static let mostWaitingBytes = 128 * 1024
}
