import Primitives
import Testing
import Wire

@testable import Calling

/// What is known to go wrong in call interfaces that people use today, one test each: twelve
/// weaknesses of a widely used one, and what its users and its neighbours' users complained of.
@Suite struct WeaknessTests {
  @Test func `1 glare does not stall: the greater ID gives way and accepts by itself`() throws {
    var party = try Party.calling()
    _ = party.actions()
    party.invited(id(4), from: bob)
    let actions = party.actions()
    #expect(actions.contains(.notify(.replaced(id(5), by: id(4)))))
    #expect(actions.contains(.notify(.stateChanged(id(4), .connecting, .glare))))
    #expect(actions.contains(.send(.accept, id(4), to: bob, .both)))
    #expect(!actions.contains { if case .send(_, id(5), _, _) = $0 { true } else { false } })
    var other = try Party.calling()
    _ = other.actions()
    other.invited(id(6), from: bob)
    #expect(other.actions().isEmpty)
    #expect(other.ledger.openCallID == id(5) && other.ledger.ignored[.glare] == 1)
  }

  @Test func `2 answering at 14,5 s leaves ten seconds to connect`() {
    var party = Party.ringing()
    party.wait(.milliseconds(14_500))
    #expect(throws: Never.self) { try party.ledger.accept(id(5), now: party.now) }
    party.hears(.receipt(of: .accept), id(5), from: alice)
    party.wait(.milliseconds(9_999))
    #expect(party.ledger.state == .connecting)
    party.wait(.milliseconds(1))
    #expect(party.summary()?.cause == .noPath)
  }

