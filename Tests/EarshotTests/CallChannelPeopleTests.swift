import Earshot
import Testing

/// Who may come into the channel that a call became, who stays, and what people are called.
@Suite struct CallChannelPeopleTests {
  private static func call(_ number: UInt8) -> CallID {
    CallID(bytes: Array(repeating: number, count: 16))
  }

  private static func peer(_ number: UInt8) throws -> PeerID {
    try #require(PeerID(Array(repeating: number, count: 32)))
  }

  /// Alice and Bob talk; Alice has invited Carol.
  private static func inviting() throws -> CallChannelPeople {
    var people = CallChannelPeople()
    people.add(call(1), try peer(1), "bob", .there)
    people.add(call(2), nil, "carol", target: "carol", .invited)
    return people
  }

  /// Goal: two programs that answer by themselves do not hold each other when the caller has left.
  @Test func `who answers without a person stays for the sake of the first call alone`() throws {
    let people = try Self.inviting()
    #expect(people.mayStay(hasFirst: true, isAttended: false, members: 0))
    #expect(!people.mayStay(hasFirst: false, isAttended: false, members: 2))
    #expect(people.mayStay(hasFirst: false, isAttended: true, members: 1))
  }

  @Test func `a person stays while somebody is there or is being invited`() throws {
    var people = try Self.inviting()
    #expect(people.handleEnd(Self.call(1)) == .ended("bob"))
    #expect(people.mayStay(hasFirst: false, isAttended: true, members: 0))
    #expect(people.handleEnd(Self.call(2)) == .stayedOut("carol"))
    #expect(!people.mayStay(hasFirst: false, isAttended: true, members: 0))
  }

  /// Goal: no member has tokens of another one, or has it removed.
  @Test func `who has a call is a member, and nobody's to wish for`() throws {
    var people = try Self.inviting()
    #expect(people.hasCall(with: try Self.peer(1)))
    #expect(!people.hasCall(with: try Self.peer(2)))
    people.identify(Self.call(2), as: try Self.peer(2), nil)
    #expect(people.hasCall(with: try Self.peer(2)))
    _ = people.handleEnd(Self.call(1))
    #expect(!people.hasCall(with: try Self.peer(1)))
  }

  /// Goal: an invitation that was withdrawn or refused opens nothing.
  @Test func `whoever never accepted has no token, and is not let go but stays out`() throws {
    var people = try Self.inviting()
    #expect(people.invited == [Self.call(2)])
    people.identify(Self.call(2), as: try Self.peer(2), nil)
    #expect(people.handleEnd(Self.call(2)) == .stayedOut("carol"))
    #expect(!people.isDismissed(try Self.peer(2)) && people.invited.isEmpty)
  }

  /// Goal: a third that was let go with a token in its hands does not come in late.
  @Test func `whoever was let go before it came in is not let in later`() throws {
    var people = try Self.inviting()
    let carol = try Self.peer(2)
    people.identify(Self.call(2), as: carol, nil)
    people.handlePass(Self.call(2))
    #expect(people.handleEnd(Self.call(2)) == .letGo("carol"))
    #expect(people.isDismissed(carol))
    // Invited again, it may come.
    people.add(Self.call(3), nil, "carol", target: "carol", .invited)
    people.identify(Self.call(3), as: carol, nil)
    #expect(!people.isDismissed(carol))
  }

  @Test func `whoever came in and left may come again`() throws {
    var people = try Self.inviting()
    let carol = try Self.peer(2)
    people.identify(Self.call(2), as: carol, nil)
    people.handlePass(Self.call(2))
    #expect(people.handleArrival(carol) == Self.call(2))
    #expect(people.handleEnd(Self.call(2)) == .ended("carol"))
    #expect(!people.isDismissed(carol) && people.name(of: carol) == "carol")
    people.add(Self.call(4), carol, "carol", .there)
    #expect(people.handleArrival(carol) == Self.call(4) && people.names == ["bob", "carol"])
  }

  /// Goal: the call of the two becomes the pair of the channel; a member without a call has none.
  @Test func `a member is linked by the call that there is with it`() throws {
    var people = try Self.inviting()
    #expect(people.handleArrival(try Self.peer(1)) == Self.call(1))
    #expect(people.handleArrival(try Self.peer(9)) == nil)
  }

