import Primitives
import Testing
import Wire

@testable import Calling

/// Two things at once, from the side of one party.
@Suite struct RaceTests {
  @Test func `cancel against accept: the late ACCEPT is answered by CANCEL again`() throws {
    var party = try Party.calling()
    try party.ledger.cancel(id(5), now: start)
    _ = party.actions()
    party.hears(.accept, id(5), from: bob)
    #expect(party.sent() == [.cancel(.userCancelled)])
    party.wait(.seconds(30))
    _ = party.actions()
    party.hears(.accept, id(5), from: bob)
    #expect(party.sent() == [.cancel(.userCancelled)])
    party.hears(.accept, id(5), from: carol)
    #expect(party.sent() == [])
  }

  @Test func `cancel against accept: a callee that had accepted ends as cancelled`() throws {
    var party = Party.ringing()
    try party.ledger.accept(id(5), now: start)
    _ = party.actions()
    party.hears(.cancel(.userCancelled), id(5), from: alice)
    let actions = party.actions()
    #expect(actions.contains(.send(.receipt(of: .cancel), id(5), to: alice, .both)))
    #expect(
      actions.contains {
        if case .notify(.ended(let end)) = $0 { end.outcome == .cancelled } else { false }
      })
  }

  @Test func `accept after cancel: refused, and nothing is sent`() {
    var party = Party.ringing()
    party.hears(.cancel(.userCancelled), id(5), from: alice)
    _ = party.actions()
    #expect(throws: CallRefusal.unknownCall) { try party.ledger.accept(id(5), now: party.now) }
    #expect(party.actions().isEmpty)
  }

  @Test func `cancel before ring: CANCEL overtakes INVITE, its repetition stops the ring`() {
    var party = Party(bob)
    party.hears(.cancel(.userCancelled), id(5), from: alice)
    #expect(party.ledger.ignored[.unknownCall] == 1)
    party.invited(id(5), from: alice)
    party.hears(.cancel(.userCancelled), id(5), from: alice)
    #expect(party.summary()?.outcome == .cancelled)
    #expect(party.invited(id(5), from: alice) == .repeated)
    #expect(party.ledger.state == .idle)
  }

  /// The HANGUP cannot be opened without the session, so ACCEPT goes before each.
  @Test func `hang-up before ACCEPT was receipted: ACCEPT is repeated with it`() throws {
    var party = Party.ringing()
    try party.ledger.accept(id(5), now: start)
    try party.ledger.hangUp(id(5), now: start)
    _ = party.actions()
    party.wait(.milliseconds(500))
    #expect(party.sent() == [.accept, .hangUp(.userCancelled, .empty)])
    party.hears(.receipt(of: .accept), id(5), from: alice)
    party.wait(.seconds(1))
    #expect(party.sent() == [.hangUp(.userCancelled, .empty)])
    party.hears(.receipt(of: .hangUp), id(5), from: alice)
    party.wait(.seconds(10))
    #expect(party.actions() == [.close(id(5))])
  }

  @Test func `hang-up at a caller that has no session yet changes nothing`() throws {
    var party = try Party.calling()
    party.hears(.hangUp(.userCancelled, .empty), id(5), from: bob)
    #expect(party.ledger.state == .calling)
    party.hears(.accept, id(5), from: bob)
    party.hears(.hangUp(.userCancelled, .empty), id(5), from: bob)
    #expect(party.summary()?.outcome == .cancelled)
  }

  @Test func `both hang up at once: one end each, and no more is sent than receipts`() throws {
    var party = try Party.connected()
    try party.ledger.hangUp(id(5), now: party.now)
    _ = party.actions()
    party.hears(.hangUp(.userHungUp, .empty), id(5), from: bob)
    #expect(
      party.actions() == [
        .send(.receipt(of: .hangUp), id(5), to: bob, .rendezvous), .close(id(5)),
      ])
    party.wait(.seconds(20))
    #expect(party.actions().isEmpty)
  }

  @Test func `reject after cancel: receipted, and nothing else`() throws {
    var party = try Party.calling()
    try party.ledger.cancel(id(5), now: start)
    _ = party.actions()
    party.hears(.reject(.declined, .empty), id(5), from: bob)
    #expect(party.sent() == [.receipt(of: .reject)])
    party.wait(.seconds(20))
    #expect(party.sent() == [])
  }

  @Test func `cancel after reject: receipted, and nothing else`() throws {
    var party = Party.ringing()
    try party.ledger.reject(id(5), now: start)
    #expect(party.sent() == [.reject(.declined, .empty)])
    party.hears(.cancel(.userCancelled), id(5), from: alice)
    #expect(party.sent() == [.receipt(of: .cancel)])
    #expect(party.ledger.state == .idle)
  }

  @Test func `timeout against accept at the same instant: the one that is handled first stands`()
    throws
  {
    var accepted = try Party.calling()
    accepted.hears(.ringing(isPrepared: true), id(5), from: bob)
    let deadline = start + .seconds(15)
    accepted.ledger.handle(.accept, id(5), from: bob, now: deadline)
    accepted.ledger.handleTimeout(now: deadline)
    #expect(accepted.ledger.state == .connecting)
    var late = try Party.calling()
    late.hears(.ringing(isPrepared: true), id(5), from: bob)
    late.ledger.handleTimeout(now: deadline)
    _ = late.actions()
    late.ledger.handle(.accept, id(5), from: bob, now: deadline)
    #expect(late.sent() == [.timeout(.noAnswer)])
  }

  @Test func `both time out at once: one end each, receipts for each other`() {
    var party = Party.ringing()
    party.wait(.seconds(15))
    #expect(party.sent() == [.timeout(.noAnswer)])
    party.hears(.timeout(.noAnswer), id(5), from: alice)
    #expect(party.sent() == [.receipt(of: .timeout)])
  }

  @Test func `a caller superseded by glare withdraws only if the other side rings all the same`()
    throws
  {
    var party = try Party.calling()
    party.invited(id(4), from: bob)
    _ = party.actions()
    party.wait(.seconds(2))
    #expect(!party.sent().contains(.cancel(.superseded)))
    party.hears(.ringing(isPrepared: true), id(5), from: bob)
    #expect(party.sent() == [.cancel(.superseded)])
  }

  @Test func `an invitation held back by the network is no glare once ours rings`() throws {
    var party = try Party.calling()
    party.hears(.ringing(isPrepared: true), id(5), from: bob)
    party.invited(id(4), from: bob)
    #expect(party.ledger.openCallID == id(5))
    #expect(party.sent().contains(.reject(.busy, .empty)))
  }

  @Test
  func `the same peer again: rings once its call was silent for one and a half seconds`() throws {
    for silence in [100, 1_400, 1_500, 10_000] as [Int64] {
      var party = try Party.connected()
      party.wait(.seconds(3))
      party.ledger.handle(.audio, id(5), now: party.now)
      party.wait(.milliseconds(silence))
      _ = party.actions()
      party.invited(id(8), from: bob)
      // Which may be told by one more packet of before.
      if silence == 100 { party.ledger.handle(.audio, id(5), now: party.now) }
      party.wait(.milliseconds(max(0, 1_499 - silence)))
      #expect(party.sent().isEmpty == (silence < 1_500))
      party.wait(.milliseconds(silence == 100 ? 101 : 1))
      #expect(party.ledger.openCallID == id(8), "\(silence)")
    }
  }

  @Test func `the same peer again, whose call goes on: busy within a third of a second`() throws {
    var party = try Party.connected()
    party.wait(.seconds(3))
    party.ledger.handle(.answer, id(5), now: party.now)
    party.invited(id(8), from: bob)
    for _ in 0..<7 {
      party.ledger.handle(.answer, id(5), now: party.now)
      party.wait(.milliseconds(50))
    }
    #expect(party.sent() == [.reject(.busy, .empty)])
    #expect(party.ledger.openCallID == id(5))
    // Also where it sends nothing but an answer each second.
    for second in 1...5 {
      party.ledger.handle(.answer, id(5), now: party.now)
      party.invited(id(UInt8(10 + second)), from: bob)
      party.wait(.milliseconds(1_100))
    }
    party.ledger.handle(.answer, id(5), now: party.now)
    party.wait(.seconds(1))
    #expect(party.ledger.openCallID == id(5))
  }

  @Test func `who gives up while it is looked whether its call goes on does not ring`() throws {
    var party = try Party.connected()
    party.wait(.seconds(3))
    party.ledger.handle(.audio, id(5), now: party.now)
    party.invited(id(8), from: bob)
    party.hears(.invite, id(8), from: bob)
    #expect(party.sent().isEmpty)
    party.hears(.cancel(.userCancelled), id(8), from: bob)
    #expect(party.sent().contains(.receipt(of: .cancel)))
    party.wait(.seconds(3))
    #expect(party.ledger.openCallID == id(5))
  }

  @Test func `an invitation older than the call ends it after four silent seconds`() throws {
    var party = try Party.connected()
    party.wait(.milliseconds(900))
    party.invited(id(7), from: bob)
    #expect(party.sent() == [.reject(.busy, .empty)])
    party.wait(.milliseconds(3_100))
    party.invited(id(8), from: bob)
    let events = party.events()
    #expect(events.contains(.incoming(id(8), from: bob)))
    #expect(
      events.contains { if case .ended(let end) = $0 { end.cause == .recalled } else { false } })
  }

  @Test func `the same caller again while it rings: busy at first, a recall after three seconds`() {
    var party = Party.ringing()
    party.wait(.milliseconds(2_999))
    party.invited(id(7), from: alice)
    #expect(party.sent() == [.reject(.busy, .empty)])
    party.wait(.milliseconds(1))
    party.invited(id(8), from: alice)
    #expect(party.ledger.openCallID == id(8))
    #expect(party.summary()?.cause == .recalled)
  }
}

