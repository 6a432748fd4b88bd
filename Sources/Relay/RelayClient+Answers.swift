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
    guard authentication?.isAuthentic(message, bytes) == true else { return counters.ignored &+= 1 }
    let transaction = transactions.remove(at: index)
    switch transaction.purpose {
    case .allocate: handleAllocation(message, now: now)
    case .refresh:
      stream.answerBy = nil
      if case .allocating = state {
        losses.handleGivenBack(now: now)
        return allocateAnew(now: now)
      }
      setRefresh(message, now: now)
    case .permit(let host): permissions.set(host, dueAt: now + limits.permissionPeriod)
    case .bind(let number, _):
      channels.set(number, isBound: true, dueAt: now + limits.channelPeriod)
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
    guard message.nonce != nil, message.realm != nil || authentication != nil else {
      return false
    }
    authentication = RelayAuthentication(
      credentials, asked: message, bytes, before: authentication)
    return authentication != nil
  }

  private mutating func handleAllocation(_ message: STUNMessage, now: Instant) {
    guard case .allocating = state else { return }
    guard let address = message.relayedAddress, !address.isUnsendable else {
      return fail(.allocate, .notUnderstood, now: now)
    }
    state = .allocated(address)
    losses.forgetOld()
    setRefresh(message, now: now)
    publish(.allocated(address))
    permissions.setAll(dueAt: now)
    renewPermissions(now: now)
  }

  /// The allocation is refreshed when half of its lifetime is over.
  private mutating func setRefresh(_ message: STUNMessage, now: Instant) {
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
    case .permit(let host): permissions.set(host, dueAt: now + pause)
    case .bind(let number, _): channels.set(number, isBound: false, dueAt: now + pause)
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
      guard let old = losses.takeOld() else { return waitForRoom(now: now) }
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
    guard losses.mayRoomCome(now: now) else { return false }
    transactions.append(RelayTransaction(.allocate, makeID(), at: now + Self.roomPause))
    return true
  }

  private static let roomPause = Duration.milliseconds(250)

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
    if hadRelay {
      let old = error == .noAnswer ? authentication.map { OldRelay($0, credentials) } : nil
      losses.handleLoss(old, now: now)
    } else {
      losses.handleRefusal(error)
    }
    forgetAllocation()
    state = .idle
    // A server that has an old allocation of our port answers 437 to a new one as well.
    // A stream that ends before there is a relay would end again.
    let isOld = !hadRelay && (error == .allocationLost || error == .connectionLost)
    var pause = isOld ? RelayLosses.pause : error.retryAfter
    if error == .noAnswer, transport != .udp, losses.isMissed(now: now) {
      pause = limits.silencePause
    }
    if error == .wrongCredentials, hasNewerCredentials { pause = .zero }
    if hadRelay, pause == .zero { pause = losses.pauseBeforeAnother(now: now) }
    retryAt = pause.map { now + $0 }
    publish(.failed(error))
  }

  mutating func forgetAllocation() {
    // The server forgets the allocation with its stream (RFC 8656 §5).
    stream.abandon()
    transactions.removeAll()
    channels.removeAll()
    permissions.setAll(dueAt: nil)
    refreshAt = nil
    authentication = nil
  }

  mutating func expireTransactions(now: Instant) {
    let expired = transactions.filter { $0.attempts >= limits.attempts && $0.nextAt <= now }
    transactions.removeAll { $0.attempts >= limits.attempts && $0.nextAt <= now }
    for transaction in expired { fail(transaction.purpose, .noAnswer, now: now) }
  }
}
