import Primitives
import Wire

/// The calls that are over, at most `CallLimits.endedCalls`, in the order in which they ended: kept
/// until their keys are of no more use.
struct EndedCalls: Sendable {
  private var calls: [EndedCall] = []

  subscript(callID: CallID) -> EndedCall? { calls.first { $0.callID == callID } }

  var count: Int { calls.count }
  /// In the order in which they ended.
  var ids: [CallID] { calls.map(\.callID) }

  /// Whether the last word of one is still being delivered.
  var isDelivering: Bool { calls.contains { $0.isClosing } }

  var nextDeadline: Instant? { calls.reduce(nil) { earliest($0, $1.nextDeadline) } }

  /// Keeps a call; the oldest makes room, and of those that strangers are still told of the oldest
  /// is told no more.
  mutating func append(_ call: EndedCall, _ actions: inout ActionQueue) {
    if calls.count >= CallLimits.endedCalls {
      actions.push(.erase(calls.removeFirst().callID))
    }
    calls.append(call)
    func isTold(_ call: EndedCall) -> Bool { call.isStranger && call.isClosing }
    while calls.count(where: isTold) > CallLimits.strangersToldAtOnce,
      let index = calls.firstIndex(where: isTold)
    {
      calls[index].endDelivery()
      actions.push(.close(calls[index].callID))
    }
  }

  /// What is still said about a call that is over.
  ///
  /// - Parameter presence: At the caller, the callee's program that says it.
  /// - Returns: Whether it had an effect.
  mutating func handle(
    _ signal: CallSignal, _ callID: CallID, from presence: PresenceID,
    _ actions: inout ActionQueue
  ) -> Bool {
    guard let index = index(of: callID) else { return false }
    let wasClosing = calls[index].isClosing
    guard let action = calls[index].handle(signal, from: presence) else { return false }
    apply(action, toCallAt: index, for: presence, &actions)
    // Its own last word also tells that it needs none of ours.
    if signal.endsCall, wasClosing, self[callID]?.isClosing == false {
      actions.push(.close(callID))
    }
    return true
  }

  /// The peer still looks for a call.
  ///
  /// - Returns: Whether it is told that the call is over.
  mutating func handleSearch(
    _ callID: CallID, from peer: PeerID, _ actions: inout ActionQueue
  ) -> Bool {
    guard let index = index(of: callID), calls[index].peer == peer,
      let action = calls[index].answerSearch()
    else { return false }
    apply(action, toCallAt: index, &actions)
    return true
  }

  mutating func handleTimeout(now: Instant, _ actions: inout ActionQueue) {
    for callID in ids {
      while let index = index(of: callID), let action = calls[index].handleTimeout(now: now) {
        apply(action, toCallAt: index, &actions)
      }
    }
  }

  /// - Parameter presence: The callee's program that it answers; `every` = whoever the call was
  ///   with.
  private mutating func apply(
    _ action: EndedCall.Action, toCallAt index: Int, for presence: PresenceID = .every,
    _ actions: inout ActionQueue
  ) {
    let call = calls[index]
    switch action {
    case .send(let signal, _) where presence != .every:
      actions.push(.sendTo(presence, signal, call.callID, of: call.peer))
    case .send(let signal, let route):
      if call.repeatsAccept, case .hangUp = signal {
        actions.push(.send(.accept, call.callID, to: call.peer, route))
      }
      actions.push(.send(signal, call.callID, to: call.peer, route))
    case .close: actions.push(.close(call.callID))
    case .erase:
      calls.remove(at: index)
      actions.push(.erase(call.callID))
    }
  }

  private func index(of callID: CallID) -> Int? { calls.firstIndex { $0.callID == callID } }
}
