import GroupKeys
package import Primitives
import Wire

/// Messages to all members of a channel (docs/protocol/relay.md §3).
extension ChannelRelayMachine {
  /// What became of a message that was to be sent.
  package enum Sending: Equatable, Sendable {
    case sent
    /// No seat, or one that only listens.
    case notPublishing
    /// More than 30 a second.
    case tooMany
    /// A relay of before.
    case notUnderstood
  }

  /// Seals a message for all who are in the channel now, and sends it: reliable on both hops.
  ///
  /// - Parameter bytes: 1 to 1024 of them.
  package mutating func send(_ bytes: [UInt8], now: Instant) -> Sending {
    guard isConnected, keys.isPublishing else { return .notPublishing }
    guard link.standing.terms?.payload.hasChannelData == true else { return .notUnderstood }
    guard let message = talk.messages.makeMessage(bytes, now: now) else { return .tooMany }
    guard let frame = keys.seal(message.encoded, metadata: DataMessage.metadata) else {
      return .notPublishing
    }
    link.send(.channelData(SealedChannelMessage(uid: 0, frame: frame)), now: now)
    return .sent
  }

  mutating func receive(_ data: SealedChannelMessage, now: Instant) {
    let text = keys.open(data.frame, from: data.uid, metadata: DataMessage.metadata, now: now)
    guard let text, let message = DataMessage(text) else { return }
    for bytes in talk.messages.handle(message, of: data.uid, now: now) {
      publish(.message(uid: data.uid, bytes))
    }
  }
}
