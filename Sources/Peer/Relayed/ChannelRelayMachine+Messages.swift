import Congestion
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
    /// A relay of before.
    case notUnderstood
  }

  /// Takes a message for all who are in the channel now: it is sealed in parts, which go out at a
  /// pace, reliable on both hops.
  ///
  /// - Parameters:
  ///   - bytes: 1 to 65 536 of them.
  ///   - isOrdered: whether receivers are told of it after those before it.
  package mutating func send(
    _ bytes: [UInt8], isOrdered: Bool = true, now: Instant
  ) -> Sending {
    guard isConnected, keys.isPublishing else { return .notPublishing }
    guard link.standing.terms?.payload.hasChannelData == true else { return .notUnderstood }
    guard talk.messages.append(bytes, isOrdered: isOrdered) else { return .tooMany }
    sendParts(now: now)
    return .sent
  }

  /// Those that may leave now.
  mutating func sendParts(now: Instant) {
    let room = OutgoingParts.Room(
      listeners: keys.memberCount, bitsPerSecond: link.association?.uplink?.allowance)
    while let part = talk.messages.poll(room, now: now) {
      // Who is no host any more has no key: the rest is for nobody.
      guard let frame = keys.seal(part.encoded, metadata: DataPart.metadata) else { continue }
      link.send(.channelData(SealedChannelMessage(uid: 0, frame: frame)), now: now)
    }
  }

  mutating func receive(_ data: SealedChannelMessage, now: Instant) {
    let text = keys.open(data.frame, from: data.uid, metadata: DataPart.metadata, now: now)
    guard let text, let part = DataPart(text) else { return }
    for bytes in talk.messages.handle(part, of: data.uid, now: now) {
      publish(.message(uid: data.uid, bytes))
    }
  }
}
