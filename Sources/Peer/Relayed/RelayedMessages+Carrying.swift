import Congestion
import GroupKeys
import Messaging
import Primitives
import Wire

/// How messages go and come: sealed in parts by the session with the relay
/// (docs/protocol/relay.md §3).
extension RelayedMessages {
  /// Sends own parts that may leave now. Without a session they wait for one.
  ///
  /// - Returns: What is to be told.
  mutating func sendParts(
    by link: inout RendezvousLink, sealedBy keys: inout GroupKeyMachine, isConnected: Bool,
    now: Instant
  ) -> [ChannelRelayEvent] {
    guard isConnected, link.isRegistered else {
      hold(now: now)
      return []
    }
    let room = OutgoingParts.Room(
      listeners: keys.memberCount, bitsPerSecond: link.association?.uplink?.allowance)
    var events: [ChannelRelayEvent] = []
    while let departure = poll(room, now: now) {
      var tag: MessageTag?
      // Who is no host any more has no key: the rest is for nobody.
      if let frame = keys.seal(departure.part.encoded, metadata: DataPart.metadata) {
        tag = link.mail.sendWatched(
          .channelData(SealedChannelMessage(uid: 0, frame: frame)), on: link.association,
          life: RendezvousLink.messageLife, now: now)
      }
      events += Self.events(handleDeparture(departure, as: tag))
    }
    return events
  }

  /// What the session has said of own parts.
  mutating func settle(
    _ mail: inout RendezvousMail, hasSession: Bool
  ) -> [ChannelRelayEvent] {
    var events: [ChannelRelayEvent] = []
    while let end = mail.popEnd() {
      events += Self.events(handleEnd(of: end.tag, isDelivered: end.isDelivered))
    }
    let isNew = mail.takeNewSession()
    guard isNew || !hasSession else { return events }
    mail.forgetWatched()
    return events + handleSessionEnd().flatMap { Self.events($0) }
  }

  /// Takes a sealed part of a member.
  mutating func receive(
    _ data: SealedChannelMessage, openedBy keys: inout GroupKeyMachine, now: Instant
  ) -> [ChannelRelayEvent] {
    let text = keys.open(data.frame, from: data.uid, metadata: DataPart.metadata, now: now)
    guard let text, let part = DataPart(text) else { return [] }
    return Self.events(handle(part, of: data.uid, now: now), of: data.uid)
  }

  static func events(_ news: [MessageNews], of uid: UInt32) -> [ChannelRelayEvent] {
    news.map { one in
      switch one {
      case .message(let stream, let bytes): .message(uid: uid, stream: stream, bytes)
      case .missed(let stream, let missed, let cached):
        .messagesMissed(uid: uid, stream: stream, missed: missed, cached: cached)
      }
    }
  }

  private static func events(_ result: MessageReceipts.Result?) -> [ChannelRelayEvent] {
    guard let result else { return [] }
    return [.messageFinished(tag: result.tag, isDelivered: result.isDelivered)]
  }
}
