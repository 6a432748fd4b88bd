import Channels
import Peer
import Primitives
import Wire

/// Who is on the rosters that the rendezvous shows.
extension RelayedWorld {
  /// A member's program ends; the roster says so as well.
  func leave(_ uid: UInt32) {
    guard let member = member(uid) else { return }
    member.machine.shutDown(now: now)
    drain(member)
    remove(uid, .left)
  }

  /// A member is off the roster; its seat at the relay and its program stay.
  func remove(_ uid: UInt32, _ departure: Departure) {
    gone.insert(uid)
    tellRosters([uid: departure])
  }

  func tellRosters(_ departures: [UInt32: Departure] = [:]) {
    revision += 1
    for member in members where !gone.contains(member.uid) {
      member.machine.handleRoster(
        roster(for: member.uid), revision: revision, departures: departures, now: now)
      drain(member)
    }
  }

  private func roster(for viewer: UInt32) -> [ChannelMember] {
    members.filter { member in
      !gone.contains(member.uid) && !ghosts.contains(member.uid)
        && (member.uid == viewer || shownTo[member.uid]?.contains(viewer) ?? true)
    }
    .sorted { $0.uid < $1.uid }
    .map {
      ChannelMember(uid: $0.uid, role: $0.role, joinNumber: joinNumbers[$0.uid] ?? 0, id: $0.id)
    }
  }
}
