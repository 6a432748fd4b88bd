import Primitives
import Wire

/// What was decided and not yet polled, oldest first; its owner empties it after each input.
struct ActionQueue: Sendable {
  private var actions: [CallAction] = []
  private var next = 0

  mutating func push(_ action: CallAction) { actions.append(action) }

  /// An answer to whoever said something about a call.
  mutating func reply(
    _ signal: CallSignal, _ callID: CallID, _ peer: PeerID, to presence: PresenceID
  ) {
    if presence == .every {
      push(.send(signal, callID, to: peer, signal.repetitionRoute))
    } else {
      push(.sendTo(presence, signal, callID, of: peer))
    }
  }

  mutating func pop() -> CallAction? {
    guard next < actions.count else {
      actions.removeAll(keepingCapacity: true)
      next = 0
      return nil
    }
    defer { next += 1 }
    return actions[next]
  }
}
