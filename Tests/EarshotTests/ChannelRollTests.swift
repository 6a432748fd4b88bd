import Primitives
import Testing

@testable import Earshot

/// Whom a stay in a channel has met.
struct RoomRollTests {
  private static func user(_ uid: UInt32, _ role: ChannelRole = .host) -> ChannelUser {
    ChannelUser(uid: uid, id: PeerID(word0: UInt64(uid), word1: 0, word2: 0, word3: 0), role: role)
  }

  private static func numbers(received: Int, lost: Int = 0) -> CallStatistics {
    var numbers = CallStatistics(atMs: 4000)
    numbers.received.packetsReceived = received
    numbers.received.packetsLost = lost
    numbers.received.residualLost = lost / 2
    numbers.received.mos = 4.2
    numbers.currentRttMs = 20.5
    return numbers
  }

  @Test func `all stays of a member count, and who has left is still told`() {
    var roll = ChannelRoll()
    for uid in [7, 3] as [UInt32] { roll.add(Self.user(uid)) }
    roll.hear(7)
    roll.leave(7, heard: .seconds(2))
    roll.add(Self.user(7, .audience))
    roll.leave(3, heard: .seconds(1))
    #expect(
      roll.entries.map(\.user.uid) == [7, 3] && roll.entries.map(\.isThere) == [true, false])
    #expect(roll.entries.map(\.heard) == [.seconds(2), .seconds(1)])
    #expect(roll.entries[0].user.role == .audience)
    #expect(roll.entries.map(\.wasHeard) == [true, false])
  }

  @Test func `a uid that somebody else has now has its own time`() {
    var roll = ChannelRoll()
    roll.add(Self.user(7))
    roll.leave(7, heard: .seconds(2))
    let other = ChannelUser(
      uid: 7, id: PeerID(word0: 99, word1: 0, word2: 0, word3: 0), role: .host)
    roll.add(other)
    #expect(roll.entries.map(\.heard) == [.seconds(2), .zero])
    #expect(roll.entries.map(\.isThere) == [false, true])
  }

  @Test func `packets of all calls with a member count`() {
    var roll = ChannelRoll()
    roll.add(Self.user(7))
    let numbers = Self.numbers(received: 198, lost: 2)
    roll.setNumbers(numbers, of: 7)
    roll.setNumbers(nil, of: 7)
    #expect(roll.entries[0].roundTrip == 20.5)
    roll.setNumbers(nil, of: 7)
    #expect(roll.entries[0].packets == 200 && roll.entries[0].numbers == nil)
    roll.setNumbers(numbers, of: 7)
    roll.leave(7, heard: .seconds(1))
    #expect(roll.entries[0].packets == 400 && roll.entries[0].lost == 4)
    #expect(roll.entries[0].residualLost == 2 && roll.entries[0].mos == 4.2)
  }

  /// A relay that is followed by another one counts on; a pipeline that begins anew does not.
  @Test func `packets by a relay count once, over all relays`() {
    var roll = ChannelRoll()
    roll.add(Self.user(7))
    for received in [100, 200, 200, 300] {
      roll.setNumbers(Self.numbers(received: received), of: 7, by: .relay)
    }
    #expect(roll.entries[0].packets == 300)
    roll.setNumbers(Self.numbers(received: 50), of: 7, by: .relay)
    #expect(roll.entries[0].packets == 350, "the way was a mesh for a while")
    roll.setNumbers(Self.numbers(received: 400), of: 7)
    #expect(roll.entries[0].packets == 750, "a call")
    roll.setNumbers(nil, of: 7)
    #expect(roll.entries[0].packets == 750 && roll.isThere(7))
    roll.leave(7, heard: .zero)
    #expect(roll.entries[0].packets == 750 && !roll.isThere(7))
  }

  /// While a relay was silent calls took its place; what came by it before is counted already.
  @Test func `packets of before a relay's outage count once`() {
    var roll = ChannelRoll()
    roll.add(Self.user(7))
    roll.setNumbers(Self.numbers(received: 300, lost: 4), of: 7, by: .relay)
    roll.setNumbers(Self.numbers(received: 200), of: 7)
    roll.setNumbers(nil, of: 7)
    for received in [500, 600] {
      roll.setNumbers(Self.numbers(received: received, lost: 10), of: 7, by: .relay)
    }
    #expect(roll.entries[0].packets == 810 && roll.entries[0].lost == 10)
    #expect(roll.entries[0].residualLost == 5)
    roll.leave(7, heard: .zero)
    roll.add(Self.user(7))
    roll.setNumbers(Self.numbers(received: 900), of: 7, by: .relay)
    #expect(roll.entries[0].packets == 1710, "another stay has other packets")
  }

  @Test func `no channel fills the roll`() {
    var roll = ChannelRoll()
    for uid in 1...1100 as ClosedRange<UInt32> { roll.add(Self.user(uid)) }
    #expect(roll.entries.count == ChannelRoll.most && roll.leftOut == 1100 - ChannelRoll.most)
  }
}
