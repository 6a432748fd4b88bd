import Primitives
import SecureSession
import Testing
import Wire

@testable import Rendezvous

/// What a node knows of how the others see it, and of what it gave to them.
@Suite struct NodeStandingTests {
  private func at(_ seconds: Int64) -> Instant { .zero + .seconds(1000 + seconds) }

  @Test func `a connection that Redis knows no more means that data was lost`() {
    var standing = NodeStanding()
    for (bits, isLoss) in [(3, false), (1, false), (5, false), (1, false), (3, true)] {
      let hasLost = standing.handleBeat(.list([.number(Int64(bits))]), sent: at(0))
      #expect((hasLost == .forgotten) == isLoss, "\(bits)")
      #expect(standing.isFrozen == (bits == 5))
    }
    let wasLost = standing.handleBeat(.failed(""), sent: at(1))
    standing.isKnown = false
    let isLost = standing.handleBeat(.list([.number(3)]), sent: at(1))
    #expect(wasLost == nil && isLost == nil)
  }

  @Test func `nodes are known by what Redis has told of them last`() {
    var standing = NodeStanding()
    let hashes = (UInt8(1)...3).map { [UInt8](repeating: $0, count: 16) }
    let first = [SharedReply.number(1), .number(5), .bytes([7]), .number(9)]
    let reply = first + hashes.map { SharedReply.bytes($0) }
    _ = standing.handleBeat(.list(reply), sent: at(0))
    #expect(standing.others == hashes)
    _ = standing.handleBeat(.failed(""), sent: at(1))
    #expect(standing.others == hashes)
    _ = standing.handleBeat(.list([.number(1), .number(5), .bytes(hashes[0])]), sent: at(2))
    #expect(standing.others == [hashes[0]])
  }

  @Test func `programs begin without Redis when others know that they may, and not for long`() {
    var standing = NodeStanding()
    // The others have never heard of it.
    #expect(!standing.takesUntold(now: at(0)) && standing.isCutOff(now: at(0)))
    _ = standing.handleBeat(.list([.number(1)]), sent: at(0))
    for (seconds, takes) in [(1, false), (5, false), (6, true), (270, true), (271, false)] {
      #expect(standing.takesUntold(now: at(Int64(seconds))) == takes, "\(seconds) s")
      #expect(standing.isCutOff(now: at(Int64(seconds))) == (seconds > 270))
    }
  }

  /// Method: beats a second apart by the node's clock; by that of Redis they are so many ms apart.
  @Test func `a clock of Redis that was set forward is noticed once`() {
    var standing = NodeStanding()
    var clock: Int64 = 1_800_000_000_000
    for (number, (step, isSet)) in [
      (0, false), (1000, false), (60_000, false), (3_600_000, true), (1000, false),
      (-3_600_000, false), (1000, false),
    ].enumerated() {
      clock += Int64(step)
      let reply = SharedReply.list([.number(1), .number(clock), .list([])])
      let finding = standing.handleBeat(reply, sent: at(Int64(number)))
      #expect(finding == (isSet ? .clockSet : nil), "\(step)")
    }
    // By a new connection all is announced anyway.
    standing.isKnown = false
    let reply = SharedReply.list([.number(1), .number(clock + 3_600_000), .list([])])
    let finding = standing.handleBeat(reply, sent: at(8))
    #expect(finding == nil)
  }

  /// Goal: a hostile Redis ends no node.
  @Test func `any numbers are a clock of Redis`() {
    var standing = NodeStanding()
    for clock in [0, .max, .min, -1, .max, 0, .min] as [Int64] {
      let reply = SharedReply.list([.number(1), .number(clock), .list([])])
      _ = standing.handleBeat(reply, sent: at(0))
      #expect(!standing.isFrozen)
    }
  }

  /// Goal: channels stay where they are. Method: the others are silent to Redis until they beat.
  @Test(arguments: [3_600_000, -3_600_000, 2500] as [Int64])
  func `who has not spoken since the clock of Redis was set is not gone yet`(step: Int64) {
    var standing = NodeStanding()
    let hashes = (UInt8(1)...2).map { [UInt8](repeating: $0, count: 16) }
    var clock: Int64 = 1_800_000_000_000
    func beat(_ seconds: Int64, _ alive: [[UInt8]]) {
      let list = SharedReply.list(alive.map { .bytes($0) })
      let first = [SharedReply.number(1), .number(clock)] + hashes.map { .bytes($0) }
      _ = standing.handleBeat(.list(first + [list]), sent: at(seconds))
      standing.isKnown = true
    }
    for second in 0..<5 as Range<Int64> {
      beat(second, hashes)
      clock += 1000
    }
    let version = standing.homes.version
    clock += step
    beat(5, [hashes[0]])
    clock += 1000
    beat(6, hashes)
    #expect(standing.homes.nodes == hashes && standing.homes.version == version)
    // Who says nothing for 3 s is gone.
    for second in 7...9 as ClosedRange<Int64> {
      clock += 1000
      beat(second, [hashes[0]])
    }
    #expect(standing.homes.nodes == [hashes[0]])
  }

  @Test func `a body is waited for until each node has said once what became of it`() {
    let forward = Forward(
      id: ForwardID(low: 1, high: 2), to: .zero, lifeSeconds: 8, body: [7])
    let route = ForwardRoute(
      forward: forward, sender: StoreWork.Client(slot: 0, connection: .none), kind: .begun)
    var open = AwaitedDeliveries()
    open.insert(AwaitedDelivery(route: route, nodes: [1, 2], count: 0), 5, now: at(0))
    let answers: [(number: UInt64, node: UInt64)] = [(5, 1), (5, 1), (5, 3), (6, 2), (5, 2)]
    let complete = answers.map { number, node in
      open.noteAnswer(BodyTaken(number: number, node: node, count: 1)) != nil
    }
    #expect(complete == [false, false, false, false, true])
    open.insert(AwaitedDelivery(route: route, nodes: [1], count: 0), 7, now: at(0))
    let due = [open.popDue(now: at(0)), open.popDue(now: at(1))]
    #expect(due.map { $0 != nil } == [false, true])
    #expect(open.nextDeadline == nil && open.hasRoom)
    let isNew = [open.isNew(9), open.isNew(9)]
    #expect(isNew == [true, false])
  }
}
