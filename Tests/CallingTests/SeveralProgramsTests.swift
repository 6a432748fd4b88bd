import Primitives
import Testing
import Wire

@testable import Calling

private let desk = PresenceID(rawValue: 11)
private let pocket = PresenceID(rawValue: 22)
private let third = PresenceID(rawValue: 33)

extension Party {
  /// What was sent to single programs since the last time.
  fileprivate mutating func sentTo() -> [PresenceID: [CallSignal]] {
    var sent: [PresenceID: [CallSignal]] = [:]
    for case .sendTo(let presence, let signal, _, _) in actions() {
      sent[presence, default: []].append(signal)
    }
    return sent
  }

  /// Alice calls Bob, at whose two programs it rings.
  fileprivate static func ringingTwice() throws -> Party {
    var party = try Party.calling()
    party.ledger.handleForwarded(.invite, to: 2, id(5), now: party.now)
    party.hears(.ringing(isPrepared: true), id(5), from: bob, desk)
    party.hears(.ringing(isPrepared: true), id(5), from: bob, pocket)
    _ = party.actions()
    return party
  }
}

/// A callee with several programs (docs/protocol/calling.md §3).
@Suite struct SeveralProgramsTests {
  @Test func `the first ACCEPT wins, and the others hear that it was answered elsewhere`() throws {
    var party = try Party.ringingTwice()
    party.hears(.accept, id(5), from: bob, pocket)
    #expect(party.ledger.state == .connecting)
    #expect(party.sentTo() == [desk: [.cancel(.answeredElsewhere)]])
    // Until that is receipted, and no longer.
    party.wait(.milliseconds(600))
    #expect(party.sentTo() == [desk: [.cancel(.answeredElsewhere)]])
    party.hears(.receipt(of: .cancel), id(5), from: bob, desk)
    party.wait(.seconds(4))
    #expect(party.sentTo().isEmpty)
    #expect(party.ledger.state == .connecting)
  }

  @Test func `an ACCEPT that comes second is told so at once, each time`() throws {
    var party = try Party.ringingTwice()
    party.hears(.accept, id(5), from: bob, desk)
    _ = party.actions()
    for _ in 0..<2 {
      party.hears(.accept, id(5), from: bob, pocket)
      #expect(party.sentTo() == [pocket: [.cancel(.answeredElsewhere)]])
      party.ledger.handleLateAnswer(id(5), from: bob, presence: pocket, now: party.now)
      #expect(party.sentTo() == [pocket: [.cancel(.answeredElsewhere)]])
    }
    party.ledger.handleLateAnswer(id(5), from: bob, presence: desk, now: party.now)
    #expect(party.sentTo().isEmpty)
  }

  @Test func `one that rings after the answer is told as well, also after the call`() throws {
    var party = try Party.ringingTwice()
    party.hears(.accept, id(5), from: bob, desk)
    _ = party.actions()
    party.hears(.ringing(isPrepared: true), id(5), from: bob, third)
    #expect(party.sentTo() == [third: [.cancel(.answeredElsewhere)]])
    party.hears(.hangUp(.userHungUp, .empty), id(5), from: bob)
    _ = party.actions()
    party.hears(.ringing(isPrepared: true), id(5), from: bob, pocket)
    #expect(party.sentTo() == [pocket: [.cancel(.answeredElsewhere)]])
  }

  @Test func `busy counts against the number of programs, and that of the last one ends it`() throws
  {
    var party = try Party.calling()
    party.ledger.handleForwarded(.invite, to: 2, id(5), now: party.now)
    _ = party.actions()
    party.hears(.reject(.busy, .empty), id(5), from: bob, desk)
    #expect(party.sentTo() == [desk: [.receipt(of: .reject)]])
    #expect(party.ledger.state == .calling)
    // Once more, because the receipt was lost.
    party.hears(.reject(.busy, .empty), id(5), from: bob, desk)
    #expect(party.sentTo() == [desk: [.receipt(of: .reject)]])
    party.hears(.reject(.busy, .empty), id(5), from: bob, pocket)
    #expect(party.summary()?.outcome == .busy)
  }

  /// The transport repeats an INVITE that a program which has just registered is given too.
  @Test func `one that begins to ring when the others have said busy is told that it is over`()
    throws
  {
    var party = try Party.calling()
    party.ledger.handleForwarded(.invite, to: 1, id(5), now: party.now)
    party.hears(.reject(.busy, .empty), id(5), from: bob, desk)
    #expect(party.summary()?.outcome == .busy)
    party.hears(.ringing(isPrepared: true), id(5), from: bob, pocket)
    #expect(party.sentTo() == [pocket: [.cancel(.userCancelled)]])
    party.wait(.milliseconds(600))
    #expect(party.sentTo() == [pocket: [.cancel(.userCancelled)]])
    party.hears(.receipt(of: .cancel), id(5), from: bob, pocket)
    party.wait(.seconds(4))
    #expect(party.sentTo().isEmpty)
  }

  @Test func `busy before the rendezvous has said how many there are waits for that`() throws {
    for (count, isOver) in [(1, true), (2, false)] {
      var party = try Party.calling()
      party.hears(.reject(.busy, .empty), id(5), from: bob, desk)
      #expect(party.ledger.state == .calling)
      _ = party.actions()
      party.ledger.handleForwarded(.invite, to: count, id(5), now: party.now)
      #expect((party.summary()?.outcome == .busy) == isOver)
    }
  }

  @Test func `one that is busy does not stop one that rings`() throws {
    var party = try Party.calling()
    party.ledger.handleForwarded(.invite, to: 2, id(5), now: party.now)
    party.hears(.reject(.busy, .empty), id(5), from: bob, desk)
    party.hears(.ringing(isPrepared: true), id(5), from: bob, pocket)
    party.hears(.accept, id(5), from: bob, pocket)
    #expect(party.ledger.state == .connecting)
  }

