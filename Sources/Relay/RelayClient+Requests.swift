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
    if let authentication { authenticate(&writer, authentication) }
    return writer.bytes
  }

  private func authenticate(_ writer: inout STUNWriter, _ authentication: RelayAuthentication) {
    writer.append(.username, Array(credentials.user.utf8))
    writer.append(.realm, authentication.realm)
    writer.append(.nonce, authentication.nonce)
    guard let offered = authentication.offered else {
      return writer.append(.messageIntegrity, byteCount: 20, authenticate: authentication.code)
    }
    // RFC 8489 §9.2.5: the server's own list comes back, so that nobody can have shortened it.
    writer.append(.passwordAlgorithms, offered)
    writer.append(.passwordAlgorithm, UInt32(authentication.algorithm.rawValue) << 16)
    writer.append(.messageIntegritySHA256, byteCount: 32, authenticate: authentication.code)
  }

  mutating func renewPermissions(now: Instant) {
    for index in permissions.indices {
      guard let due = permissions[index].dueAt, due <= now else { continue }
      permissions[index].dueAt = nil
      // One host a request: the server refuses all of a request for the sake of one.
      begin(.permit(permissions[index].host), now: now)
    }
  }

  /// Binds channels in use anew; others lapse.
  mutating func renewChannels(now: Instant) {
    channels = channels.filter { !isForgotten($0, now: now) }
    for index in channels.indices {
      guard let due = channels[index].dueAt, due <= now else { continue }
      guard channels[index].lastUsed + limits.channelPeriod > now else {
        // The server is left to forget it.
        channels[index].dueAt = now + limits.channelPeriod
        continue
      }
      channels[index].dueAt = nil
      begin(.bind(channels[index].number, channels[index].peer), now: now)
    }
  }

  /// Whether the server has forgotten it as well. It was last bound less than one period after it
  /// was last used, and holds for two: until then what comes has its number.
  private func isForgotten(_ channel: RelayChannel, now: Instant) -> Bool {
    channel.dueAt != nil && channel.lastUsed + limits.channelPeriod * 3 <= now
  }

  mutating func openChannel(to peer: SocketAddress, now: Instant) {
    if channels.count >= limits.channels {
      guard let index = channels.firstIndex(where: { isForgotten($0, now: now) }) else { return }
      channels.remove(at: index)
    }
    let number = nextChannel
    // 4096 numbers: each is used again much later than the server forgets it.
    nextChannel =
      number == STUNLimits.channels.upperBound ? STUNLimits.channels.lowerBound : number + 1
    channels.append(RelayChannel(number: number, peer: peer, lastUsed: now))
    begin(.bind(number, peer), now: now)
  }

  /// REQUESTED-TRANSPORT: UDP, 17 (RFC 8656 §18.7).
  private static let udp: UInt32 = 17 << 24
}
