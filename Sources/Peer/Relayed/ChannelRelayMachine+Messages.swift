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
    /// More waits than may.
    case tooMany
    /// One stream more than may be.
    case tooManyStreams
    /// A relay of before.
    case notUnderstood
  }

  /// Takes a message for all who are in the channel now: it is sealed in parts, which go out at a
  /// pace, reliable on both hops.
  ///
  /// - Parameters:
  ///   - bytes: 1 to 65 536 of them.
  ///   - stream: 8 to 127.
  ///   - isOrdered: whether receivers are told of it after those of its stream before it.
  ///   - tag: what `messageFinished` names it by.
  package mutating func send(
    _ bytes: [UInt8], stream: UInt8 = 8, isOrdered: Bool = true, tag: UInt64 = 0, now: Instant
  ) -> Sending {
    guard isConnected, keys.isPublishing else { return .notPublishing }
    guard link.standing.terms?.payload.hasChannelData == true else { return .notUnderstood }
    guard talk.messages.mayUse(stream) else { return .tooManyStreams }
    guard talk.messages.append(bytes, stream: stream, isOrdered: isOrdered, tag: tag) else {
      return .tooMany
    }
    sendParts(now: now)
    return .sent
  }

  /// Own messages of which it is not known whether the relay has them.
  package var openMessages: [UInt64] { talk.messages.openTags }

  /// Parts that may leave, and messages that need not wait any longer.
  mutating func handleMessageTimeout(now: Instant) {
    sendParts(now: now)
    for late in talk.messages.handleTimeout(now: now) { publish([late.news], of: late.uid) }
  }

  /// What the session has said of own messages.
  mutating func settleMessages() {
    publish(talk.messages.settle(&link.mail, hasSession: isConnected))
  }

  private mutating func sendParts(now: Instant) {
    publish(
      talk.messages.sendParts(
        by: &link, sealedBy: &keys, isConnected: isConnected, now: now))
  }

  mutating func receive(_ data: SealedChannelMessage, now: Instant) {
    publish(talk.messages.receive(data, openedBy: &keys, now: now))
  }

  mutating func publish(_ news: [MessageNews], of uid: UInt32) {
    publish(RelayedMessages.events(news, of: uid))
  }

  private mutating func publish(_ events: [ChannelRelayEvent]) {
    for event in events { publish(event) }
  }
}
