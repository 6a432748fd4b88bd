internal import Primitives

/// How long a call with a member goes on beside the relay (docs/protocol/channels.md §9): until its
/// other end is heard by the relay for a while, so that it hears us there as well. Who says nothing
/// is given time; who has no seat has nothing but the call.
struct ChannelOverlap {
  private struct Member {
    /// Since when it is heard by the relay without a pause.
    var heard: Instant?
    /// Since when it is known to have a seat.
    var seated: Instant?
  }

  /// From one look at the calls beside a relay to the next.
  static let pace = Duration.milliseconds(250)
  /// Who was heard by the relay so long ago is heard by it now.
  static let recent = Duration.milliseconds(500)

  private var connected: Instant?
  private var members: [UInt32: Member] = [:]

  init() {}

  // MARK: - Inputs

  /// We have a seat, or have one again.
  mutating func handleConnected(now: Instant) {
    connected = now
    for uid in members.keys { members[uid]?.heard = nil }
  }

  mutating func update(_ uid: UInt32, isHeard: Bool, isSeated: Bool, now: Instant) {
    var member = members[uid] ?? Member()
    member.heard = isHeard ? member.heard ?? now : nil
    member.seated = isSeated ? member.seated ?? now : nil
    members[uid] = member
  }

  mutating func remove(_ uid: UInt32) { members[uid] = nil }

  // MARK: - Getters

  /// Whether the relay does what a call with this member does.
  func isOver(with uid: UInt32, now: Instant) -> Bool {
    guard let connected, let member = members[uid] else { return false }
    if let heard = member.heard, now >= heard + ChannelWay.overlap { return true }
    guard let seated = member.seated else { return false }
    return now >= max(connected, seated) + Self.longest
  }

  /// For calls with members who are not heard by the relay: they only listen, or say nothing.
  private static let longest = Duration.seconds(10)
}
