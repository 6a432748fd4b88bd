import Primitives
import Wire

/// Which invitations start nothing: those seen before, too old, or too many
/// (docs/protocol/calling.md §2).
struct InviteFilter: Sendable {
  private let startedAt: Instant
  private(set) var seen = SeenCalls()
  private var limiter = InviteLimiter()

  init(now: Instant) { startedAt = now }

  /// Why an INVITE that is still sealed is not opened; `nil` = it is.
  mutating func refusal(
    of callID: CallID, from peer: PeerID, isFamiliar: Bool, now: Instant
  ) -> IgnoredSignal? {
    if seen.contains(callID) { return .seenBefore }
    guard limiter.admits(peer, isFamiliar: isFamiliar, now: now) else { return .rateLimited }
    return seen.hasRoom(isFamiliar: isFamiliar, now: now) ? nil : .tooMany
  }

  /// Why an INVITE that was opened starts nothing; `nil` = it may.
  ///
  /// - Parameter rendezvousNow: What the rendezvous' clock shows now, in ms.
  func refusal(
    of invitation: Invitation, rendezvousNow: UInt64, now: Instant
  ) -> IgnoredSignal? {
    if let reason = staleness(invitation.createdMilliseconds, rendezvousNow, now: now) {
      return reason
    }
    return seen.contains(invitation.callID) ? .seenBefore : nil
  }

  mutating func insert(_ callID: CallID, now: Instant) { seen.insert(callID, now: now) }

  /// The age limit counts both ways; and nothing from before this program started rings, because
  /// the memory of the IDs seen then is gone (1 s is for the difference of the clocks).
  private func staleness(
    _ created: UInt64, _ rendezvousNow: UInt64, now: Instant
  ) -> IgnoredSignal? {
    if rendezvousNow > created, rendezvousNow - created > CallLimits.ageMilliseconds {
      return .tooOld
    }
    if created > rendezvousNow, created - rendezvousNow > CallLimits.ageMilliseconds {
      return .tooFarAhead
    }
    let runningFor = now.nanoseconds(since: startedAt) / 1_000_000 &+ 1000
    let age = rendezvousNow > created ? rendezvousNow - created : 0
    return age > runningFor ? .beforeStart : nil
  }
}
