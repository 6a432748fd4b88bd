import Primitives
import Testing
import Wire

@testable import Calling

/// Many who nobody knows, and one who is known.
@Suite struct StrangersTests {
  private static func stranger(_ number: Int) -> PeerID {
    PeerID(word0: 1_000 + UInt64(number), word1: 7, word2: 0, word3: 0)
  }

  private static func callID(_ number: Int, _ mark: UInt8 = 9) -> CallID {
    CallID([mark, UInt8(number & 255), UInt8(number >> 8)] + [UInt8](repeating: 1, count: 13))!
  }

  /// 120 identities, each with an invitation every two seconds: 60 a second.
  private static func flood(_ party: inout Party, second: Int) {
    for number in 0..<120 where number % 2 == second % 2 {
      let call = callID(second * 120 + number)
      party.invited(call, from: stranger(number))
    }
  }

  @Test func `no number of strangers keeps a familiar caller out`() throws {
    var party = Party(alice)
    party.ledger.familiars.insert(bob)
    var rung = 0
    // Longer than it takes to fill the memory of call IDs.
    for second in 0..<240 {
      Self.flood(&party, second: second)
      _ = party.actions()
      let call = Self.callID(second, 8)
      party.invited(call, from: bob)
      let events = party.events()
      if events.contains(.incoming(call, from: bob)) { rung += 1 }
      party.ledger.handle(.cancel(.userCancelled), call, from: bob, now: party.now)
      party.wait(.seconds(1))
    }
    #expect(rung == 240)
  }

  /// Method: a minute of the flood, by callers that receipt nothing. Of 3600 invitations 32 are
  /// opened at once and 3 a second; each costs its answer and two repetitions.
  @Test func `strangers who receipt nothing cost at most three messages each`() {
    var party = Party(alice)
    var sent = 0
    for second in 0..<60 {
      Self.flood(&party, second: second)
      party.wait(.seconds(1))
      sent += party.sent().count
    }
    #expect((400...3 * (32 + 3 * 60)).contains(sent), "\(sent)")
    #expect(party.ledger.ignored[.rateLimited] >= 3388)
  }

  /// Method: one more stranger than are told at once, all rejected in one moment.
  @Test(arguments: [false, true])
  func `of many strangers the first one's last word is said once`(isFamiliar: Bool) {
    var party = Party(alice)
    let count = CallLimits.strangersToldAtOnce + 1
    for number in 0..<count {
      if isFamiliar { party.ledger.familiars.insert(Self.stranger(number)) }
      party.invited(Self.callID(number), from: Self.stranger(number), refusal: .notAllowed)
    }
    party.wait(.seconds(10))
    let sent = party.actions()
    for number in 0..<count {
      let words = sent.count {
        if case .send(.reject, Self.callID(number), _, _) = $0 { true } else { false }
      }
      #expect(words == (number == 0 && !isFamiliar ? 1 : 5))
    }
    #expect(!party.ledger.isDelivering)
  }

  /// Method: an invitation repeated forty times while it rings, and forty times afterwards.
  @Test(arguments: [false, true])
  func `a stranger's repetitions are answered eight times`(isFamiliar: Bool) throws {
    var party = Party(alice)
    if isFamiliar { party.ledger.familiars.insert(bob) }
    party.invited(id(5), from: bob)
    for _ in 0..<40 { party.invited(id(5), from: bob) }
    #expect(party.sent().count == (isFamiliar ? 41 : 9))
    try party.ledger.reject(id(5), now: party.now)
    _ = party.sent()
    for _ in 0..<40 { party.invited(id(5), from: bob) }
    #expect(party.sent().count == (isFamiliar ? 40 : 8))
  }

  @Test func `who was called before is familiar`() throws {
    var party = Party(alice)
    try party.ledger.call(id(5), to: bob, ringTimeout: .seconds(15), now: party.now)
    try party.ledger.cancel(id(5), now: party.now)
    party.wait(.seconds(70))
    #expect(party.ledger.familiars.contains(bob))
    #expect(!party.ledger.familiars.contains(carol))
  }

  @Test func `a stranger rings for thirty seconds at most`() {
    for isFamiliar in [false, true] {
      var party = Party(alice)
      if isFamiliar { party.ledger.familiars.insert(bob) }
      party.invited(id(5), from: bob, ringTimeout: nil)
      party.wait(.seconds(31))
      #expect(party.ledger.isOpen(id(5)) == isFamiliar)
    }
  }

  @Test func `a call is not interrupted, whoever calls`() throws {
    var party = Party(alice)
    party.ledger.familiars.insert(bob)
    party.invited(id(5), from: carol)
    try party.ledger.accept(id(5), now: party.now)
    party.invited(id(6), from: bob)
    #expect(party.ledger.isOpen(id(5)) && !party.ledger.isOpen(id(6)))
  }

  @Test func `a stranger learns no candidates before the answer`() {
    for isFamiliar in [false, true] {
      var policy = CallPolicy.standard
      policy.preparation = .onRingingOfFamiliars
      var party = Party(alice, policy: policy)
      if isFamiliar { party.ledger.familiars.insert(bob) }
      party.invited(id(5), from: bob)
      #expect(party.sent().contains(.ringing(isPrepared: isFamiliar)))
    }
  }
}
