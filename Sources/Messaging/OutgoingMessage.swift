import Primitives
import Wire

/// A message that waits for its turn.
struct WaitingMessage: Sendable {
  let tag: MessageTag
  let bytes: [UInt8]
  let expiry: Instant
  let repeats: Bool
  var isUrgent = false
}

/// What a packet takes of the messages: each kind goes in packets of its own moment.
enum MessageKind: Sendable {
  /// The protocol's own streams.
  case control
  case ordinary
  case bulk
}

/// One direction of a stream as its sender sees it.
struct SendStream: Sendable {
  let id: StreamID
  var nextSequence: UInt32 = 0
  /// It goes behind all others.
  var isBulk = false
  private(set) var waiting: [WaitingMessage] = []
  /// Everything before it has been taken.
  private var head = 0

  init(_ id: StreamID, nextSequence: UInt32 = 0) {
    self.id = id
    self.nextSequence = nextSequence
  }

  var kind: MessageKind { id.isControl ? .control : isBulk ? .bulk : .ordinary }
  var isEmpty: Bool { head == waiting.count }
  var first: WaitingMessage? { isEmpty ? nil : waiting[head] }
  var earliestExpiry: Instant? {
    waiting[head...].reduce(nil) { earliest($0, $1.expiry) }
  }

  mutating func append(_ message: WaitingMessage) { waiting.append(message) }

  mutating func takeFirst() -> WaitingMessage? {
    guard let message = first else { return nil }
    head += 1
    if head == waiting.count || head > 64 && head * 2 > waiting.count {
      waiting.removeFirst(head)
      head = 0
    }
    return message
  }

  /// Takes out the messages whose life has ended at `now`, in order.
  mutating func takeExpired(at now: Instant) -> [WaitingMessage] {
    let expired = waiting[head...].filter { $0.expiry <= now }
    guard !expired.isEmpty else { return [] }
    waiting = waiting[head...].filter { $0.expiry > now }
    head = 0
    return expired
  }
}

/// A message under way: some of its fragments have been sent.
struct OutgoingMessage: Sendable {
  /// Rises with every message put under way.
  let id: UInt64
  let tag: MessageTag
  let stream: StreamID
  let kind: MessageKind
  let sequence: UInt32
  let expiry: Instant
  private let repeats: Bool
  private let isUrgent: Bool
  private(set) var bytes: [UInt8]
  private let fragmentByteCount: Int
  private let fragmentCount: Int
  /// Bit i: fragment i was sent, was acknowledged, is to be sent again.
  private var sent: UInt64 = 0
  private var acknowledged: UInt64 = 0
  private var resend: UInt64 = 0
  /// Bytes of fragments sent, counted once (docs/protocol/frames.md §4).
  private(set) var sentByteCount = 0
  private(set) var isAbandoned = false

  init(id: UInt64, on stream: SendStream, message: WaitingMessage) {
    self.id = id
    self.stream = stream.id
    kind = stream.kind
    sequence = stream.nextSequence
    tag = message.tag
    expiry = message.expiry
    repeats = message.repeats
    isUrgent = message.isUrgent
    bytes = message.bytes
    let longest = MessageFrame.maximumFragmentByteCount
    fragmentCount = max(1, (bytes.count + longest - 1) / longest)
    fragmentByteCount = (bytes.count + fragmentCount - 1) / fragmentCount
  }

  private var all: UInt64 {
    fragmentCount == 64 ? .max : (1 << UInt64(fragmentCount)) - 1
  }

  /// Bytes that were reserved for it and never sent.
  var unsentByteCount: Int { bytes.count - sentByteCount }

