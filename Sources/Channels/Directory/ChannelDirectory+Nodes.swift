package import Primitives
import Wire

/// What a directory needs where it is one of several nodes (docs/protocol/cluster.md §8).
extension ChannelDirectory {
  package func hasMember(_ program: ChannelProgram, stay: UInt64, of channel: Bytes32) -> Bool {
    place(of: channel).flatMap { rooms[$0]?.member(program) }?.stay == stay
  }

  /// Members of other nodes cannot be heard while those are not: their silence begins anew then.
  package mutating func setInTouch(_ isInTouch: Bool, now: Instant) {
    guard isInTouch != self.isInTouch else { return }
    self.isInTouch = isInTouch
    guard isInTouch else { return }
    for place in rooms.indices { rooms[place]?.hearAway(now: now) }
  }

  /// Gives up channels that are another node's now: their members join there.
  package mutating func abandon(where isElsewhere: (Bytes32) -> Bool) {
    for place in rooms.indices {
      guard let channel = rooms[place]?.identity.id, isElsewhere(channel) else { continue }
      for member in rooms[place]?.removeAll() ?? [] {
        counts.remove(member.program, at: member.source)
        send(.gone(stay: member.stay, .lost), channel, to: member.program)
      }
      forgetIfEmpty(place)
    }
  }
}
