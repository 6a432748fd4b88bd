import Primitives
import SecureSession
import Wire

/// What INIT says of this program (docs/protocol/session.md §2).
struct RegistrationRequest {
  let card: ContactCard
  let name: PeerName?
  let presence: Presence
  var token: [UInt8]?
  var abilities = ClientAbilities.senderNames
}

/// What has come of an attempt besides RESP: its reason, if it fails.
struct RegistrationSymptoms {
  /// What an unauthenticated packet said.
  private(set) var hint: RegistrationFailure?
  /// The last card that is of another identity than the expected one.
  var mismatch: RegistrationFailure?
  /// A card came that has expired by our clock.
  var sawExpiredCard = false
  /// A card came for a request of ours: packets of 512 bytes go there and are answered.
  var hasAnsweredShort = false
  /// All cards that came so far are of another identity, and one that fits would have come.
  private(set) var isDoubted = false
  private var isToldOfDoubt = false
  /// Datagrams that did not verify.
  private(set) var strangeAnswers = 0

  mutating func countStrangeAnswer() { strangeAnswers += 1 }

  /// Somebody says why there will be no RESP.
  ///
  /// - Returns: Whether it is the first.
  mutating func recordHint(_ hint: RegistrationFailure) -> Bool {
    guard self.hint == nil else { return false }
    self.hint = hint
    return true
  }

  mutating func doubt() { isDoubted = true }

  /// That another identity answers, once, as soon as there is a doubt. What VERSION said waits.
  mutating func popDoubt() -> RegistrationFailure? {
    guard isDoubted, !isToldOfDoubt else { return nil }
    isToldOfDoubt = true
    return mismatch
  }

  /// Why the attempt failed, or would if it ended now.
  ///
  /// - Parameter hasCookie: COOKIE answers an INIT: then those get there.
  func failure(hasCookie: Bool) -> RegistrationFailure {
    if let hint { return hint }
    if sawExpiredCard { return .wrongClock(serverTime: nil) }
    if strangeAnswers > 0 { return .notUnderstood }
    return hasAnsweredShort && !hasCookie ? .longPacketsLost : .noAnswer
  }
}