  @Test func `people are known by their name, by what was typed and by ID`() throws {
    var people = try Self.inviting()
    people.identify(Self.call(2), as: try Self.peer(2), "caroline")
    for target in ["carol", "caroline", "\(try Self.peer(2))"] {
      #expect(people.name(ofWhoIs: target) == "caroline", "\(target)")
    }
    #expect(people.name(ofWhoIs: "bob") == "bob" && people.name(ofWhoIs: "dan") == nil)
    // Whoever has left can be invited again.
    #expect(people.handleEnd(Self.call(1)) == .ended("bob"))
    #expect(people.name(ofWhoIs: "bob") == nil)
  }

  @Test func `whoever is kept out is told of once`() throws {
    var people = CallChannelPeople()
    #expect(people.turnAway(try Self.peer(3)))
    let (third, fourth) = (try Self.peer(3), try Self.peer(4))
    #expect(!people.turnAway(third) && people.turnAway(fourth))
  }

  @Test func `a call that goes on under another ID is the same`() throws {
    var people = try Self.inviting()
    people.replace(Self.call(2), by: Self.call(7))
    #expect(people.name(of: Self.call(7)) == "carol" && people.name(of: Self.call(2)) == nil)
    #expect(people.stage(of: Self.call(7)) == .invited)
  }

  /// Goal: a member that was dialled by ID is called as its card says, as calls do it; what it
  /// calls itself displaces no name that is pinned or was typed.
  @Test func `a name that is only claimed displaces none that was given or pinned`() throws {
    var people = try Self.inviting()
    let dan = try Self.peer(4)
    func answered(_ name: String?, _ trust: NameTrust?, card: String?) -> CallPeer {
      CallPeer(
        id: dan, name: name, trust: .new, nameTrust: trust, cardName: card, userExtension: nil)
    }
    people.add(Self.call(4), dan, "yyyyyyyy…", by: .id, .there)
    people.identify(Self.call(4), as: answered(nil, nil, card: "dan"))
    #expect(people.name(of: dan) == "dan?")
    people.identify(Self.call(4), as: answered("dan", .rendezvous, card: nil))
    #expect(people.name(of: dan) == "dan")
    people.identify(Self.call(4), as: answered(nil, nil, card: "carol"))
    #expect(people.name(of: dan) == "dan")
    people.add(Self.call(5), dan, "daniel", by: .pinned, .there)
    people.identify(Self.call(5), as: answered("dan", .rendezvous, card: nil))
    #expect(people.name(of: Self.call(5)) == "daniel")
    people.identify(Self.call(5), as: answered("danny", .known, card: nil))
    #expect(people.name(of: Self.call(5)) == "danny")
  }

  /// Goal: whoever made the channel lets in as many as it likes; what is kept of them has an end.
  @Test func `who is kept out and who has left is remembered to a limit`() throws {
    var people = CallChannelPeople()
    var count = 0
    for number in 0..<200 {
      let id = try #require(PeerID([UInt8(number)] + Array(repeating: 5, count: 31)))
      if people.turnAway(id) { count += 1 }
      let call = CallID(bytes: [UInt8(number)] + Array(repeating: 6, count: 15))
      people.add(call, id, "somebody", .there)
      _ = people.handleEnd(call)
    }
    #expect(
      count == CallChannelPeople.mostTurnedAway && people.count == CallChannelPeople.mostDeparted)
  }

  @Test func `a guest is handed tokens of whoever made the channel, some times`() throws {
    var people = try Self.inviting()
    let carol = try Self.peer(2)
    #expect(people.handleEntry(of: carol) == nil)
    people.identify(Self.call(2), as: carol, nil)
    #expect(people.invitedCall(of: carol) == Self.call(2))
    #expect(people.handleEntry(of: carol)?.isFirst == true)
    #expect(people.handleEntry(of: carol)?.isFirst == false)
    for _ in 0..<100 { _ = people.handleEntry(of: carol) }
    #expect(people.handleEntry(of: carol) == nil)
    // The channel gives way to another one: it is invited again, by the call that there is.
    #expect(people.inviteAgain(but: Self.call(1)) == [Self.call(2)])
    #expect(people.stage(of: Self.call(2)) == .invited)
  }
}
