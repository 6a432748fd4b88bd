import Primitives
import Wire

/// A number that stands for a peer's address between us and the server (RFC 8656 §12).
struct RelayChannel: Sendable {
  let number: UInt16
  let peer: SocketAddress
  /// The server has confirmed it.
  var isBound = false
  var lastUsed: Instant
  /// When it is bound anew; `nil` while the server is asked.
  var dueAt: Instant?
}

/// The channels of an allocation, at most `RelayLimits.channels`.
struct RelayChannels: Sendable {
  /// How a packet gets to a peer.
  enum Way: Sendable {
    /// By the number that the server has bound to it.
    case bound(UInt16)
    /// By a Send indication, until the server has bound its number.
    case unbound
    /// The same, and it has no number.
    case unknown
  }

  private(set) var channels: [RelayChannel] = []
  private var nextNumber = STUNLimits.channels.lowerBound
  private let limit: Int
  /// After which a channel in use is bound anew.
  private let period: Duration

  init(_ limits: RelayLimits) {
    limit = limits.channels
    period = limits.channelPeriod
  }

  func peer(of number: UInt16) -> SocketAddress? {
    channels.first { $0.number == number }?.peer
  }

  var nextDeadline: Instant? { channels.reduce(nil) { earliest($0, $1.dueAt) } }

  /// A packet goes to `peer`.
  mutating func use(for peer: SocketAddress, now: Instant) -> Way {
    guard let index = channels.firstIndex(where: { $0.peer == peer }) else { return .unknown }
    if channels[index].lastUsed + period <= now, channels[index].dueAt != nil {
      // The server may have forgotten it: the same number is bound to the same peer again.
      channels[index].isBound = false
      channels[index].dueAt = now
    }
    channels[index].lastUsed = now
    return channels[index].isBound ? .bound(channels[index].number) : .unbound
  }

  /// A number for a peer that has none, which the server is then asked to bind; `nil` = no room.
  mutating func open(to peer: SocketAddress, now: Instant) -> UInt16? {
    if channels.count >= limit {
      guard let index = channels.firstIndex(where: { isForgotten($0, now: now) }) else {
        return nil
      }
      channels.remove(at: index)
    }
    let number = nextNumber
    // 4096 numbers: each is used again much later than the server forgets it.
    nextNumber =
      number == STUNLimits.channels.upperBound ? STUNLimits.channels.lowerBound : number + 1
    channels.append(RelayChannel(number: number, peer: peer, lastUsed: now))
    return number
  }

  /// Forgets what the server has forgotten as well.
  mutating func removeForgotten(now: Instant) {
    channels = channels.filter { !isForgotten($0, now: now) }
  }

  /// A channel in use that is to be bound anew; others lapse. Call until `nil`.
  mutating func popDue(now: Instant) -> RelayChannel? {
    for index in channels.indices {
      guard let due = channels[index].dueAt, due <= now else { continue }
      guard channels[index].lastUsed + period > now else {
        // The server is left to forget it.
        channels[index].dueAt = now + period
        continue
      }
      channels[index].dueAt = nil
      return channels[index]
    }
    return nil
  }

  /// The server has answered, or not.
  ///
  /// - Parameter dueAt: When it is asked again.
  mutating func set(_ number: UInt16, isBound: Bool, dueAt: Instant) {
    for index in channels.indices where channels[index].number == number {
      channels[index].isBound = isBound
      channels[index].dueAt = dueAt
    }
  }

  mutating func removeAll() { channels.removeAll() }

  /// It was last bound less than one period after it was last used, and holds for two: until then
  /// what comes has its number.
  private func isForgotten(_ channel: RelayChannel, now: Instant) -> Bool {
    channel.dueAt != nil && channel.lastUsed + period * 3 <= now
  }
}
