import Cryptography
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
  /// What it was given for the name.
  var receipt: OpaqueReceipt?
  /// How many of the loudest hosts a member of a channel wants; 0 = as many as is usual.
  var loudest: UInt8 = 0
}

/// What has come of an attempt besides RESP: its reason, if it fails.
struct RegistrationSymptoms {
  /// What an unauthenticated packet said.
  private(set) var hint: RegistrationFailure?
  /// The last card that is of another identity than the expected one.
  var mismatch: RegistrationFailure?
  /// The root's list of nodes came, and does not hold by our clock.
  var listFault: RegistrationFailure?
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
    if let listFault { return listFault }
    if let hint { return hint }
    if sawExpiredCard { return .wrongClock(serverTime: nil) }
    if strangeAnswers > 0 { return .notUnderstood }
    return hasAnsweredShort && !hasCookie ? .longPacketsLost : .noAnswer
  }
}

/// NODES_REQUEST of an attempt: a server shows another identity than the pinned one, which may be
/// that of its root. One goes for each such card, as many as there may be requests for one.
struct RequestedNodes {
  private var isWanted = false
  private var count = 0

  mutating func ask() { isWanted = count < Self.most }

  /// Whether one is to be sent now.
  mutating func pop() -> Bool {
    guard isWanted else { return false }
    isWanted = false
    count += 1
    return true
  }

  func isAnswer(_ packet: NodesPacket, to nonce: UInt64) -> Bool {
    count > 0 && packet.nonce == nonce
  }

  private static let most = 5
}

extension RegistrationAttempt {
  /// BLAKE2b-256(label ‖ S): the keys of MAC1 and of cookies (docs/protocol/session.md §3).
  static func derive(_ label: StaticString, _ staticKey: Bytes32) -> SecretKey {
    var hash = BLAKE2b(byteCount: 32)
    hash.update(label)
    hash.update(staticKey.span)
    return SecretKey(hash.finalizeSecret(), from: 0)
  }

  static func mac1(over bytes: Span<UInt8>, for staticKey: Bytes32) -> Bytes16 {
    var hash = BLAKE2b(byteCount: 16, key: derive("EST1mac1", staticKey).span)
    hash.update(bytes)
    return hash.finalize16()
  }
}

extension ResponsePayload {
  /// Why no session was made; `nil` where one was.
  func refusal(of request: RegistrationRequest) -> RegistrationFailure? {
    switch status {
    case .notAllowed: .notAllowed
    case .superseded: .superseded(knownSerial: knownSerial)
    case .full: .full
    case .wrongClock: .wrongClock(serverTime: serverTime)
    case .tooManyPrograms: .tooManyPrograms
    case .nameOnCard: .nameOnCard
    case .tokenNeeded: .token(nil)
    // None was shown: docs/protocol/relay.md §2.
    case .tokenRefused where request.token == nil: .isRelay
    case .tokenRefused: .token(tokenFault)
    case .noNameAskedFor, .nameGranted, .nameTaken, .nameMalformed, .noMoreNames: nil
    }
  }
}
