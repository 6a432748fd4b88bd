import Primitives
import Wire

/// What is asked of the server, and when again.
extension RelayClient {
  func request(_ transaction: RelayTransaction) -> [UInt8] {
    var writer: STUNWriter
    switch transaction.purpose {
    case .allocate:
      writer = STUNWriter(.request, .allocate, transaction.id)
      writer.append(.requestedTransport, Self.udp)
      writer.append(.lifetime, limits.lifetime)
    case .refresh(let seconds):
      writer = STUNWriter(.request, .refresh, transaction.id)
      writer.append(.lifetime, seconds)
    case .permit(let host):
      writer = STUNWriter(.request, .createPermission, transaction.id)
      writer.append(.xorPeerAddress, host)
    case .bind(let number, let peer):
      writer = STUNWriter(.request, .channelBind, transaction.id)
      writer.append(.channelNumber, UInt32(number) << 16)
      writer.append(.xorPeerAddress, peer)
    }
    authentication?.append(to: &writer, user: credentials.user)
    return writer.bytes
  }

  /// One host a request: the server refuses all of a request for the sake of one.
  mutating func renewPermissions(now: Instant) {
    while let host = permissions.popDue(now: now) { begin(.permit(host), now: now) }
  }

  /// Binds channels in use anew.
  mutating func renewChannels(now: Instant) {
    channels.removeForgotten(now: now)
    while let due = channels.popDue(now: now) { begin(.bind(due.number, due.peer), now: now) }
  }

  /// REQUESTED-TRANSPORT: UDP, 17 (RFC 8656 §18.7).
  private static let udp: UInt32 = 17 << 24
}
