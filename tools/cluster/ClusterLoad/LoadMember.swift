import Calling
import Peer
import Primitives
import Reactor
import Wire

/// One client, which answers whoever calls it.
final class LoadMember {
  let index: Int
  let id: PeerID
  let driver: MachineDriver<PeerMachine>
  /// The node that it is registered with; `nil` before it is.
  var node: PeerID?
  /// The call that it is in, on either side.
  var call: LoadCall?
  /// Before, it is in no further call: its own side of the one before may not be over.
  var restsUntil = Instant.zero

  init(_ index: Int, _ id: PeerID, _ driver: MachineDriver<PeerMachine>) {
    self.index = index
    self.id = id
    self.driver = driver
  }

  /// Says one frame of sound, which is what the other side waits for.
  func speak(in call: CallID) {
    let payload = [UInt8](repeating: 7, count: 80)
    driver.withMachine { machine, now in
      _ = machine.sendAudio(
        payload.span, mediaTime: 0, length: .milliseconds20, isMarked: false, on: call, now: now)
    }
  }

  func accept(_ call: CallID) {
    driver.withMachine { machine, now in
      // Refused where the caller has given up meanwhile: its line says so.
      try? machine.accept(call, now: now)
    }
  }

  func end(_ call: CallID) {
    driver.withMachine { machine, now in
      // Refused where the other side has ended it.
      try? machine.end(call, now: now)
    }
  }
}

/// A call from its beginning to its end.
final class LoadCall {
  let caller: LoadMember
  let callee: LoadMember
  let began: Instant
  /// The nodes of both at its beginning.
  let isOfOneNode: Bool
  var id: CallID?
  var connected: Instant?

  init(_ caller: LoadMember, _ callee: LoadMember, began: Instant) {
    self.caller = caller
    self.callee = callee
    self.began = began
    isOfOneNode = caller.node == callee.node
  }
}
