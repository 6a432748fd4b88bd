internal import Cryptography
internal import Primitives
internal import Wire

/// Our own sender keys: the one in use, the fresh one that is being handed out, and to whom.
struct OwnKeys: ~Copyable {
  private let limits: GroupKeyLimits
  private var random: RandomSource
  private var current: SendingKey?
  private var next: SenderKey?
  private var currentDelivery: KeyDelivery?
  private var nextDelivery: KeyDelivery?
  private var switchAt: Instant?
  private var schedule: FreshKeySchedule
  private(set) var nextGeneration: UInt32
  private var lastRatchet: Instant?
  /// Newcomers who wait for the next ratchet.
  private var newcomers: [UInt32] = []
  private(set) var freshCount = 0

  init(limits: GroupKeyLimits, generation: UInt32 = 0, random: RandomSource) {
    self.limits = limits
    self.random = random
    nextGeneration = generation
    schedule = FreshKeySchedule(limits: limits)
  }

  var isPublishing: Bool { currentDelivery != nil }

  /// Begins to publish, under a fresh key that goes to `uids`.
  mutating func start(for uids: [UInt32]) {
    guard !isPublishing else { return }
    current = SendingKey(makeKey())
    currentDelivery = delivery(of: uids)
  }

  /// Erases the keys; the next ones are of a later generation.
  mutating func stop() {
    current = nil
    currentDelivery = nil
    dropNext()
    schedule.cancel()
    newcomers = []
  }

  /// A member has come: it gets our key, and cannot open what was sealed before.
  mutating func add(_ uid: UInt32, now: Instant) {
    guard isPublishing else { return }
    nextDelivery?.add(uid, random: &random)
    newcomers.append(uid)
    admitNewcomers(now: now)
  }

  /// A member is gone. If it holds a key of ours, a fresh one is due for `remaining`.
  mutating func remove(
    _ uid: UInt32, _ departure: Departure, audienceCount: Int, now: Instant
  ) {
    guard isPublishing else { return }
    newcomers.removeAll { $0 == uid }
    let hasCurrent = currentDelivery?.remove(uid) ?? false
    let hasNext = nextDelivery?.remove(uid) ?? false
    // The fresh key that is being handed out replaces one that only the departed has.
    guard hasNext || (hasCurrent && next == nil) else { return hurry(departure, now: now) }
    schedule.recordDeparture(departure, audienceCount: audienceCount, now: now)
  }

  /// A receipt came; whether it fits what was handed out.
  mutating func acknowledge(
    _ uid: UInt32, generation: UInt32, _ receipt: Bytes16
  ) -> Bool {
    if currentDelivery?.generation == generation {
      return currentDelivery?.acknowledge(uid, receipt) ?? false
    }
    guard nextDelivery?.generation == generation,
      nextDelivery?.acknowledge(uid, receipt) ?? false
    else { return false }
    if nextDelivery?.unacknowledged == 0 { switchToNext() }
    return true
  }

  /// A member lacks our key, or its static key is another one now; whether an envelope goes.
  mutating func sealAnew(_ uid: UInt32, now: Instant) -> Bool {
    let isCurrent = currentDelivery?.sealAnew(uid, now: now) ?? false
    let isNext = nextDelivery?.sealAnew(uid, now: now) ?? false
    return isCurrent || isNext
  }

  mutating func handleTimeout(now: Instant, uids: [UInt32]) {
    if let due = switchAt, due <= now { switchToNext() }
    if let due = schedule.due, due <= now { makeFresh(for: uids, now: now) }
    admitNewcomers(now: now)
    currentDelivery?.resend(now: now)
    nextDelivery?.resend(now: now)
  }

  var nextDeadline: Instant? {
    var least = earliest(switchAt, schedule.due)
    if !newcomers.isEmpty, let last = lastRatchet {
      least = earliest(least, last + limits.ratchetInterval)
    }
    return earliest(
      least, earliest(currentDelivery?.nextResend, nextDelivery?.nextResend))
  }

