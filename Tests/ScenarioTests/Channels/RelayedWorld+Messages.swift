import Wire

@testable import Peer

/// Messages to the channel.
extension RelayedWorld {
  /// As `ChannelRelay.send`.
  @discardableResult
  func send(
    _ uid: UInt32, _ bytes: [UInt8], stream: UInt8 = 8, isOrdered: Bool = true, tag: UInt64 = 0
  ) -> ChannelRelayMachine.Sending? {
    guard let member = member(uid) else { return nil }
    defer { drain(member) }
    return member.machine.send(
      bytes, stream: stream, isOrdered: isOrdered, tag: tag, now: now)
  }

  /// What a member was told of a host's messages on one stream.
  func messages(_ uid: UInt32, of host: UInt32, stream: UInt8 = 8) -> [[UInt8]] {
    (member(uid)?.steps ?? []).compactMap { step in
      if case .message(host, stream, let bytes) = step { bytes } else { nil }
    }
  }

  /// What a member was told that it has missed: of whom, on which stream, how many, and how many
  /// waited.
  func missed(_ uid: UInt32) -> [[Int]] {
    (member(uid)?.steps ?? []).compactMap { step in
      guard case .messagesMissed(let host, let stream, let missed, let cached) = step else {
        return nil
      }
      return [Int(host), Int(stream), missed, cached]
    }
  }

  /// What a host was told of its own messages: those that the relay has, and the others.
  func results(_ uid: UInt32, isDelivered: Bool) -> [UInt64] {
    (member(uid)?.steps ?? []).compactMap { step in
      if case .messageFinished(let tag, isDelivered) = step { tag } else { nil }
    }
  }
}

extension [MessageNews] {
  /// The messages alone.
  var messages: [[UInt8]] {
    compactMap { if case .message(_, let bytes) = $0 { bytes } else { nil } }
  }
}