/// Who may ring, how often and how late.
@Suite struct AdmissionTests {
  @Test(arguments: [
    (Int64(-60_001), IgnoredSignal?.some(.tooOld)), (-60_000, nil), (-59_999, nil), (59_999, nil),
    (60_000, nil), (60_001, .tooFarAhead),
  ])
  func `counts the age of an invitation to the millisecond`(
    age: Int64, expected: IgnoredSignal?
  ) {
    var party = Party(bob)
    party.wait(.seconds(3600))
    let now = party.rendezvousNow
    party.ledger.handleInvite(
      Invitation(
        callID: id(5), from: alice, createdMilliseconds: UInt64(Int64(now) + age),
        ringTimeout: nil),
      rendezvousMilliseconds: now, now: party.now)
    #expect((party.ledger.state == .calling) == (expected == nil))
    if let expected { #expect(party.ledger.ignored[expected] == 1) }
  }

  @Test(arguments: [(UInt64.max, UInt64(0)), (0, .max), (.max, .max)])
  func `does not trap on absurd clocks`(created: UInt64, now: UInt64) {
    var party = Party(bob)
    party.ledger.handleInvite(
      Invitation(callID: id(5), from: alice, createdMilliseconds: created, ringTimeout: nil),
      rendezvousMilliseconds: now, now: party.now)
    #expect((party.ledger.state == .calling) == (created == now))
  }

  @Test func `rings for nothing that was made before it started`() {
    var party = Party(bob)
    let now = party.rendezvousNow
    for (number, age) in [(UInt8(1), UInt64(1001)), (2, 30_000), (3, 60_000)] {
      party.ledger.handleInvite(
        Invitation(
          callID: id(number), from: alice, createdMilliseconds: now - age, ringTimeout: nil),
        rendezvousMilliseconds: now, now: party.now)
    }
    #expect(party.ledger.state == .idle && party.ledger.ignored[.beforeStart] == 3)
  }

  @Test func `an hour of recorded invitations, replayed, rings not once`() {
    var party = Party(bob)
    var recorded: [(CallID, UInt64)] = []
    var random = RandomSource(seed: 1)
    for _ in 0..<360 {
      let callID = CallID(from: &random)
      recorded.append((callID, party.rendezvousNow))
      #expect(party.invited(callID, from: alice) == .open)
      try? party.ledger.reject(callID, now: party.now)
      party.wait(.seconds(10))
    }
    _ = party.actions()
    for (callID, created) in recorded {
      party.wait(.seconds(1))
      guard party.ledger.admitInvite(callID, from: alice, now: party.now) == .open else { continue }
      party.ledger.handleInvite(
        Invitation(
          callID: callID, from: alice, createdMilliseconds: created, ringTimeout: nil),
        rendezvousMilliseconds: party.rendezvousNow, now: party.now)
    }
    #expect(!party.events().contains { if case .incoming = $0 { true } else { false } })
  }

  @Test func `a hundred invitations a second of one caller ring once, and another gets through`() {
    var party = Party(bob)
    var random = RandomSource(seed: 2)
    var opened = 0
    for _ in 0..<1000 {
      if party.invited(CallID(from: &random), from: carol) == .open { opened += 1 }
      party.wait(.milliseconds(10))
    }
    let rings = party.events().filter { if case .incoming = $0 { true } else { false } }
    #expect(rings.count == 1)
    #expect(opened == 5)
    #expect(party.invited(id(5), from: alice) == .open)
    #expect(party.sent().contains(.reject(.busy, .empty)))
  }

  @Test func `is not made forgetful by many callers`() {
    var party = Party(bob)
    var random = RandomSource(seed: 3)
    for number in 0..<3000 {
      let caller = PeerID(word0: UInt64(number), word1: 9, word2: 0, word3: 0)
      party.ledger.familiars.insert(caller)  // Strangers are refused before that (InviteLimiter).
      party.invited(CallID(from: &random), from: caller)
      party.wait(.milliseconds(40))
    }
    #expect(party.ledger.filter.seen.count <= CallLimits.seenCalls)
    #expect(party.ledger.ended.count <= CallLimits.endedCalls)
    #expect(party.ledger.ignored[.tooMany] > 0)
  }

  @Test func `forgets a call, and says so, sixty seconds after its end`() throws {
    var party = try Party.connected()
    party.hears(.hangUp(.userHungUp, .empty), id(5), from: bob)
    _ = party.actions()
    party.wait(.milliseconds(59_999))
    party.hears(.hangUp(.userHungUp, .empty), id(5), from: bob)
    #expect(party.sent() == [.receipt(of: .hangUp)])
    party.wait(.milliseconds(1))
    #expect(party.actions() == [.erase(id(5))])
    party.hears(.hangUp(.userHungUp, .empty), id(5), from: bob)
    #expect(party.actions().isEmpty && party.ledger.nextDeadline == nil)
  }

  @Test func `a hundred thousand stale and misdirected signals have no effect`() throws {
    var random = RandomSource(seed: 4)
    var party = try Party.connected()
    let signals: [CallSignal] = [
      .ringing(isPrepared: true), .accept, .reject(.declined, .empty), .cancel(.none),
      .timeout(.none), .hangUp(.userHungUp, .empty), .receipt(of: .hangUp), .unsupported, .confirm,
      .mediaState([]),
    ]
    for _ in 0..<100_000 {
      let signal = signals[Int(random.next() % UInt64(signals.count))]
      switch random.next() % 3 {
      case 0: party.hears(signal, id(5), from: carol)
      case 1: party.hears(signal, CallID(from: &random), from: bob)
      default:
        // The right call and peer, but nothing that a callee says to a connected caller.
        let wrong: [CallSignal] = [
          .cancel(.none), .timeout(.none), .reject(.busy, .empty), .confirm, .unsupported,
          .ringing(isPrepared: true), .receipt(of: .hangUp),
        ]
        party.hears(wrong[Int(random.next() % UInt64(wrong.count))], id(5), from: bob)
      }
    }
    #expect(party.actions().isEmpty && party.ledger.state == .connected)
  }

  @Test func `refuses to call itself, and to be called by itself`() {
    var party = Party(alice)
    #expect(throws: CallRefusal.ownID) {
      try party.ledger.call(id(5), to: alice, ringTimeout: nil, now: start)
    }
    #expect(party.invited(id(6), from: alice) == .dropped(.ownID))
  }

  @Test func `a red button ends a call in any state, and says what fits`() throws {
    var calling = try Party.calling()
    _ = calling.actions()
    try calling.ledger.end(id(5), now: start)
    #expect(calling.sent() == [.cancel(.userCancelled)])
    var ringing = Party.ringing()
    try ringing.ledger.end(id(5), now: start)
    #expect(ringing.sent() == [.reject(.declined, .empty)])
    var connected = try Party.connected()
    try connected.ledger.end(id(5), .shuttingDown, now: start)
    #expect(connected.sent() == [.hangUp(.shuttingDown, .empty)])
    var wrong = try Party.calling()
    try wrong.ledger.end(id(5), .identityChanged, now: start)
    #expect(wrong.summary()?.outcome == .failed)
  }
}
