internal import Cryptography
internal import Primitives

/// What we keep of one host: its keys, and how often we listen to it and ask it.
final class RemoteSender {
  let keys: ReceivedKeys
  private let limits: GroupKeyLimits
  private(set) var requestDue: Instant?
  private var requestedAt: Instant?
  private var envelopesSince = Instant.zero
  private var envelopeCount = 0
  /// Hash of the envelope that opened last, and its answer: what comes again is answered again.
  private var lastEnvelope: Bytes16?
  private var lastReceipt: KeyMessage?
  /// What its last envelope states of a roster revision that we have not reached.
  private var statedRoster: (revision: UInt64, digest: Bytes16)?

  init(limits: GroupKeyLimits) {
    self.limits = limits
    keys = ReceivedKeys(limits: limits)
  }

  /// A frame came whose key we lack.
  ///
  /// - Parameter ofFew: The channel is small.
  func recordMissingKey(ofFew: Bool = false, now: Instant) {
    guard requestDue == nil else { return }
    let soonest = now + limits.requestDelay
    let interval = ofFew ? limits.quickRequestInterval : limits.requestInterval
    requestDue = requestedAt.map { max(soonest, $0 + interval) } ?? soonest
  }

  /// Whether to ask for the key now.
  func popRequest(now: Instant) -> Bool {
    guard let due = requestDue, due <= now else { return false }
    requestDue = nil
    requestedAt = now
    return true
  }

  /// Whether one more envelope may be opened.
  func admitsEnvelope(now: Instant) -> Bool {
    if now - envelopesSince >= .seconds(1) {
      envelopesSince = now
      envelopeCount = 0
    }
    guard envelopeCount < limits.envelopes else { return false }
    envelopeCount += 1
    return true
  }

  /// The receipt for an envelope that has been opened before.
  func receipt(again envelope: Span<UInt8>) -> KeyMessage? {
    lastEnvelope == Self.hash(envelope) ? lastReceipt : nil
  }

  /// Keeps an envelope that has opened, and what it states of the roster.
  func record(_ envelope: Span<UInt8>, _ content: borrowing KeyEnvelope) -> KeyMessage {
    let receipt = KeyMessage.receipt(
      generation: content.key.generation, content.receipt)
    lastEnvelope = Self.hash(envelope)
    lastReceipt = receipt
    // Of one that was not whole there the revision is zero: nothing can be compared.
    statedRoster =
      content.rosterRevision == 0 ? nil : (content.rosterRevision, content.rosterDigest)
    requestDue = nil
    return receipt
  }

  /// Whether the sender's roster was another one than ours at the same revision; tells it once.
  func differs(from roster: KeyRoster) -> Bool {
    guard let stated = statedRoster, stated.revision <= roster.revision else { return false }
    // Our own is not whole yet.
    if stated.revision == roster.revision, !roster.isComplete { return false }
    statedRoster = nil
    guard let own = roster.fingerprint(at: stated.revision) else { return false }
    return own.digest != stated.digest
  }

  var nextDeadline: Instant? { earliest(requestDue, keys.nextExpiry) }

  private static func hash(_ envelope: Span<UInt8>) -> Bytes16 {
    var hash = BLAKE2b(byteCount: Bytes16.byteCount)
    hash.update(envelope)
    return hash.finalize16()
  }
}
