import Forwarding
package import Primitives
import SecureSession
import Tokens
package import Wire

/// Several programs of one identity (docs/protocol/rendezvous.md §2): which of them a body goes to,
/// and how many there may be.
extension RendezvousMachine {
  /// What another node would be told of an identity's programs.
  package func presences(of id: PeerID, now: Instant) -> [PresenceRecord] {
    registry.all(of: id).map { slot in
      let left =
        UInt64(limits.silenceSeconds)
        &- min(
          UInt64(limits.silenceSeconds), UInt64(registry[slot].silence(now: now)))
      var record = record(of: slot)
      record.expiryMilliseconds = settings.unixMilliseconds(now) &+ left &* 1000
      return record
    }
  }

  /// What other nodes are told of a program; it expires with the node, so no time stands in it.
  func record(of slot: UInt32) -> PresenceRecord {
    PresenceRecord(
      identity: registry[slot].id, presence: registry[slot].presence,
      node: settings.identity.id.word0, expiryMilliseconds: .max,
      serial: registry[slot].initiated)
  }

  /// Tells other nodes of a program, where there are any; `false` where that cannot be done now.
  func announce(_ slot: UInt32) -> Bool {
    store.shared?.announce(
      record(of: slot), audience: registry.audience(of: slot), life: limits.keyLife) ?? true
  }

  /// Whether one more program of the identity may register; the same one again always may.
  ///
  /// - Parameter seat: At a relay, what it registers for.
  func hasRoom(for presence: Presence, of id: PeerID, _ seat: SeatClaim?, now: Instant) -> Bool {
    let rivals = registry.rivals(of: id, for: seat, in: channels.hub, limits)
    return rivals.isEmpty || registry.find(id, presence.id) != nil
      || rivals.contains {
        registry.mayGiveWay($0, to: presence.kind, period: limits.period, now: now)
      }
  }

  /// Ends the session that a newly confirmed one replaces or crowds out.
  mutating func makeRoom(for slot: UInt32, now: Instant) {
    let (id, presence) = (registry[slot].id, registry[slot].presence)
    if let older = registry.find(id, presence.id) {
      return close(older, .replaced, .replaced, now: now)
    }
    let seat = channels.hub?.claim(of: slot)
    var rivals = registry.rivals(of: id, for: seat, in: channels.hub, limits)
    let source = registry[slot].address
    if !limiter.hasRoom(for: 0, of: source, registry),
      case let near = registry.crowded(
        by: presence.kind, of: id, at: source, period: limits.period, now: now), !near.isEmpty
    {
      // There was room only because one of these had it.
      rivals = near
    }
    let yielding = rivals.filter {
      registry.mayGiveWay($0, to: presence.kind, period: limits.period, now: now)
    }
    let candidates = yielding.isEmpty ? rivals : yielding
    let oldest = candidates.max {
      registry[$0].silence(now: now) < registry[$1].silence(now: now)
    }
    if let oldest { close(oldest, .limits, .crowdedOut, now: now) }
  }
}

extension ClientRegistry {
  /// Sessions of an identity of which one has to end before there is another; none while there is
  /// room. At a relay those of one channel have a limit of their own.
  func rivals(
    of id: PeerID, for seat: SeatClaim?, in hub: ForwardingHub?, _ limits: ServerLimits
  ) -> [UInt32] {
    let all = all(of: id)
    let near = hub.map { hub in all.filter { hub.claim(of: $0)?.channel == seat?.channel } } ?? all
    if near.count >= limits.presencesPerIdentity { return near }
    return all.count < limits.sessionsPerIdentity ? [] : all
  }

  /// Sessions of an identity at the host of `source` that give way where that is full.
  func crowded(
    by kind: PresenceKind, of id: PeerID, at source: SocketAddress, period: Duration, now: Instant
  ) -> [UInt32] {
    all(of: id).filter {
      isAt(source, $0) && mayGiveWay($0, to: kind, period: period, now: now)
    }
  }

  /// One of which three PINGs in a row should have been heard since is probably dead; and a guest,
  /// which is not called, is worth less than a program that is.
  func mayGiveWay(
    _ slot: UInt32, to kind: PresenceKind, period: Duration, now: Instant
  ) -> Bool {
    let overdue = UInt16(clamping: period.milliseconds * 3 / 1000) &+ 2
    return self[slot].silence(now: now) > overdue
      || (kind.isInvited && self[slot].presence.kind == .guest)
  }

  /// Those of `all` that a body goes to.
  func destinations(among all: [UInt32], _ presence: PresenceID, now: Instant) -> [UInt32] {
    switch presence {
    case .every: return all.filter { self[$0].presence.kind.isInvited }
    case .anyOne:
      // The one heard last: it is the least likely to be dead.
      let answering = all.filter { self[$0].presence.kind == .answering }
      let best = answering.min { self[$0].silence(now: now) < self[$1].silence(now: now) }
      return best.map { [$0] } ?? []
    default: return all.filter { self[$0].presence.id == presence }
    }
  }
}