  @Test func `3 a refused command is a pure error`() throws {
    var party = try Party.connected()
    let now = party.now
    #expect(throws: CallRefusal.busy) {
      try party.ledger.call(id(9), to: carol, ringTimeout: nil, now: now)
    }
    #expect(throws: CallRefusal.unknownCall) { try party.ledger.accept(id(9), now: now) }
    #expect(throws: CallRefusal.wrongState) { try party.ledger.accept(id(5), now: now) }
    #expect(throws: CallRefusal.wrongState) { try party.ledger.reject(id(5), now: now) }
    #expect(throws: CallRefusal.wrongState) { try party.ledger.cancel(id(5), now: now) }
    #expect(party.actions().isEmpty && party.ledger.state == .connected)
  }

  @Test func `4 a peer that dies ends the call at twenty seconds, without the application`() throws
  {
    var party = try Party.connected()
    party.wait(.seconds(20) - .milliseconds(1))
    #expect(party.events() == [.interrupted(id(5)), .connectionLost(id(5))])
    party.wait(.milliseconds(1))
    let summary = party.summary()
    #expect(summary?.outcome == .lost && summary?.durationMilliseconds == 20_000)
  }

  @Test func `5 signals are repeated until receipted, doubles and old ones do nothing`() throws {
    var party = try Party.calling()
    party.wait(.milliseconds(499))
    #expect(party.sent() == [.invite])
    party.wait(.milliseconds(3001))
    #expect(party.sent() == [.invite, .invite, .invite])
    party.hears(.ringing(isPrepared: false), id(5), from: bob)
    party.hears(.ringing(isPrepared: false), id(5), from: bob)
    #expect(party.events() == [.delivered(id(5))])
    party.wait(.seconds(5))
    #expect(party.sent() == [])
  }

  @Test func `6 another peer and another call change nothing`() throws {
    var party = try Party.connected()
    for signal in [
      CallSignal.hangUp(.userHungUp, .empty), .cancel(.none), .timeout(.none),
      .reject(.declined, .empty),
    ] {
      party.hears(signal, id(5), from: carol)
      party.hears(signal, id(77), from: bob)
    }
    #expect(party.actions().isEmpty && party.ledger.state == .connected)
    #expect(party.ledger.ignored[.wrongPeer] == 4 && party.ledger.ignored[.unknownCall] == 4)
  }

  @Test func `7 reject, hang up, cancel and accept are bound to state and call`() throws {
    var ringing = Party.ringing()
    let now = ringing.now
    #expect(throws: CallRefusal.wrongState) { try ringing.ledger.hangUp(id(5), now: now) }
    #expect(throws: CallRefusal.wrongState) { try ringing.ledger.cancel(id(5), now: now) }
    #expect(throws: CallRefusal.unknownCall) { try ringing.ledger.accept(id(6), now: now) }
    var calling = try Party.calling()
    #expect(throws: CallRefusal.wrongState) { try calling.ledger.accept(id(5), now: now) }
    #expect(throws: CallRefusal.wrongState) { try calling.ledger.reject(id(5), now: now) }
    #expect(throws: CallRefusal.wrongState) { try calling.ledger.hangUp(id(5), now: now) }
    #expect(ringing.ledger.state == .calling && calling.ledger.state == .calling)
  }

  @Test func `8 an undeliverable invitation ends at eight seconds, and at once if not online`()
    throws
  {
    var silent = try Party.calling()
    silent.wait(.milliseconds(7_999))
    #expect(silent.summary() == nil)
    silent.wait(.milliseconds(1))
    #expect(silent.summary()?.outcome == .unreachable)
    var offline = try Party.calling()
    offline.ledger.handleForwardFailure(.notOnline, of: .invite, id(5), now: start)
    #expect(offline.summary()?.cause == .notOnline)
    #expect(offline.ledger.state == .idle)
  }

  @Test
  func
    `9 a side that is never connected tells the other, and who sends no audio is not waited for`()
    throws
  {
    var deaf = try Party.calling()
    deaf.hears(.accept, id(5), from: bob)
    deaf.ledger.handlePathReady(id(5), now: start)
    _ = deaf.actions()
    deaf.wait(.seconds(10))
    let text = ReasonText(clipping: "no media")
    #expect(deaf.sent().first == .hangUp(.internalFailure, text))
    var other = try Party.connected()
    other.hears(.hangUp(.internalFailure, text), id(5), from: bob)
    #expect(other.summary()?.outcome == .failed)
    var muted = try Party.calling()
    muted.hears(.accept, id(5), from: bob)
    muted.hears(.mediaState([]), id(5), from: bob)
    #expect(muted.ledger.state == .connected)
  }

  @Test func `10 a callee that will not be called says so`() {
    var party = Party(bob)
    party.invited(id(5), from: alice, refusal: .notAllowed)
    #expect(party.sent() == [.reject(.notAllowed, .empty)])
    #expect(party.ledger.state == .idle)
  }

  /// The keys are the owner's; what can be shown here: nothing to send with exists before accept,
  /// and every call opens a session of its own.
  @Test func `11 each call has a session of its own, opened by accept and by nothing before`()
    throws
  {
    var party = Party.ringing()
    party.ledger.handlePathReady(id(5), now: start)
    party.wait(.seconds(3))
    party.invited(id(5), from: alice)
    #expect(!party.actions().contains(.openSession(id(5))))
    #expect(!party.ledger.canSendMedia(id(5)))
    try party.ledger.accept(id(5), now: party.now)
    let actions = party.actions()
    #expect(actions.first == .openSession(id(5)))
    #expect(!actions.contains(.startMedia(id(5))))
    party.hears(.confirm, id(5), from: alice)
    #expect(party.actions() == [.startMedia(id(5))])
  }

  /// There is no input by which the ledger could learn of it; hang-up goes on the path as well.
  @Test func `12 a call outlives the rendezvous, and is hung up without it`() throws {
    var party = try Party.connected()
    for _ in 0..<60 {
      party.wait(.seconds(1))
      party.ledger.handle(.audio, id(5), now: party.now)
    }
    #expect(party.actions().isEmpty && party.ledger.state == .connected)
    try party.ledger.hangUp(id(5), now: party.now)
    #expect(party.actions().contains(.send(.hangUp(.userHungUp, .empty), id(5), to: bob, .both)))
    party.hears(.receipt(of: .hangUp), id(5), from: bob)
    #expect(party.actions() == [.close(id(5))])
  }
}

@Suite struct ComplaintTests {
  @Test func `accept called at once, inside the ringing notification, works`() throws {
    var party = Party(bob)
    party.invited(id(5), from: alice)
    try party.ledger.accept(id(5), now: party.now)
    #expect(party.sent() == [.ringing(isPrepared: true), .accept])
  }

  @Test func `a timeout is notified once`() throws {
    var party = try Party.calling()
    party.hears(.ringing(isPrepared: true), id(5), from: bob)
    party.wait(.seconds(15))
    party.hears(.timeout(.noAnswer), id(5), from: bob)
    party.wait(.seconds(30))
    #expect(party.events().filter { if case .ended = $0 { true } else { false } }.count == 1)
  }

