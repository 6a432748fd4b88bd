internal import Cryptography
internal import Primitives
internal import SecureSession

/// One generation of a sender's key: the chain at its newest step, and the newest steps' keys.
final class ReceivedGeneration {
  let number: UInt32
  let installed: Instant
  private(set) var chain: SenderKey
  /// Oldest first; the last is that of the chain's step.
  private var keys: [ReceivedKey]
  private(set) var wasUsed = false
  /// When all of it is over; `nil` for the newest generation.
  private var end: Instant?

  init(_ key: consuming SenderKey, installed: Instant) {
    number = key.generation
    keys = [ReceivedKey(key)]
    chain = key
    self.installed = installed
  }

  var isEmpty: Bool { keys.isEmpty }
  var keyCount: Int { keys.count }

  var nextExpiry: Instant? { keys.reduce(nil) { earliest($0, $1.expires) } }

  /// The kept key whose step ends in these 8 bits.
  func key(lowStep: UInt32) -> ReceivedKey? { keys.last { $0.step & 0xFF == lowStep } }

  /// Moves the chain to the end of a walk whose key has opened a frame. The steps between are kept
  /// as well: their frames may be under way.
  func advance(along walk: consuming ChainWalk, keeping limit: Int) {
    let key = walk.key
    var next = walk.first
    while next.step < key.step {
      keys.append(ReceivedKey(next))
      next.ratchet()
    }
    chain = next
    keys.append(key)
    if keys.count > limit { keys.removeFirst(keys.count - limit) }
    if let end { expire(at: end) }
  }

  /// Where frames can no longer lead to the step of `key`, begins anew with it; whether it did.
  func replaceIfFar(_ key: consuming SenderKey) -> Bool {
    guard key.step > chain.step, key.step - chain.step > GroupKeyLimits.stepsAhead else {
      return false
    }
    keys = [ReceivedKey(key)]
    chain = key
    return true
  }

  /// All keys go at `end`, if they do not go before.
  func expire(at end: Instant) {
    self.end = earliest(self.end, end)
    for key in keys { key.expire(at: end) }
  }

  /// Keys of steps before `step` go at `end`; it was used now.
  func expire(before step: UInt32, at end: Instant) {
    wasUsed = true
    for key in keys where key.step < step { key.expire(at: end) }
  }

  /// Erases keys that are over; whether none is left.
  func forget(now: Instant) -> Bool {
    keys.removeAll { key in key.expires.map { $0 <= now } ?? false }
    return keys.isEmpty
  }
}

/// The key of one ratchet step, and which of its frames were opened.
final class ReceivedKey {
  let step: UInt32
  private let key: SFrameKey
  /// 4096 frames: 2 s of video at 10 Mbit/s in packets of 1200 bytes, which a relay may send again,
  /// and the audio beside it.
  private var window = ReplayWindow<64>()
  private(set) var expires: Instant?
  private var hasOpened = false

  init(_ chain: borrowing SenderKey) {
    step = chain.step
    key = chain.frameKey()
  }

  /// A frame has opened under this key; whether it was the first.
  func markOpened() -> Bool {
    defer { hasOpened = true }
    return !hasOpened
  }

  func expire(at end: Instant) { expires = earliest(expires, end) }

  /// Opens a frame and marks its counter; a failure changes nothing.
  @_lifetime(packet: copy packet)
  func open(
    _ packet: inout MutableSpan<UInt8>, at place: Range<Int>, header: SFrameHeader,
    headerByteCount: Int, metadata: Span<UInt8>, with aes: borrowing AESCounterMode
  ) throws(SFrameError) -> Range<Int> {
    guard window.accepts(header.counter) else { throw .replayed }
    let text = try key.open(
      &packet, at: place, header: header, headerByteCount: headerByteCount, metadata: metadata,
      with: aes)
    _ = window.insert(header.counter)
    return text
  }
}

/// The way from a generation's chain to the step that a frame asks for. It is walked before the
/// frame has opened, and the chain follows it afterwards: only its last steps are walked twice.
struct ChainWalk: ~Copyable {
  /// The chain at the first step whose key is kept if the frame opens.
  let first: SenderKey
  /// That of the last step.
  let key: ReceivedKey

  /// - Parameters:
  ///   - steps: How far ahead the frame is; not zero.
  ///   - limit: Keys that are kept of a generation. Half of them are for steps between.
  init(from chain: borrowing SenderKey, steps: UInt32, keeping limit: Int) {
    let between = UInt32(clamping: max(1, limit / 2))
    let skipped = steps > between ? steps - between : 1
    first = chain.advanced(by: skipped)
    key = ReceivedKey(first.advanced(by: steps - skipped))
  }
}

extension SenderKey {
  /// The key so many steps further; this one stays.
  func advanced(by steps: UInt32) -> SenderKey {
    var key = clone()
    for _ in 0..<steps { key.ratchet() }
    return key
  }
}