  /// Nothing of it is missing at the other side.
  var isFinished: Bool { isAbandoned ? acknowledged != 0 : acknowledged == all }
  var needsResend: Bool { resend != 0 }
  /// A loss ends it.
  var isFragile: Bool { !repeats && !isAbandoned }
  /// Somebody waits for it, and it has not arrived as far as we know.
  var isMissed: Bool { isUrgent && !isAbandoned && !isFinished }
  /// The same, and it is short and was sent: it may go along with other packets.
  var isRider: Bool { isMissed && fragmentCount == 1 && sent != 0 }
  var hasUnsent: Bool { !isAbandoned && sent != all }

  /// The next fragment to send again, else (`nil`) the next never sent.
  var nextResend: Int? { resend == 0 ? nil : resend.trailingZeroBitCount }
  var nextUnsent: Int? { hasUnsent ? (~sent).trailingZeroBitCount : nil }

  /// Length of the frame that carries fragment `index`.
  func frameByteCount(_ index: Int) -> Int {
    isAbandoned
      ? MessageFrame.abandonedByteCount : MessageFrame.headerByteCount + range(index).count
  }

  private func range(_ index: Int) -> Range<Int> {
    let start = min(index * fragmentByteCount, bytes.count)
    return start..<min(start + fragmentByteCount, bytes.count)
  }

  /// Writes fragment `index`, or that the message was abandoned.
  @_lifetime(packet: copy packet)
  mutating func write(_ index: Int, to packet: inout OutputSpan<UInt8>) {
    let bit: UInt64 = 1 << UInt64(index)
    resend &= ~bit
    if isAbandoned {
      MessageFrame(stream: stream, sequence: sequence, fragmentIndex: 0, fragmentCount: 0)
        .writeAbandoned(sentByteCount: UInt32(clamping: sentByteCount), to: &packet)
      return
    }
    let range = range(index)
    if sent & bit == 0 {
      sent |= bit
      sentByteCount += range.count
    }
    MessageFrame(
      stream: stream, sequence: sequence, fragmentIndex: UInt8(clamping: index),
      fragmentCount: UInt8(clamping: fragmentCount)
    ).write(bytes.span.extracting(range), to: &packet)
  }

  /// Gives the message up; from now on its only fragment is the notice of that. Returns how many
  /// bytes were reserved for it and never sent.
  mutating func abandon() -> Int {
    let unsent = unsentByteCount
    isAbandoned = true
    bytes = []
    sent = 1
    acknowledged = 0
    resend = 1
    return unsent
  }

  /// Whether `reference` is about what the message now is.
  private func concerns(_ reference: FragmentReference) -> Bool {
    reference.isNotice == isAbandoned
  }

  /// Notes that a fragment arrived; returns whether nothing of the message is missing any more.
  mutating func acknowledge(_ reference: FragmentReference) -> Bool {
    guard concerns(reference) else { return false }
    acknowledged |= reference.bit
    resend &= ~reference.bit
    return isFinished
  }

  /// Notes that a fragment is to be sent again; returns whether it was not already.
  mutating func markForResend(_ reference: FragmentReference) -> Bool {
    guard concerns(reference), acknowledged & reference.bit == 0, resend & reference.bit == 0
    else { return false }
    resend |= reference.bit
    return true
  }

  /// Whether the fragment is one that is still missing at the other side.
  func awaits(_ reference: FragmentReference) -> Bool {
    concerns(reference) && acknowledged & reference.bit == 0
  }

  /// Marks the oldest fragments that are sent and neither acknowledged nor marked, at most `limit`;
  /// returns how many.
  mutating func markOldest(_ limit: Int) -> Int {
    var candidates = sent & ~acknowledged & ~resend
    var marked = 0
    while marked < limit, candidates != 0 {
      let bit = candidates & (~candidates &+ 1)
      resend |= bit
      candidates &= ~bit
      marked += 1
    }
    return marked
  }
}

/// Which fragment of which message a packet carried.
struct FragmentReference: Equatable, Sendable, BitwiseCopyable {
  let message: UInt64
  let index: UInt8
  let isNotice: Bool

  var bit: UInt64 { 1 << UInt64(index & 63) }
}
