import Peer
import Primitives
import SecureSession
import Simulation
import Testing
import Wire

/// How soon a program registers where nodes of its list are dead (docs/protocol/cluster.md §7):
/// `NodeScout`.
@Suite struct NodeRaceTests {
  private static let count = 24

  /// In how many ms programs with a list registered, by how many of its dead nodes come first.
  private static func times(
    dead: Int, roundTrip: Int64, seed: UInt64, gap: Duration?
  ) throws -> [Int: [Int64]] {
    let service = SimulatedService(seed: seed)
    let list = try #require(service.list(serial: 7))
    let line = AccessConditions.clean(oneWay: .milliseconds(roundTrip / 2))
    for node in 0..<dead { service.kill(node) }
    let alive = Set((dead..<3).map { service.id(of: $0) })
    var times: [Int: [Int64]] = [:]
    for _ in 0..<count {
      let start = service.world.now
      let peer = try #require(service.addPeer(line, dialling: 2, nodes: list) { $0.nodeGap = gap })
      service.world.run(atMost: .seconds(9)) { peer.isRegistered }
      let order = list.order(for: peer.id).prefix { !alive.contains($0.id) }
      times[order.count, default: []].append(Int64((service.world.now - start).milliseconds))
      service.world.run(.milliseconds(300))
      #expect(service.homes(of: peer).count == 1)
    }
    return times
  }

  /// Goal: 250 ms for each dead node, then the card and the session.
  @Test(arguments: [20, 200] as [Int64])
  func `a dead node is not waited for longer than it takes to ask the next`(
    roundTrip: Int64
  ) throws {
    for dead in 0...2 {
      func times(_ gap: Duration?) throws -> [Int: [Int64]] {
        try Self.times(dead: dead, roundTrip: roundTrip, seed: UInt64(dead + 1), gap: gap)
      }
      let (times, former) = (try times(.milliseconds(250)), try times(nil))
      for (first, all) in times.sorted(by: { $0.key < $1.key }) {
        let worst = all.max() ?? .max
        let before = former[first]?.max() ?? 0
        print("\(dead) of 3 dead, \(first) of them first, \(roundTrip) ms: \(worst) ms, \(before)")
        let goal = first == 0 ? roundTrip * 4 : 260 * Int64(first) + roundTrip * 7 / 2 + 60
        #expect(worst <= goal, "\(first) dead nodes first: \(all.sorted())")
      }
    }
  }

  /// Goal: one that answers in 700 ms is waited for, and its clients stay at it.
  @Test func `a slow line changes nothing of where people register`() throws {
    let service = SimulatedService(seed: 5)
    let list = try #require(service.list(serial: 7))
    let line = AccessConditions.clean(oneWay: .milliseconds(280))
    for _ in 0..<12 {
      let peer = try #require(service.addPeer(line, dialling: 0, nodes: list))
      service.world.run(.seconds(6))
      let homes = service.homes(of: peer).map { service.id(of: $0) }
      #expect(homes == [list.order(for: peer.id)[0].id])
    }
  }
}
