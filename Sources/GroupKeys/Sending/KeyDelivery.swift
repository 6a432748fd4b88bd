internal import Primitives

/// The handing out of one generation of our key: to whom it goes, who has it, what is sent again.
struct KeyDelivery {
  private struct Entry {
    let uid: UInt32
    /// Comes back when the member has opened its envelope.
    let receipt: Bytes16
    /// As it was sent, to be sent again; empty before, and when it must be sealed anew.
    var envelope: [UInt8] = []
    var isQueued = true
    var wasSent = false
    var isAcknowledged = false
    var sentAt = Instant.zero
    var attempts = 0
  }

  let generation: UInt32
  private let limits: GroupKeyLimits
  /// By uid.
  private var entries: [Entry] = []
  private var queue: [UInt32] = []
  private var queueStart = 0
  private(set) var unacknowledged = 0
  /// When the next envelope is sent again; may be too early, never too late.
  private(set) var nextResend: Instant?

  init(generation: UInt32, limits: GroupKeyLimits) {
    self.generation = generation
    self.limits = limits
  }

  /// Queues an envelope for one more member.
  mutating func add(_ uid: UInt32, random: inout RandomSource) {
    let place = place(of: uid)
    guard !isAt(place, uid) else { return }
    entries.insert(Entry(uid: uid, receipt: Bytes16(random: &random)), at: place)
    queue.append(uid)
    unacknowledged += 1
  }

  /// Takes a member off; whether it may hold this generation.
  mutating func remove(_ uid: UInt32) -> Bool {
    let place = place(of: uid)
    guard isAt(place, uid) else { return false }
    let entry = entries.remove(at: place)
    if !entry.isAcknowledged { unacknowledged -= 1 }
    return entry.wasSent
  }

  /// The next member whose envelope is due: what was sealed for it, empty if it must be sealed now.
  mutating func popQueued() -> (uid: UInt32, receipt: Bytes16, envelope: [UInt8])? {
    while queueStart < queue.count {
      let uid = queue[queueStart]
      queueStart += 1
      if queueStart == queue.count {
        queue.removeAll(keepingCapacity: true)
        queueStart = 0
      }
      let place = place(of: uid)
      guard isAt(place, uid), entries[place].isQueued else { continue }
      entries[place].isQueued = false
      if entries[place].isAcknowledged { continue }
      return (uid, entries[place].receipt, entries[place].envelope)
    }
    return nil
  }

  var hasQueued: Bool { queueStart < queue.count }

  /// The envelope leaves now.
  mutating func recordSent(_ uid: UInt32, envelope: [UInt8], now: Instant) {
    let place = place(of: uid)
    guard isAt(place, uid) else { return }
    let delay = delay(after: entries[place].attempts)
    entries[place].envelope = envelope
    entries[place].wasSent = true
    entries[place].sentAt = now
    entries[place].attempts += 1
    nextResend = earliest(nextResend, now + delay)
  }

  /// A receipt came; whether it is the right one.
  mutating func acknowledge(_ uid: UInt32, _ receipt: Bytes16) -> Bool {
    let place = place(of: uid)
    guard isAt(place, uid), entries[place].wasSent, entries[place].receipt == receipt else {
      return false
    }
    if !entries[place].isAcknowledged {
      entries[place].isAcknowledged = true
      entries[place].envelope = []
      unacknowledged -= 1
    }
    return true
  }

  /// A member has lost the key, or has a new static key: its envelope is sealed anew. Whether it is
  /// not too soon for that.
  mutating func sealAnew(_ uid: UInt32, now: Instant) -> Bool {
    let place = place(of: uid)
    guard isAt(place, uid), !entries[place].isQueued,
      now - entries[place].sentAt >= limits.answerInterval
    else { return false }
    if entries[place].isAcknowledged {
      entries[place].isAcknowledged = false
      unacknowledged += 1
    }
    entries[place].envelope = []
    entries[place].attempts = 0
    entries[place].isQueued = true
    queue.append(uid)
    return true
  }

  /// Queues again what has waited long enough for its receipt.
  mutating func resend(now: Instant) {
    guard let due = nextResend, due <= now else { return }
    nextResend = nil
    for place in entries.indices {
      guard !entries[place].isAcknowledged, !entries[place].isQueued, entries[place].wasSent else {
        continue
      }
      let at = entries[place].sentAt + delay(after: max(1, entries[place].attempts) - 1)
      if at <= now {
        entries[place].isQueued = true
        queue.append(entries[place].uid)
      } else {
        nextResend = earliest(nextResend, at)
      }
    }
  }

  private func delay(after attempts: Int) -> Duration {
    let delays =
      unacknowledged <= limits.few ? limits.quickResendDelays : limits.resendDelays
    return delays[min(attempts, delays.count - 1)]
  }

  private func isAt(_ place: Int, _ uid: UInt32) -> Bool {
    place < entries.count && entries[place].uid == uid
  }

  private func place(of uid: UInt32) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].uid < uid { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
