import Primitives
import Wire

/// What the server answers, and what follows.
extension RelayClient {
  mutating func handleAnswer(_ message: STUNMessage, _ bytes: Span<UInt8>, now: Instant) {
    guard let index = transactions.firstIndex(where: { $0.id == message.transactionID }) else {
      return counters.ignored &+= 1
    }
    if message.messageClass == .failure {
      return handleFailure(message, bytes, of: index, now: now)
    }
    // An error says nothing that a success could not undo; a success must be the server's.
    guard isAuthentic(message, bytes) else { return counters.ignored &+= 1 }
    let transaction = transactions.remove(at: index)
    switch transaction.purpose {
    case .allocate: noteAllocated(message, now: now)
    case .refresh:
      stream.answerBy = nil
      if case .allocating = state {
        givenBackAt = now
        return allocateAnew(now: now)
      }
      noteLifetime(message, now: now)
    case .permit(let host):
      setPermission(host, dueAt: now + limits.permissionPeriod)
    case .bind(let number, _):
      setChannel(number, isBound: true, dueAt: now + limits.channelPeriod)
    }
  }

  private mutating func handleFailure(
    _ message: STUNMessage, _ bytes: Span<UInt8>, of index: Int, now: Instant
  ) {
    let transaction = transactions[index]
    // 401 asks for credentials, 438 for another nonce (RFC 8489 §9.2.5).
    let asksAnew =
      message.errorCode == 438 || message.errorCode == 401 && !transaction.isAuthenticated
    guard asksAnew, transaction.renewals < limits.renewals else {
      transactions.remove(at: index)
      return fail(transaction.purpose, RelayError(code: message.errorCode), now: now)
    }
    guard learnAuthentication(message, bytes) else {
      transactions.remove(at: index)
      return fail(transaction.purpose, .notUnderstood, now: now)
    }
    transactions[index].renew(makeID(), at: now)
  }

  private mutating func learnAuthentication(
    _ message: STUNMessage, _ bytes: Span<UInt8>
  ) -> Bool {
    guard let nonce = message.nonce else { return false }
    let realm = message.realm.map { copy(bytes, $0) } ?? authentication?.realm
    guard let realm else { return false }
    // What the server has once asked for, a later answer does not weaken.
    let offered =
      message.passwordAlgorithms.map { copy(bytes, $0) } ?? authentication?.offered ?? nil
    authentication = RelayAuthentication(
      credentials, realm: realm, nonce: copy(bytes, nonce), offered: offered)
    return authentication != nil
  }

  private func copy(_ bytes: Span<UInt8>, _ range: Range<Int>) -> [UInt8] {
    range.map { bytes[$0] }
  }

  /// Whether the message authentication code is the one of our password.
  func isAuthentic(_ message: STUNMessage, _ bytes: Span<UInt8>) -> Bool {
    guard let authentication else { return false }
    let place = authentication.offered == nil ? message.integrity : message.integritySHA256
    guard let place else { return false }
    var covered = copy(bytes, 0..<place.offset)
    let length = place.value.upperBound - STUNLimits.headerByteCount
    covered[2] = UInt8(truncatingIfNeeded: length >> 8)
    covered[3] = UInt8(truncatingIfNeeded: length)
    let code = authentication.code(covered)
    guard code.count >= place.value.count else { return false }
    // Every byte is looked at: the time tells nothing of where they differ.
    let difference = place.value.indices.reduce(UInt8(0)) {
      $0 | (bytes[$1] ^ code[$1 - place.value.lowerBound])
    }
    return difference == 0
  }

  private mutating func noteAllocated(_ message: STUNMessage, now: Instant) {
    guard case .allocating = state else { return }
    guard let address = message.relayedAddress, !address.isUnsendable else {
      return fail(.allocate, .notUnderstood, now: now)
    }
    state = .allocated(address)
    old = nil
    noteLifetime(message, now: now)
    publish(.allocated(address))
    for index in permissions.indices { permissions[index].dueAt = now }
    renewPermissions(now: now)
  }

  private mutating func noteLifetime(_ message: STUNMessage, now: Instant) {
    guard case .allocated = state else { return }
    let seconds = min(max(message.lifetime ?? limits.lifetime, 2), 3600)
    refreshAt = now + .seconds(Int64(seconds)) / 2
  }

  /// A request came to nothing.
  mutating func fail(
    _ purpose: RelayTransaction.Purpose, _ error: RelayError, now: Instant
  ) {
    if case .allocating = state, error != .noAnswer, giveWay(purpose, error, now: now) { return }
    if error == .allocationLost { return loseRelay(error, now: now) }
    let pause = error == .noAnswer ? limits.silencePause : limits.refusalPause
    switch purpose {
    case .permit(let host): setPermission(host, dueAt: now + pause)
    case .bind(let number, _): setChannel(number, isBound: false, dueAt: now + pause)
    case .allocate, .refresh: loseRelay(error, now: now)
    }
  }

