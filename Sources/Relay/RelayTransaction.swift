import Primitives
import Wire

/// One request that the server has not answered yet.
struct RelayTransaction: Sendable {
  enum Purpose: Hashable, Sendable {
    case allocate
    /// For so many seconds; 0 gives the allocation up.
    case refresh(UInt32)
    /// For the host, whatever the port.
    case permit(SocketAddress)
    case bind(UInt16, SocketAddress)
  }

  let purpose: Purpose
  private(set) var id: STUNTransactionID
  private(set) var attempts = 0
  private(set) var renewals = 0
  private(set) var nextAt: Instant
  /// Whether the last sending was with credentials.
  private(set) var isAuthenticated = false

  init(_ purpose: Purpose, _ id: STUNTransactionID, at now: Instant) {
    self.purpose = purpose
    self.id = id
    nextAt = now
  }

  /// Its next sending is due now.
  mutating func hurry(now: Instant) { nextAt = min(nextAt, now) }

  mutating func countSent(isAuthenticated: Bool, _ limits: RelayLimits, now: Instant) {
    let wait = min(limits.firstRepetition * (1 << min(attempts, 10)), limits.lastRepetition)
    attempts += 1
    self.isAuthenticated = isAuthenticated
    nextAt = now + wait
  }

  /// The server has named a realm or a nonce: the same again, as a new request.
  mutating func renew(_ id: STUNTransactionID, at now: Instant) {
    self.id = id
    renewals += 1
    attempts = 0
    nextAt = now
  }
}