  @Test func `one that is busy and one that is dead end as busy after eight seconds`() throws {
    var party = try Party.calling()
    party.ledger.handleForwarded(.invite, to: 2, id(5), now: party.now)
    party.hears(.reject(.busy, .empty), id(5), from: bob, desk)
    _ = party.actions()
    party.wait(.milliseconds(7900))
    #expect(party.summary() == nil)
    party.wait(.milliseconds(200))
    #expect(party.summary()?.outcome == .busy)
  }

  @Test func `is not busy unless all of them are`() throws {
    var party = try Party.calling()
    party.ledger.handleForwarded(.invite, to: 2, id(5), now: party.now)
    party.hears(.reject(.notAllowed, .empty), id(5), from: bob, desk)
    party.hears(.reject(.busy, .empty), id(5), from: bob, pocket)
    #expect(party.summary()?.outcome == .rejected)
  }

  @Test func `a person who declines does so for all programs`() throws {
    var party = try Party.ringingTwice()
    party.hears(.reject(.declined, .empty), id(5), from: bob, desk)
    let actions = party.actions()
    #expect(
      actions.contains(.sendTo(pocket, .cancel(.declinedElsewhere), id(5), of: bob))
        && actions.contains(.sendTo(desk, .receipt(of: .reject), id(5), of: bob)))
    #expect(!party.ledger.hasOpenCalls && party.ledger.isDelivering)
    party.hears(.receipt(of: .cancel), id(5), from: bob, pocket)
    #expect(!party.ledger.isDelivering)
  }

  @Test func `a caller that gives up tells every program until each has receipted it`() throws {
    var party = try Party.ringingTwice()
    try party.ledger.cancel(id(5), now: party.now)
    #expect(party.sent() == [.cancel(.userCancelled)])
    party.hears(.receipt(of: .cancel), id(5), from: bob, desk)
    party.wait(.milliseconds(600))
    #expect(party.sent() == [.cancel(.userCancelled)])
    party.hears(.receipt(of: .cancel), id(5), from: bob, pocket)
    #expect(party.actions().contains(.close(id(5))))
    party.hears(.ringing(isPrepared: true), id(5), from: bob, third)
    #expect(party.sentTo() == [third: [.cancel(.userCancelled)]])
  }

  @Test func `repeats INVITE until every program that it was passed on to has answered`() throws {
    var party = try Party.calling()
    party.ledger.handleForwarded(.invite, to: 2, id(5), now: party.now)
    party.hears(.ringing(isPrepared: true), id(5), from: bob, desk)
    _ = party.actions()
    party.wait(.milliseconds(600))
    #expect(party.sent() == [.invite])
    party.hears(.ringing(isPrepared: true), id(5), from: bob, pocket)
    party.wait(.seconds(3))
    #expect(party.sent().isEmpty)
  }

  @Test func `a program that hears it was decided elsewhere ends, with the words for it`() throws {
    for (reason, outcome, cause) in [
      (CallReason.answeredElsewhere, CallOutcome.cancelled, CallCause.answeredElsewhere),
      (.declinedElsewhere, .rejected, .declinedElsewhere),
    ] {
      var party = Party.ringing()
      party.hears(.cancel(reason), id(5), from: alice)
      let actions = party.actions()
      #expect(actions.contains(.send(.receipt(of: .cancel), id(5), to: alice, .both)))
      for case .notify(.ended(let summary)) in actions {
        #expect(summary.outcome == outcome && summary.cause == cause)
      }
    }
    // Also when it had accepted, and the other was first.
    var party = Party.ringing()
    try party.ledger.accept(id(5), now: party.now)
    _ = party.actions()
    party.hears(.cancel(.answeredElsewhere), id(5), from: alice)
    #expect(party.summary()?.cause == .answeredElsewhere)
  }

  /// The one that was first may have been restarted, or be another that is alive.
  @Test func `a second program of the caller takes the place of a ring, and the first is told`() {
    for (presence, isTold) in [(desk, false), (pocket, true)] {
      var party = Party(bob)
      party.invited(id(5), from: alice, desk)
      party.wait(.seconds(4))
      _ = party.actions()
      party.invited(id(6), from: alice, presence)
      let actions = party.actions()
      let words = actions.compactMap { action -> CallSignal? in
        if case .send(let signal, id(5), _, _) = action { signal } else { nil }
      }
      let text = ReasonText(clipping: "another program of the caller called")
      #expect(words == (isTold ? [.reject(.superseded, text)] : []))
      #expect(party.ledger.openCallID == id(6))
    }
  }

  /// Alice's program calls Bob, whose desk rings while another program of his calls Alice.
  @Test func `glare is between two programs, whatever rings beside them`() throws {
    var lesser = try Party.calling()
    lesser.hears(.ringing(isPrepared: true), id(5), from: bob, desk)
    _ = lesser.actions()
    lesser.invited(id(3), from: bob, pocket)
    #expect(lesser.ledger.openCallID == id(3) && lesser.ledger.state == .connecting)
    #expect(lesser.sentTo() == [desk: [.cancel(.superseded)]])
    var greater = try Party.calling()
    greater.hears(.ringing(isPrepared: true), id(5), from: bob, desk)
    _ = greater.actions()
    greater.invited(id(7), from: bob, pocket)
    #expect(greater.ledger.openCallID == id(5) && greater.ledger.state == .calling)
    // From the program that rings it is no glare.
    var ringing = try Party.calling()
    ringing.hears(.ringing(isPrepared: true), id(5), from: bob, desk)
    _ = ringing.actions()
    ringing.invited(id(3), from: bob, desk)
    #expect(ringing.ledger.openCallID == id(5))
  }
}
