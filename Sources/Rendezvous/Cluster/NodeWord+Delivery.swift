import Primitives
import Wire

extension NodeWord {
  /// Does what another node asks for.
  func deliver(in machine: inout RendezvousMachine, now: Instant) {
    switch self {
    case .message(let message): message.deliver(in: &machine, now: now)
    case .superseded(let key): key.deliver(in: &machine, now: now)
    }
  }
}

extension SupersededKey {
  /// Who registered here with the key that was given up has a session no more.
  fileprivate func deliver(in machine: inout RendezvousMachine, now: Instant) {
    let seconds = machine.settings.unixSeconds(now)
    let age = max(seconds, unixSeconds) - min(seconds, unixSeconds)
    guard node != machine.store.shared?.node.number, age <= Self.longestAge else { return }
    for slot in machine.registry.all(of: id) {
      machine.close(slot, .replaced, .replaced, now: now)
    }
  }

  /// What Redis kept for longer is not said anew: seconds.
  private static let longestAge: UInt64 = 60
}