  /// An envelope that is due now.
  struct Due: ~Copyable {
    let uid: UInt32
    let receipt: Bytes16
    /// As it was sealed before; empty if it must be sealed from `key`.
    let envelope: [UInt8]
    let key: SenderKey
  }

  /// The next envelope to send: of the key in use first, because frames are sealed with it.
  mutating func popDue() -> Due? {
    if let due = currentDelivery?.popQueued(), let key = current?.chain.clone() {
      return Due(uid: due.uid, receipt: due.receipt, envelope: due.envelope, key: key)
    }
    if let due = nextDelivery?.popQueued(), let key = next?.clone() {
      return Due(uid: due.uid, receipt: due.receipt, envelope: due.envelope, key: key)
    }
    return nil
  }

  /// What `popDue` gave has been sealed and leaves now.
  mutating func recordSent(
    _ uid: UInt32, generation: UInt32, envelope: [UInt8], now: Instant
  ) {
    if currentDelivery?.generation == generation {
      currentDelivery?.recordSent(uid, envelope: envelope, now: now)
    } else if nextDelivery?.generation == generation {
      nextDelivery?.recordSent(uid, envelope: envelope, now: now)
    }
  }

  @_lifetime(frame: copy frame)
  mutating func seal(
    _ frame: inout MutableSpan<UInt8>, text: Range<Int>, metadata: Span<UInt8>,
    with aes: borrowing AESCounterMode
  ) throws(SFrameError) -> Range<Int> {
    guard let sealed = try current?.seal(&frame, text: text, metadata: metadata, with: aes) else {
      throw .notPublishing
    }
    return sealed
  }

  /// Generation and step of the key in use; `nil` while we publish nothing.
  var inUse: (generation: UInt32, step: UInt32)? {
    switch current {
    case .some(let key): (key.chain.generation, key.chain.step)
    case .none: nil
    }
  }

  // MARK: - Joins

  /// Ratchets once for all who wait, if anything was sealed that they may not hear.
  private mutating func admitNewcomers(now: Instant) {
    guard !newcomers.isEmpty else { return }
    if (current?.nextCounter ?? 0) > 0 {
      if let last = lastRatchet, now - last < limits.ratchetInterval { return }
      current?.ratchet()
      lastRatchet = now
    }
    for uid in newcomers { currentDelivery?.add(uid, random: &random) }
    newcomers = []
  }

  // MARK: - Leaves

  /// A removal makes a fresh key that is under way come into use sooner.
  private mutating func hurry(_ departure: Departure, now: Instant) {
    guard departure.endsHearing, next != nil else { return }
    switchAt = earliest(switchAt, now + limits.removalSwitchDelay)
  }

  private mutating func makeFresh(for uids: [UInt32], now: Instant) {
    guard isPublishing else { return schedule.cancel() }
    switchAt = earliest(switchAt, schedule.begin(now: now))
    next = makeKey()
    nextDelivery = delivery(of: uids)
    if uids.isEmpty { switchToNext() }
  }

  /// From now on frames are sealed with the fresh key; the one before is erased.
  private mutating func switchToNext() {
    guard let key = next.take() else { return }
    current = SendingKey(key)
    currentDelivery = nextDelivery
    // They have the fresh key, under which nothing was sealed before they came.
    newcomers = []
    dropNext()
  }

  private mutating func dropNext() {
    next = nil
    nextDelivery = nil
    switchAt = nil
  }

  private mutating func makeKey() -> SenderKey {
    defer {
      nextGeneration &+= 1
      freshCount += 1
    }
    return SenderKey(generation: nextGeneration, random: &random)
  }

  private mutating func delivery(of uids: [UInt32]) -> KeyDelivery {
    var delivery = KeyDelivery(generation: nextGeneration &- 1, limits: limits)
    for uid in uids { delivery.add(uid, random: &random) }
    return delivery
  }
}