  @Test func `media stops when the call ends, before the user hears of it`() throws {
    var party = try Party.connected()
    party.hears(.hangUp(.userHungUp, .empty), id(5), from: bob)
    let actions = party.actions()
    #expect(actions.first == .stopMedia(id(5)))
    #expect(actions.count { $0 == .stopMedia(id(5)) } == 1)
  }

  @Test func `a fast cancel is addressed to the peer and leaves nothing open`() throws {
    var party = try Party.calling()
    try party.ledger.cancel(id(5), now: start)
    #expect(party.actions().contains(.send(.cancel(.userCancelled), id(5), to: bob, .both)))
    #expect(party.ledger.state == .idle)
  }

  @Test func `answering a cancelled call is refused, not a black screen`() {
    var party = Party.ringing()
    party.hears(.cancel(.userCancelled), id(5), from: alice)
    #expect(throws: CallRefusal.unknownCall) { try party.ledger.accept(id(5), now: party.now) }
    #expect(party.summary()?.outcome == .cancelled)
  }

  @Test func `a second call right after the first works, and its timers are its own`() throws {
    var party = try Party.calling()
    party.wait(.seconds(5))
    party.hears(.ringing(isPrepared: true), id(5), from: bob)
    party.wait(.seconds(9))
    party.hears(.reject(.declined, .empty), id(5), from: bob)
    try party.ledger.call(id(6), to: bob, ringTimeout: .seconds(15), now: party.now)
    party.hears(.ringing(isPrepared: true), id(6), from: bob)
    _ = party.actions()
    party.wait(.milliseconds(14_999))
    #expect(party.ledger.state == .calling)
    party.wait(.milliseconds(1))
    #expect(party.summary()?.callID == id(6))
  }

  @Test func `a late hang-up of the first call does not end the second`() throws {
    var party = try Party.connected()
    try party.ledger.hangUp(id(5), now: party.now)
    try party.ledger.call(id(6), to: bob, ringTimeout: nil, now: party.now)
    party.hears(.accept, id(6), from: bob)
    _ = party.actions()
    for signal in [CallSignal.hangUp(.userHungUp, .empty), .cancel(.none), .timeout(.none)] {
      party.hears(signal, id(5), from: bob)
    }
    #expect(party.ledger.openCallID == id(6) && party.ledger.state == .connecting)
  }

  @Test func `the callee stops ringing when the caller is gone`() {
    var party = Party.ringing(ringTimeout: nil)
    party.wait(.seconds(180))
    #expect(party.summary()?.outcome == .timeout)
  }

  @Test func `busy names the call that was refused, and the running one goes on`() throws {
    var party = try Party.connected()
    party.invited(id(7), from: carol)
    #expect(
      party.actions() == [
        .send(.reject(.busy, .empty), id(7), to: carol, .rendezvous),
        .notify(.refused(id(7), from: carol, .busy)),
      ])
    #expect(party.ledger.openCallID == id(5) && party.ledger.state == .connected)
  }

  @Test func `hanging up while connecting ends the call`() throws {
    var party = Party.ringing()
    try party.ledger.accept(id(5), now: start)
    _ = party.actions()
    try party.ledger.hangUp(id(5), now: start)
    #expect(party.sent() == [.accept, .hangUp(.userCancelled, .empty)])
    #expect(party.ledger.state == .idle)
  }

  @Test func `muting before the other side answers is not lost`() throws {
    var party = try Party.calling()
    try party.ledger.setMedia(id(5), [])
    party.hears(.accept, id(5), from: bob)
    #expect(party.sent().last == .mediaState([]))
    try party.ledger.setMedia(id(5), [])
    #expect(party.sent() == [])
    try party.ledger.setMedia(id(5), [.audio])
    #expect(party.sent() == [.mediaState(.audio)])
  }

  /// Its answers come each second and a round trip, and one of them is lost.
  @Test func `a call without sound is not believed dead after one and a half seconds`() throws {
    var party = try Party.connected()
    party.wait(.seconds(3))
    party.ledger.handle(.answer, id(5), now: party.now)
    party.wait(.seconds(1))
    party.invited(id(8), from: bob)
    party.wait(.milliseconds(2_900))
    #expect(party.ledger.openCallID == id(5))
    party.ledger.handle(.answer, id(5), now: party.now)
    party.wait(.milliseconds(350))
    #expect(party.ledger.openCallID == id(5) && party.sent() == [.reject(.busy, .empty)])
  }
}
