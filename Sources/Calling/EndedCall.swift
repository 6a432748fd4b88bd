package import Primitives
package import Wire

/// A call that is over for its user: delivers the last word, and answers what is repeated, for 60 s
/// (docs/protocol/calling.md §3).
package struct EndedCall: Sendable {
  package enum Action: Hashable, Sendable {
    case send(CallSignal, SignalRoute)
    /// The other side knows, or will not be told any more: the session may be closed.
    case close
    /// Nothing will be answered any more: the keys can be erased.
    case erase
  }

  private enum Timer: CaseIterable { case erase }

  package let callID: CallID
  package let peer: PeerID
  private let lastWord: CallSignal?
  /// What a repeated INVITE is answered with when the last word has arrived; `nil` at the caller.
  private let answer: CallSignal?
  private var delivery: Delivery?
  /// How many more signals are answered.
  private var answersLeft: Int
  /// A caller that is not familiar, and whose call was never accepted.
  let isStranger: Bool
  private var wasReceipted = false
  /// The callee's programs that ring and are still to receipt the last word.
  private var awaited: [PresenceID]
  /// Those that have.
  private var receipted: [PresenceID] = []
  /// Where the call was decided, if at one of several programs: the caller's.
  let decision: CallDecision?
  /// The caller may not know yet that we accepted, and could not open our HANGUP: each HANGUP is
  /// preceded by ACCEPT.
  package private(set) var repeatsAccept: Bool
  private var deadlines = Deadlines<Timer>()

  /// - Parameters:
  ///   - lastWord: The owner sends it at once, unless `isSaidOnlyIfAsked`.
  ///   - answer: What INVITE was answered with.
  ///   - isStranger: A caller that is not familiar, whose call was never accepted: no more is
  ///     answered than an honest caller asks.
  package init(
    _ callID: CallID, peer: PeerID, lastWord: CallSignal?, answer: CallSignal?,
    repeatsAccept: Bool = false, isSaidOnlyIfAsked: Bool = false, isStranger: Bool = false,
    policy: CallPolicy = .standard, now: Instant
  ) {
    self.init(
      callID, peer: peer, lastWord: lastWord, answer: answer, others: ([], nil),
      repeatsAccept: repeatsAccept, isSaidOnlyIfAsked: isSaidOnlyIfAsked, isStranger: isStranger,
      policy: policy, now: now)
  }

  /// - Parameter others: What several programs of the callee are to hear: the last word, or where
  ///   the call was decided.
  init(
    _ callID: CallID, peer: PeerID, lastWord: CallSignal?, answer: CallSignal?,
    others: (awaited: [PresenceID], decision: CallDecision?), repeatsAccept: Bool = false,
    isSaidOnlyIfAsked: Bool = false, isStranger: Bool = false, policy: CallPolicy, now: Instant
  ) {
    awaited = others.awaited
    decision = others.decision
    self.callID = callID
    self.peer = peer
    self.lastWord = lastWord
    self.answer = answer
    self.repeatsAccept = repeatsAccept
    self.isStranger = isStranger
    answersLeft = isStranger ? CallLimits.answersToStranger : .max
    if lastWord != nil, !isSaidOnlyIfAsked { delivery = Delivery(now: now) }
    deadlines.set(.erase, at: now + policy.answersEndedFor)
  }

  /// Of a call that was open.
  init(
    _ call: OpenCall, _ lastWord: CallSignal?, isFamiliar: Bool, policy: CallPolicy, now: Instant
  ) {
    var policy = policy
    policy.answersEndedFor = max(policy.answersEndedFor, call.absence)
    self.init(
      call.callID, peer: call.peer, lastWord: lastWord, answer: call.answer,
      others: (call.outgoing?.ringing ?? [], call.decision),
      repeatsAccept: call.ongoing?.isAcceptPending ?? false,
      isStranger: call.incoming != nil && !isFamiliar, policy: policy, now: now)
  }

  // MARK: Inputs

  /// - Parameter presence: At the caller the callee's program that says it.
  package mutating func handle(
    _ signal: CallSignal, from presence: PresenceID = .every
  ) -> Action? {
    let action = answer(to: signal, from: presence)
    guard case .send = action else { return action }
    guard answersLeft > 0 else { return nil }
    answersLeft -= 1
    return action
  }

  private mutating func answer(
    to signal: CallSignal, from presence: PresenceID
  ) -> Action? {
    switch signal {
    case .receipt(of: .accept):
      repeatsAccept = false
      return nil
    case .receipt(let type):
      guard lastWord?.type == type, noteReceipt(presence) else { return nil }
      return settle()
    case .cancel, .timeout, .reject, .hangUp:
      // The other side is done with the call too: it needs no last word, only its receipt.
      if noteReceipt(presence) { _ = settle() }
      return signal.type.map { type in
        let receipt = CallSignal.receipt(of: type)
        return .send(receipt, receipt.repetitionRoute)
      }
    case .accept:
      // It does not know yet that this call is over.
      return .send(unheardLastWord(at: presence) ?? .receipt(of: .accept), .rendezvous)
    case .ringing:
      return unheardLastWord(at: presence).map { .send($0, .rendezvous) }
    case .invite:
      return (unheardLastWord(at: presence) ?? answer).map { .send($0, .rendezvous) }
    case .unsupported, .confirm, .mediaState: return nil
    }
  }

  /// The peer says where it is: it takes the call for open.
  mutating func answerSearch() -> Action? {
    guard !wasReceipted, let lastWord, lastWord.type == .hangUp, answersLeft > 0 else { return nil }
    if answersLeft != .max { answersLeft -= 1 }
    return .send(lastWord, .rendezvous)
  }

  package mutating func handleTimeout(now: Instant) -> Action? {
    switch delivery?.handleTimeout(now: now) {
    case .sendAgain: return lastWord.map { .send($0, $0.repetitionRoute) }
    case .fail: return .close
    case nil: return deadlines.popDue(at: now) == nil ? nil : .erase
    }
  }

  /// The last word is not repeated any more.
  mutating func endDelivery() { delivery?.succeed() }

  // MARK: Getters

  /// A caller's that ended without a word of its own: a program of the callee that begins to ring
  /// now has not been told anything.
  var endedInSilence: Bool { lastWord == nil && answer == nil }

  /// Whether the last word is still being delivered.
  package var isClosing: Bool { delivery?.isPending ?? false }

  package var nextDeadline: Instant? { earliest(deadlines.next, delivery?.nextDeadline) }

  // MARK: Private parts

  /// `nil` for whoever has receipted it.
  private func unheardLastWord(at presence: PresenceID) -> CallSignal? {
    let isHeard = presence == .every ? wasReceipted : receipted.contains(presence)
    return isHeard ? nil : lastWord
  }

  /// A program needs the last word no more; whether with it nobody is left who does.
  private mutating func noteReceipt(_ presence: PresenceID) -> Bool {
    if presence != .every, !receipted.contains(presence), receipted.count < Self.programLimit {
      receipted.append(presence)
    }
    awaited.removeAll { $0 == presence }
    return delivery?.isPending == true && awaited.isEmpty
  }

  private static let programLimit = 16

  private mutating func settle() -> Action {
    wasReceipted = true
    repeatsAccept = false
    delivery?.succeed()
    return .close
  }
}
