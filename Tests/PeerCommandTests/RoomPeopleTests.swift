import Earshot
import PeerCommand
import Testing

/// Who may come into the channel that a call became, who stays, and what people are called.
@Suite struct RoomPeopleTests {
  private static func call(_ number: UInt8) -> CallID {
    CallID(bytes: Array(repeating: number, count: 16))
  }

  private static func peer(_ number: UInt8) throws -> PeerID {
    try #require(PeerID(Array(repeating: number, count: 32)))
  }

  /// Alice and Bob talk; Alice has invited Carol.
  private static func inviting() throws -> RoomPeople {
    var people = RoomPeople()
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
    var people = RoomPeople()
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
}
