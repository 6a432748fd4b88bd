internal import GroupKeys
internal import Peer
internal import Reactor

/// How things stand at the relay.
extension ChannelRelay {
  /// Whether a member has a seat at the relay: it shows the cards of those, and they were verified.
  /// Of up to 17 members it is asked again for cards of whom nothing comes.
  public func isSeated(_ uid: UInt32) -> Bool { driver?.readMachine { $0.isSeated(uid) } ?? false }

  /// How many members we have verified, and what people compare; empty in a large audience, which
  /// verifies hosts alone.
  public var standing: (verified: Int, fingerprint: String) {
    driver?.readMachine { ($0.verifiedCount, $0.isPartial ? "" : $0.fingerprint.text) } ?? (0, "")
  }

  /// Frames that were sent, that opened, and that did not, over all seats.
  public var counts: (sent: UInt64, opened: UInt64, unopened: UInt64) {
    numbers.counts(with: driver)
  }
}
