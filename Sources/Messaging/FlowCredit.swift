/// How many bytes a receiver has granted, seen from the sender (docs/protocol/frames.md §4).
/// Totals are mod 2^32; only their differences mean something.
struct SendCredit: Equatable, Sendable, BitwiseCopyable {
  /// Granted in total.
  var limit: UInt32
  /// Reserved in total: every message is counted whole before its first fragment goes, so that a
  /// message once begun can always be finished.
  var used: UInt32

  init(initialGrant: UInt32) {
    limit = initialGrant
    used = 0
  }

  init(limit: UInt32, used: UInt32) {
    self.limit = limit
    self.used = used
  }

  /// `used` never passes `limit`, so this does not wrap.
  var available: UInt32 { limit &- used }

  func allows(_ byteCount: Int, reserve: UInt32) -> Bool {
    UInt64(available) >= UInt64(byteCount) + UInt64(reserve)
  }

  mutating func reserve(_ byteCount: Int) { used &+= UInt32(truncatingIfNeeded: byteCount) }

  /// Gives back what was reserved for fragments that will never go.
  mutating func giveBack(_ byteCount: Int) { used &-= UInt32(truncatingIfNeeded: byteCount) }

  /// A grant that is not higher is old news.
  mutating func raise(to total: UInt32) {
    if Int32(bitPattern: total &- limit) > 0 { limit = total }
  }
}

/// How many bytes a receiver has granted, seen from the receiver.
struct ReceiveCredit: Equatable, Sendable, BitwiseCopyable {
  /// How much may be held at a time.
  private var window: UInt32
  private(set) var granted: UInt32
  private(set) var received: UInt32
  /// Delivered or abandoned.
  private(set) var returned: UInt32
  /// Delivered, and not taken by the owner yet: as much is not granted anew.
  private var untaken: UInt32 = 0
  /// What was granted before the last raise: bytes beyond it prove that the raise arrived.
  private var previousGrant: UInt32
  /// Whether the next FEEDBACK takes a CREDIT along.
  private(set) var isDue = false

  init(initialGrant: UInt32) {
    self.init(initialGrant: initialGrant, granted: initialGrant, received: 0)
  }

  /// Nothing received is still kept. Whether the last raise arrived is not known any more: until
  /// the bytes show it, it is sent again.
  init(initialGrant: UInt32, granted: UInt32, received: UInt32) {
    window = initialGrant
    self.granted = granted
    self.received = received
    returned = received
    previousGrant = granted == initialGrant ? granted : granted &- initialGrant / 4
  }

  /// Bytes received and neither delivered nor abandoned; never more than the window.
  var heldByteCount: Int { Int(received &- returned) }

  private var isConfirmed: Bool {
    previousGrant == granted || Int32(bitPattern: received &- previousGrant) > 0
  }

  /// Counts bytes seen for the first time.
  mutating func receive(_ byteCount: UInt32) throws(MessageFault) {
    guard byteCount <= granted &- received else { throw .overCredit }
    received &+= byteCount
  }

  /// Counts bytes of abandoned messages.
  mutating func release(_ byteCount: UInt32) {
    returned &+= byteCount
    raise()
  }

  /// Counts bytes of a whole message, which waits for the owner.
  mutating func deliver(_ byteCount: UInt32) {
    returned &+= byteCount
    untaken &+= byteCount
  }

  /// The owner has taken a message.
  mutating func countTaken(_ byteCount: UInt32) {
    untaken -= min(byteCount, untaken)
    raise()
  }

  /// The owner has room for more from now on; a window never shrinks.
  mutating func widen(to byteCount: UInt32) {
    guard byteCount > window else { return }
    window = byteCount
    raise()
  }

  /// Raises the grant when 1/4 of the window has come free; while the owner holds messages unread
  /// also by less, so that what control has used of its reserve comes back.
  private mutating func raise() {
    let possible = returned &- untaken &+ window
    let gain = possible &- granted
    let isLow = untaken > 0 && granted &- received < MessageRules.lowGrant
    guard gain >= (isLow ? MessageRules.leastRaise : window / 4) else { return }
    previousGrant = granted
    granted = possible
    isDue = true
  }

  /// A MSG arrived: a sender that has not shown that it has the last grant gets it again.
  mutating func noteMessage() {
    isDue = !isConfirmed
  }

  /// The total to send with a FEEDBACK, if one is due.
  mutating func takeDue() -> UInt32? {
    guard isDue else { return nil }
    isDue = false
    return granted
  }
}
