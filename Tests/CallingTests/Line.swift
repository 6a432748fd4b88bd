import Primitives
import Wire

@testable import Calling

let start = Instant(nanoseconds: 1_000_000_000_000)
let alice = PeerID(word0: 1, word1: 0, word2: 0, word3: 0)
let bob = PeerID(word0: 2, word1: 0, word2: 0, word3: 0)
let carol = PeerID(word0: 3, word1: 0, word2: 0, word3: 0)
/// What the rendezvous' clock shows at `start`, in ms.
let rendezvousStart: UInt64 = 1_700_000_000_000

func id(_ number: UInt8) -> CallID { CallID([number] + [UInt8](repeating: 0, count: 15))! }

/// One party, tested by itself: commands and signals in, actions out.
struct Party {
  var ledger: CallLedger
  var now = start

  init(_ id: PeerID, policy: CallPolicy = .standard) {
    ledger = CallLedger(ownID: id, policy: policy, now: start)
  }

  /// Everything that was asked for since the last time.
  mutating func actions() -> [CallAction] {
    var actions: [CallAction] = []
    while let action = ledger.pollAction() { actions.append(action) }
    return actions
  }

  /// What was sent since the last time.
  mutating func sent() -> [CallSignal] {
    actions().compactMap { if case .send(let signal, _, _, _) = $0 { signal } else { nil } }
  }

  mutating func events() -> [CallEvent] {
    actions().compactMap { if case .notify(let event) = $0 { event } else { nil } }
  }

  mutating func summary() -> CallSummary? {
    for case .ended(let summary) in events() { return summary }
    return nil
  }

  /// Lets time pass, timer by timer.
  mutating func wait(_ duration: Duration) {
    let end = now + duration
    while let deadline = ledger.nextDeadline, deadline <= end {
      now = max(now, deadline)
      ledger.handleTimeout(now: now)
    }
    now = end
    ledger.handleTimeout(now: now)
  }

  var rendezvousNow: UInt64 { rendezvousStart + (now.nanoseconds - start.nanoseconds) / 1_000_000 }

  /// An INVITE arrives, made this moment, and opens.
  @discardableResult
  mutating func invited(
    _ callID: CallID, from peer: PeerID, _ presence: PresenceID = .every,
    in channel: Bytes32? = nil, ringTimeout: Duration? = .seconds(15), refusal: CallReason? = nil
  ) -> InviteAdmission {
    let admission = ledger.admitInvite(callID, from: peer, now: now)
    if admission == .open {
      ledger.handleInvite(
        Invitation(
          callID: callID, from: peer, presence: presence, in: channel,
          createdMilliseconds: rendezvousNow, ringTimeout: ringTimeout, refusal: refusal),
        rendezvousMilliseconds: rendezvousNow, now: now)
    }
    return admission
  }

  mutating func hears(
    _ signal: CallSignal, _ callID: CallID, from peer: PeerID, _ presence: PresenceID = .every
  ) {
    ledger.handle(signal, callID, from: peer, presence: presence, now: now)
  }

  /// Alice calling, in the state that the name says.
  static func calling(ringTimeout: Duration? = .seconds(15)) throws -> Party {
    var party = Party(alice)
    try party.ledger.call(id(5), to: bob, ringTimeout: ringTimeout, now: start)
    return party
  }

  /// Alice in a connected call with Bob, that she made.
  static func connected() throws -> Party {
    var party = try calling()
    party.hears(.ringing(isPrepared: true), id(5), from: bob)
    party.hears(.accept, id(5), from: bob)
    party.ledger.handlePathReady(id(5), now: party.now)
    party.ledger.handle(.audio, id(5), now: party.now)
    party.ledger.handleFirstFrameReceived(id(5), now: party.now)
    _ = party.actions()
    return party
  }

  /// Bob, where Alice's call rings.
  static func ringing(ringTimeout: Duration? = .seconds(15)) -> Party {
    var party = Party(bob)
    party.invited(id(5), from: alice, ringTimeout: ringTimeout)
    _ = party.actions()
    return party
  }
}

/// What most tests have: one call at a time.
extension CallLedger {
  var onlyOpen: OpenCall? { open.count == 1 ? open.calls.first : nil }
  var openCallID: CallID? { onlyOpen?.callID }
  var state: CallState { onlyOpen?.state ?? .idle }
}
