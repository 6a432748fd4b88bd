package import Wire

/// What remains of an idle `MessageChannel` that has used no stream but the rendezvous' own: 32
/// bytes, so that a server can let 20 000 of them sleep.
package struct RestingState: Equatable, Sendable, BitwiseCopyable {
  /// Number of the next message to send.
  let nextSequence: UInt32
  /// The lowest number not received, and which of the 64 above it are.
  let lowest: UInt32
  let finished: UInt64
  /// Sender: what was granted, and what was used of it.
  let sendLimit: UInt32
  let sendUsed: UInt32
  /// Receiver: what was granted, and what came.
  let receiveGranted: UInt32
  let received: UInt32

  /// The stream that a channel at rest has.
  package static let stream = StreamID.rendezvous
}

extension MessageChannel {
  /// A channel that goes on where one at rest left off.
  package init(resting: RestingState, limits: MessageLimits = .rendezvous) {
    self.init(limits: limits)
    sender.resume(
      RestingState.stream, nextSequence: resting.nextSequence,
      credit: SendCredit(limit: resting.sendLimit, used: resting.sendUsed))
    receiver.resume(
      ReceiveStream(
        RestingState.stream, lowest: resting.lowest, finished: resting.finished),
      credit: ReceiveCredit(
        initialGrant: limits.initialGrant, granted: resting.receiveGranted,
        received: resting.received))
  }

  /// What to keep of the channel instead of the channel; `nil` unless it is idle, owes no CREDIT,
  /// has used only the rendezvous' stream, and misses no message more than 64 behind the newest.
  package var resting: RestingState? {
    guard isIdle, !receiver.credit.isDue else { return nil }
    return state(sender.credit)
  }

  /// What to keep of the channel when its owner gives up waiting for acknowledgements; `nil` while
  /// a message is half received, and when too little credit would be left.
  ///
  /// The other side never learns that the messages under way were given up: what was sent of them
  /// stays counted as used, and their numbers stay open there, at most the window of its stream.
  package var givenUp: RestingState? {
    let credit = sender.creditWithoutUnsent
    guard receiver.isIdle, credit.available >= sender.limits.initialGrant / 2 else { return nil }
    return state(credit)
  }

  private func state(_ credit: SendCredit) -> RestingState? {
    let outgoing = sender.streams.first
    let incoming = receiver.streams.first
    guard sender.streams.count <= 1, receiver.streams.count <= 1,
      outgoing == nil || outgoing?.id == RestingState.stream,
      incoming == nil || incoming?.id == RestingState.stream,
      let finished = incoming == nil ? 0 : incoming?.compactFinished
    else { return nil }
    return RestingState(
      nextSequence: outgoing?.nextSequence ?? 0, lowest: incoming?.lowest ?? 0,
      finished: finished, sendLimit: credit.limit, sendUsed: credit.used,
      receiveGranted: receiver.credit.granted, received: receiver.credit.received)
  }
}
