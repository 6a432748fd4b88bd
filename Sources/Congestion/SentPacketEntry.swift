import Primitives

/// One place in the ring of `SentPacketHistory`; 32 bytes.
struct SentPacketEntry: Sendable, BitwiseCopyable {
  enum State: UInt8, Sendable, BitwiseCopyable {
    /// No packet.
    case none
    /// Neither reported nor lost.
    case open
    /// Reported, or lost, and `poll` has not said so yet.
    case acknowledged, lost, acknowledgedLate
    /// `poll` has said so.
    case told, lostAndTold
  }

  /// The transport number; packet numbers end at 2^31, so this is none.
  var number: UInt64 = .max
  /// Nanoseconds.
  var sent: UInt64 = 0
  /// Ticks of the receiver's clock.
  var arrival: Int64 = 0
  var token: UInt32 = 0
  var byteCount: UInt16 = 0
  private var flags: UInt8 = 0
  var state = State.none

  init() {}

  init(_ packet: SentPacket) {
    number = packet.number
    sent = packet.sent.nanoseconds
    token = packet.token
    byteCount = UInt16(clamping: packet.byteCount)
    flags =
      (packet.elicitsFeedback ? Flags.elicits : 0) | (packet.hasMessages ? Flags.messages : 0)
    state = .open
  }

  var elicitsFeedback: Bool { flags & Flags.elicits != 0 }
  var isLost: Bool { state == .lost || state == .lostAndTold }
  var isCongestionExperienced: Bool {
    get { flags & Flags.marked != 0 }
    set { flags = newValue ? flags | Flags.marked : flags & ~Flags.marked }
  }

  /// What became of the packet, if that has not been told yet.
  mutating func takeOutcome() -> PacketOutcome? {
    let fate: PacketOutcome.Fate
    switch state {
    case .acknowledged: (fate, state) = (.acknowledged, .told)
    case .lost: (fate, state) = (.lost, .lostAndTold)
    case .acknowledgedLate: (fate, state) = (.acknowledgedLate, .told)
    case .none, .open, .told, .lostAndTold: return nil
    }
    return PacketOutcome(
      packet: SentPacket(
        number: number, sent: Instant(nanoseconds: sent), byteCount: Int(byteCount),
        elicitsFeedback: elicitsFeedback, hasMessages: flags & Flags.messages != 0, token: token),
      fate: fate, arrivalTicks: arrival, isCongestionExperienced: isCongestionExperienced)
  }

  private enum Flags {
    static let elicits: UInt8 = 1
    static let messages: UInt8 = 2
    static let marked: UInt8 = 4
  }
}

/// The packets of one epoch within the row of all packets.
struct EpochSpan: Sendable, BitwiseCopyable {
  let epoch: UInt32
  /// Added to a packet number it gives the serial number; wraps.
  let offset: UInt64
  /// One more than the highest number sent; 0 while the span is unused.
  var end: UInt32 = 0
  private var largestReported: UInt32 = 0
  private var hasReport = false

  init() {
    epoch = 0
    offset = 0
  }

  init(epoch: UInt32, offset: UInt64) {
    self.epoch = epoch
    self.offset = offset
  }

  var isUsed: Bool { end != 0 }

  mutating func noteReported(_ number: UInt32) {
    largestReported = max(largestReported, number)
    hasReport = true
  }

  /// Whether a packet of this epoch was reported that is `count` numbers above `number`.
  func isBehind(_ number: UInt64, by count: UInt32) -> Bool {
    hasReport && UInt32(truncatingIfNeeded: number >> 32) == epoch
      && UInt64(UInt32(truncatingIfNeeded: number)) + UInt64(count) <= UInt64(largestReported)
  }
}

/// Unwraps the 32-bit arrival times of FEEDBACK.
struct ArrivalClock: Sendable, BitwiseCopyable {
  private var last: Int64?

  /// The next time is never more than half the range (6 days) from the last.
  mutating func unwrap(_ ticks: UInt32) -> Int64 {
    guard let last else {
      self.last = Int64(ticks)
      return Int64(ticks)
    }
    let step = Int32(bitPattern: ticks &- UInt32(truncatingIfNeeded: last))
    let unwrapped = last &+ Int64(step)
    self.last = max(last, unwrapped)
    return unwrapped
  }
}