  /// The server keeps the relay of before an outage: it is given back first.
  private mutating func giveWay(
    _ purpose: RelayTransaction.Purpose, _ error: RelayError, now: Instant
  ) -> Bool {
    switch purpose {
    case .allocate:
      guard error == .allocationLost else { return false }
      guard let old, !old.isTried else { return waitForRoom(now: now) }
      self.old?.isTried = true
      authentication = old.proof
      credentials = old.credentials
      begin(.refresh(0), now: now)
      return true
    case .refresh:
      allocateAnew(now: now)
      return true
    case .permit, .bind: return false
    }
  }

  /// A server may keep for a moment what was given back (coturn: 1 s).
  private mutating func waitForRoom(now: Instant) -> Bool {
    guard let givenBackAt, now < givenBackAt + Self.mostRoomPause else { return false }
    transactions.append(RelayTransaction(.allocate, makeID(), at: now + Self.roomPause))
    return true
  }

  private static let roomPause = Duration.milliseconds(250)
  private static let mostRoomPause = Duration.seconds(3)

  /// The relay of before was given back, or is not there any more.
  private mutating func allocateAnew(now: Instant) {
    if hasNewerCredentials {
      credentials = nextCredentials
      authentication = nil
    }
    if !isUnderWay(.allocate) { begin(.allocate, now: now) }
  }

  mutating func loseRelay(_ error: RelayError, now: Instant) {
    if case .closing = state { return }
    let hadRelay = relayedAddress != nil
    noteLoss(error, hadRelay: hadRelay, now: now)
    forgetAllocation()
    state = .idle
    // A server that has an old allocation of our port answers 437 to a new one as well.
    // A stream that ends before there is a relay would end again.
    let isOld = !hadRelay && (error == .allocationLost || error == .connectionLost)
    var pause = isOld ? Self.oldAllocationPause : error.retryAfter
    if error == .noAnswer, transport != .udp, isMissed(now: now) { pause = limits.silencePause }
    if error == .wrongCredentials, hasNewerCredentials { pause = .zero }
    if hadRelay, pause == .zero {
      // A server that gives relays and takes them again is not asked without end.
      if let lostAt, now < lostAt + Self.oldAllocationPause { pause = Self.oldAllocationPause }
      lostAt = now
    }
    retryAt = pause.map { now + $0 }
    publish(.failed(error))
  }

  private mutating func noteLoss(_ error: RelayError, hadRelay: Bool, now: Instant) {
    if hadRelay {
      missedSince = now
      old = error == .noAnswer ? authentication.map { OldRelay($0, credentials) } : nil
    } else if error == .noAnswer {
      old?.isTried = false
    } else if error == .allocationLost {
      old = nil
    }
  }

  /// Whether there was a relay not long ago: as long as a call may wait for a side that is away.
  func isMissed(now: Instant) -> Bool {
    missedSince.map { now < $0 + Self.longestMissed } ?? false
  }

  private static let longestMissed = Duration.seconds(1200)

  /// Until the server may have forgotten an allocation of an earlier program on our port, or be
  /// well again.
  private static let oldAllocationPause = Duration.seconds(10)

  mutating func forgetAllocation() {
    // The server forgets the allocation with its stream (RFC 8656 §5).
    stream.abandon()
    transactions.removeAll()
    channels.removeAll()
    for index in permissions.indices { permissions[index].dueAt = nil }
    refreshAt = nil
    authentication = nil
  }

  mutating func expireTransactions(now: Instant) {
    let expired = transactions.filter { $0.attempts >= limits.attempts && $0.nextAt <= now }
    transactions.removeAll { $0.attempts >= limits.attempts && $0.nextAt <= now }
    for transaction in expired { fail(transaction.purpose, .noAnswer, now: now) }
  }

  private mutating func setPermission(_ host: SocketAddress, dueAt: Instant) {
    for index in permissions.indices where permissions[index].host == host {
      permissions[index].dueAt = dueAt
    }
  }

  private mutating func setChannel(_ number: UInt16, isBound: Bool, dueAt: Instant) {
    for index in channels.indices where channels[index].number == number {
      channels[index].isBound = isBound
      channels[index].dueAt = dueAt
    }
  }
}

/// A relay that was lost because the server did not answer, and how it is given back.
struct OldRelay: Sendable {
  let proof: RelayAuthentication
  let credentials: RelayCredentials
  /// Whether it was given back, as far as we know.
  var isTried = false

  init(_ proof: RelayAuthentication, _ credentials: RelayCredentials) {
    self.proof = proof
    self.credentials = credentials
  }
}
