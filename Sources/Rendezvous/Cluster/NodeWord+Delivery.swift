import Primitives
import Wire

extension NodeWord {
  /// Does what another node asks for.
  func deliver(in machine: inout RendezvousMachine, now: Instant) {
    switch self {
    case .message(let message): message.deliver(in: &machine, now: now)
    case .superseded(let key): key.deliver(in: &machine, now: now)
    case .taken(let taken):
      machine.storeWork.deliveries.noteAnswer(taken)?.conclude(in: &machine, now: now)
    case .moved(let program): program.deliver(in: &machine, now: now)
    case .asked(let request): request.deliver(in: &machine, now: now)
    case .noticed(let notice): notice.deliver(in: &machine, now: now)
    case .relays(let relays): machine.channels.relays.others.handle(relays, now: now)
    case .wished(let wish): wish.deliver(in: &machine, now: now)
    case .silent(let word): word.deliver(in: &machine, now: now)
    case .ended(let seats): seats.deliver(in: &machine, now: now)
    case .nameMoved(let name): name.deliver(in: &machine, now: now)
    case .banned(let member): ChannelService.keepOut(StoredBan(member), in: &machine, now: now)
    }
  }
}

extension StoredBan {
  fileprivate init(_ member: MemberBanned) {
    self.init(channel: member.channel, id: member.id, until: member.until)
  }
}

extension ProgramMoved {
  /// The session of before is over.
  func deliver(in machine: inout RendezvousMachine, now: Instant) {
    guard let slot = machine.registry.find(id, presence), machine.registry[slot].initiated < serial
    else { return }
    machine.close(slot, .replaced, .replaced, now: now)
  }
}

extension NameMoved {
  /// Who has had the name learns from the next RESP that it is another one's.
  fileprivate func deliver(in machine: inout RendezvousMachine, now: Instant) {
    for slot in machine.registry.slots(named: name) where machine.registry[slot].id != owner {
      machine.close(slot, .limits, .promiseBroken, now: now)
    }
  }
}

extension SupersededKey {
  /// Who registered here with the key that was given up has a session no more. What began when the
  /// word was said, or later, is of the newer key: that one had been seen then.
  fileprivate func deliver(in machine: inout RendezvousMachine, now: Instant) {
    let seconds = machine.settings.unixSeconds(now)
    let age = max(seconds, unixSeconds) - min(seconds, unixSeconds)
    guard node != machine.store.shared?.node.number, age <= Self.longestAge else { return }
    for slot in machine.registry.all(of: id)
    where UInt64(machine.registry[slot].age(now: now)) > age + Self.tolerance {
      machine.close(slot, .replaced, .replaced, now: now)
    }
  }

  /// Two programs with the newer key may begin at two nodes at once, and clocks differ: seconds.
  private static let tolerance: UInt64 = 3
  /// What Redis kept for longer is not said anew: seconds.
  private static let longestAge: UInt64 = 60
}
