import Earshot
import Primitives
import Testing

@testable import PeerCommand

/// Whom a stay in a channel has met.
struct RoomRollTests {
  private static func user(_ uid: UInt32, _ role: ChannelRole = .host) -> ChannelUser {
    ChannelUser(uid: uid, id: PeerID(word0: UInt64(uid), word1: 0, word2: 0, word3: 0), role: role)
  }

  @Test func `all stays of a member count, and who has left is still told`() {
    var roll = RoomRoll()
    for uid in [7, 3] as [UInt32] { roll.add(Self.user(uid)) }
    roll.leave(7, heard: .seconds(2))
    roll.add(Self.user(7, .audience))
    roll.leave(3, heard: .seconds(1))
    let values = roll.values { $0 == 7 ? .milliseconds(500) : .seconds(9) }
    let texts = values.map(\.text)
    #expect(texts[0].hasPrefix("{\"uid\":7,") && texts[1].hasPrefix("{\"uid\":3,"))
    #expect(texts[0].hasSuffix("\"role\":\"audience\",\"isThere\":true,\"heardMs\":2500}"))
    #expect(texts[1].hasSuffix("\"role\":\"host\",\"isThere\":false,\"heardMs\":1000}"))
  }

  @Test func `a uid that somebody else has now has its own time`() {
    var roll = RoomRoll()
    roll.add(Self.user(7))
    roll.leave(7, heard: .seconds(2))
    let other = ChannelUser(
      uid: 7, id: PeerID(word0: 99, word1: 0, word2: 0, word3: 0), role: .host)
    roll.add(other)
    let times = roll.values { _ in .milliseconds(10) }.map(\.text)
    #expect(times.map { $0.hasSuffix("\"heardMs\":2000}") } == [true, false])
    #expect(times[1].hasSuffix("\"heardMs\":10}"))
  }

  @Test func `packets of all calls with a member count`() throws {
    var roll = RoomRoll()
    roll.add(Self.user(7))
    let numbers = Sample.statistics()
    let once = numbers.received.packetsReceived + numbers.received.packetsLost
    roll.setNumbers(numbers, of: 7)
    roll.setNumbers(nil, of: 7)
    #expect(roll.entries[0].roundTrip == numbers.currentRttMs)
    roll.setNumbers(nil, of: 7)
    #expect(roll.entries[0].packets == once && roll.entries[0].numbers == nil)
    roll.setNumbers(numbers, of: 7)
    roll.leave(7, heard: .seconds(1))
    #expect(once > 0 && roll.entries[0].packets == 2 * once)
    #expect(roll.entries[0].lost == 2 * numbers.received.packetsLost)
    let text = try #require(roll.values { _ in .zero }.first?.text)
    #expect(text.contains("\"packets\":\(2 * once),\"lost\":") && text.contains("\"mos\":"))
    #expect(roll.entries[0].residualLost == 2 && text.contains("\"residualLost\":2,"))
  }

  /// A relay that is followed by another one counts on; a pipeline that begins anew does not.
  @Test func `packets by a relay count once, over all relays`() {
    var roll = RoomRoll()
    roll.add(Self.user(7))
    func numbers(_ received: Int) -> CallStatistics {
      var numbers = Sample.statistics()
      numbers.received.packetsReceived = received
      numbers.received.packetsLost = 0
      return numbers
    }
    for received in [100, 200, 200, 300] { roll.setNumbers(numbers(received), of: 7, by: .relay) }
    #expect(roll.entries[0].packets == 300)
    roll.setNumbers(numbers(50), of: 7, by: .relay)
    #expect(roll.entries[0].packets == 350, "the way was a mesh for a while")
    roll.setNumbers(numbers(400), of: 7)
    #expect(roll.entries[0].packets == 750, "a call")
    roll.setNumbers(nil, of: 7)
    #expect(roll.entries[0].packets == 750 && roll.isThere(7))
    roll.leave(7, heard: .zero)
    #expect(roll.entries[0].packets == 750 && !roll.isThere(7))
  }

  @Test func `no channel fills the roll`() {
    var roll = RoomRoll()
    for uid in 1...1100 as ClosedRange<UInt32> { roll.add(Self.user(uid)) }
    #expect(roll.entries.count == RoomRoll.most && roll.leftOut == 1100 - RoomRoll.most)
  }
}
