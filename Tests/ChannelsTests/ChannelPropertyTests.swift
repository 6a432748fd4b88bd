import Primitives
import Testing
import Wire

@testable import Channels

/// Channels with random joins, leaves, roles, losses and restarts: all rosters agree at last.
@Suite struct ChannelPropertyTests {
  static let runCount: UInt64 = 400

  @Test func `all rosters agree within 2 s of quiet, whatever happened`() throws {
    for seed in 0..<Self.runCount {
      let trial = try Trial(seed: seed)
      trial.run()
      trial.settle()
      trial.expectAgreement()
    }
  }

  @Test func `nobody who was away for less than 20 s is ever shown as gone`() throws {
    for seed in 0..<Self.runCount / 4 {
      let trial = try Trial(seed: 10_000 + seed)
      trial.runOutages()
      let gone = trial.world.ends.flatMap(\.events).filter {
        if case .userOffline = $0.event { return true }
        if case .audienceLeft = $0.event { return true }
        return false
      }
      #expect(gone.isEmpty, "seed \(10_000 + seed): \(gone.map(\.event))")
      trial.settle()
      trial.expectAgreement()
    }
  }
}

private final class Trial {
  let seed: UInt64
  let world: ChannelWorld
  private let rooms: [ChannelIdentity]
  private var random: RandomSource

  init(seed: UInt64) throws {
    self.seed = seed
    var limits = ChannelLimits()
    random = RandomSource(seed: seed ^ 0xABCD)
    // Small enough to be reached: few hosts, few changes kept.
    limits.hosts = 3 + Int(random.next() % 4)
    limits.changes = 4 + Int(random.next() % 60)
    limits.ahead = 2 + Int(random.next() % 30)
    world = ChannelWorld(seed: seed, limits: limits)
    world.lateShare = random.next() % 30
    rooms = [try room("one"), try room("two")]
    for _ in 0..<(3 + random.next() % 8) { world.addEnd() }
    // Some rosters have more than one page.
    if seed % 20 == 0 { for _ in 0..<90 { world.addEnd() } }
  }

  private func pick<Element>(_ choices: [Element]) -> Element {
    choices[Int(random.next() % UInt64(choices.count))]
  }

  /// Half a minute in which anything happens.
  func run() {
    for _ in 0..<(20 + random.next() % 60) {
      act(pick(world.ends), in: pick(rooms))
      world.run(.milliseconds(Int64(random.next() % 800)))
    }
  }

  private func act(_ end: ChannelWorld.End, in room: ChannelIdentity) {
    guard end.isAlive else { return }
    do throws(ChannelRefusal) {
      switch random.next() % 20 {
      case 0..<9:
        let role: MemberRole = random.next() % 2 == 0 ? .host : .audience
        try end.client.join(
          room, as: role, uid: random.next() % 4 == 0 ? UInt32(1 + random.next() % 5) : 0,
          now: world.now)
      case 9..<12: try end.client.leave(room.id, now: world.now)
      case 12..<15: try end.client.setRole(random.next() % 2 == 0 ? .host : .audience, in: room.id)
      case 15: world.disconnect(end)
      case 16: world.connect(end)
      case 17: world.cut(end)
      case 18: end.isAlive = random.next() % 3 != 0
      default: if random.next() % 4 == 0 { world.restartServer() }
      }
    } catch {
      return  // A refused command changes nothing.
    }
  }

  /// Members who stay, with outages below 20 s and new starts of the server.
  func runOutages() {
    for end in world.ends {
      try? end.client.join(rooms[0], as: .audience, now: world.now)
    }
    world.run(.seconds(2))
    for end in world.ends { _ = end.take() }
    for _ in 0..<4 {
      let away = world.ends.filter { _ in random.next() % 2 == 0 }
      for end in away {
        if random.next() % 2 == 0 { world.cut(end) } else { world.disconnect(end) }
      }
      if random.next() % 2 == 0 { world.restartServer() }
      // It takes a message's way until the server hears of the return.
      world.run(.milliseconds(Int64(random.next() % 18_500)))
      for end in away { world.connect(end) }
      world.run(.seconds(3))
    }
  }

  /// Everybody who lives is back, the dead are found out, and then it is quiet for 2 s.
  func settle() {
    // After a restart the dead of before are kept for 21 s.
    world.run(.seconds(22))
    for end in world.ends where end.isAlive { world.connect(end) }
    // Whoever was away for too long joins anew: JOIN and WELCOME come up to 1.1 s late each.
    world.run(.milliseconds(2200))
    world.run(.seconds(2))
  }

  func expectAgreement() {
    for room in rooms {
      let truth = world.server.members(of: room.id)
      for end in world.ends where end.isAlive && end.client.state(of: room.id) == .joined {
        let shown = end.client.members(of: room.id)
        let agrees = shown == truth
        let (extra, lacking) = (Set(shown).subtracting(truth), Set(truth).subtracting(shown))
        #expect(
          agrees,
          "seed \(seed), \(room), \(end.program.presence.rawValue), more \(extra), less \(lacking)")
        let isThere = truth.contains { $0.uid == end.uid(in: room) && $0.id == end.program.id }
        #expect(isThere, "seed \(seed), \(room), \(end.program.presence.rawValue)")
      }
      let living = world.ends.count { $0.isAlive && $0.client.state(of: room.id) == .joined }
      #expect(truth.count == living, "seed \(seed), \(room): \(truth.count) of \(living)")
      #expect(truth.count { $0.role == .host } <= world.limits.hosts)
      #expect(Set(truth.map(\.uid)).count == truth.count)
    }
  }
}
