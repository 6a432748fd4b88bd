import Forwarding
import Peer
import Primitives
import Rendezvous
import Testing
import Wire

/// Channels by a relay: whole machines of members and of the relay, lossy lines, hostile members
/// (docs/protocol/relay.md, sframe.md).
struct RelayedChannelTests {
  private func settle(_ world: RelayedWorld) { world.run(.seconds(2)) }

  /// So many frames of each host, 20 ms apart.
  private func talk(
    _ world: RelayedWorld, _ hosts: [UInt32], from first: UInt16, frames: Int
  ) -> [UInt32: Set<[UInt8]>] {
    var said: [UInt32: Set<[UInt8]>] = [:]
    for frame in 0..<frames {
      let time = first &+ UInt16(frame * 2)
      for host in hosts { said[host, default: []].insert(world.speak(host, time)) }
      world.run(.milliseconds(20))
    }
    world.run(.milliseconds(200))
    return said
  }

  @Test func `all that hosts say is heard by all others, and by nobody in clear`() throws {
    let world = try RelayedWorld(seed: 1)
    for uid in 1...3 as ClosedRange<UInt32> { try world.join(uid) }
    try world.join(4, .audience)
    settle(world)
    #expect(world.gauges.seats == 4)
    for member in world.members {
      #expect(member.verifiedCount == 3 && member.steps.first == .connected)
      #expect(member.fingerprint == world.members[0].fingerprint)
    }
    let said = talk(world, [1, 2, 3], from: 100, frames: 100)
    for member in world.members {
      for host in [1, 2, 3] as [UInt32] where host != member.uid {
        #expect(member.heard[host] == said[host])
        #expect(member.steps.contains(.firstFrame(uid: host)))
      }
      #expect(member.counts.unopened == 0)
    }
  }

  @Test func `who joins later hears from then on, and who was removed no more`() throws {
    let world = try RelayedWorld(seed: 2)
    try world.join(1)
    try world.join(2)
    settle(world)
    let before = talk(world, [1], from: 100, frames: 20)
    let late = try world.join(3)
    settle(world)
    let between = talk(world, [1], from: 300, frames: 20)
    #expect(late.heard[1] == between[1])
    // It keeps its seat at the relay, and the key that it had.
    world.remove(3, .removed)
    world.run(.milliseconds(300))
    let after = talk(world, [1], from: 500, frames: 20)
    #expect(late.heard[1]?.isDisjoint(with: after[1] ?? []) == true && late.counts.unopened >= 20)
    #expect(world.member(2)?.heard[1]?.isSuperset(of: before[1] ?? []) == true)
    #expect(world.member(2)?.heard[1]?.isSuperset(of: after[1] ?? []) == true)
  }

  /// A token that names a uid takes it from whoever has it.
  @Test(arguments: [true, false])
  func `whose uid another identity takes hears no more at once, whose own program does not`(
    isSame: Bool
  ) throws {
    let world = try RelayedWorld(seed: 3)
    for uid in 1...4 as ClosedRange<UInt32> { try world.join(uid) }
    settle(world)
    // It draws a fresh key; for a leave within a second of it there is none yet.
    world.leave(4)
    world.run(.milliseconds(100))
    let late = try #require(world.member(3))
    let successor = ChannelMember(
      uid: 3, role: .host, joinNumber: 1 << 40, id: isSame ? late.id : world.members[3].id)
    world.gone.insert(3)
    world.revision += 1
    for member in world.members where member.uid < 3 {
      let others = [1, 2].compactMap { uid in
        world.member(uid).map {
          ChannelMember(
            uid: uid, role: $0.role, joinNumber: world.joinNumbers[uid] ?? 0, id: $0.id)
        }
      }
      member.machine.handleRoster(
        others + [successor], revision: world.revision, departures: [3: .replaced], now: world.now)
      world.drain(member)
    }
    world.run(.milliseconds(300))
    let after = talk(world, [1], from: 500, frames: 20)
    #expect((late.heard[1] ?? []).isDisjoint(with: after[1] ?? []) == !isSame)
    #expect(world.member(2)?.heard[1]?.isSuperset(of: after[1] ?? []) == true)
  }

  /// The frames of one host, a pause of 20 ms after each; so many before a change, and after it.
  private func talk(
    _ world: RelayedWorld, _ hosts: [UInt32], changing uid: UInt32, to role: MemberRole,
    at first: UInt16
  ) -> (before: [UInt32: Set<[UInt8]>], after: [UInt32: Set<[UInt8]>]) {
    let before = talk(world, hosts, from: first, frames: 50)
    world.setRole(uid, role)
    return (before, talk(world, hosts, from: first + 200, frames: 50))
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func `a host that only listens is silent at once, and one that speaks again is heard`(
    seed: UInt64
  ) throws {
    let world = try RelayedWorld(seed: seed)
    for uid in 1...3 as ClosedRange<UInt32> { try world.join(uid) }
    try world.join(4, .audience)
    settle(world)
    for first in [1000, 3000, 5000] as [UInt16] {
      let quiet = talk(world, [1, 2, 3, 4], changing: 1, to: .audience, at: first)
      for member in world.members where member.uid != 1 {
        #expect(member.heard[1]?.isDisjoint(with: quiet.after[1] ?? []) ?? true)
      }
      #expect(world.member(1)?.role == .audience)
      let loud = talk(world, [1, 2, 3, 4], changing: 1, to: .host, at: first + 1000)
      for member in world.members where member.uid != 1 {
        // All but what it said within a few round trips.
        let missing = loud.after[1]?.subtracting(member.heard[1] ?? []).count ?? 0
        #expect(missing <= 6, "seed \(seed), \(first): \(missing) of 50 are missing")
      }
      for member in world.members {
        for host in [2, 3] as [UInt32] where host != member.uid {
          for said in [quiet.before, quiet.after, loud.before, loud.after] {
            #expect(said[host]?.isSubset(of: member.heard[host] ?? []) == true, "no gap")
          }
        }
        #expect(member.heard[4] == nil)
      }
    }
    #expect(world.counters.audioNotAllowed == 0)
  }

  @Test func `one of the audience that becomes host is heard, and without a grant it is not`()
    throws
  {
    let world = try RelayedWorld(seed: 7)
    for uid in 1...2 as ClosedRange<UInt32> { try world.join(uid) }
    try world.join(3, .audience)
    settle(world)
    let said = talk(world, [1, 3], changing: 3, to: .host, at: 1000)
    for member in world.members where member.uid != 3 {
      let missing = said.after[3]?.subtracting(member.heard[3] ?? []).count ?? 0
      #expect(missing <= 6, "\(missing) of 50 are missing")
      #expect(member.heard[3]?.isDisjoint(with: said.before[3] ?? []) == true)
    }
    #expect(said.after[1]?.isSubset(of: world.member(3)?.heard[1] ?? []) == true)
  }

  /// Goal: whose role changes while it asks for a seat is heard: it asks for a grant of that role.
  @Test func `a grant of another role than one's own is asked for again`() throws {
    let world = try RelayedWorld(seed: 8)
    for uid in 1...2 as ClosedRange<UInt32> { try world.join(uid) }
    let late = try world.join(3, .host, granted: .audience)
    #expect(late.steps.filter { $0 == .grantNeeded }.count == 1)
    settle(world)
    world.grantAgain(3)
    let said = (0..<150).map { index in
      world.run(.milliseconds(20))
      return world.speak(3, UInt16(index) * 2)
    }
    world.run(.milliseconds(500))
    for member in world.members where member.uid != 3 {
      let missing = said.filter { member.heard[3]?.contains($0) != true }.count
      #expect(missing <= 100, "\(missing) of 150: it is heard after two seconds at the latest")
      #expect(member.heard[3]?.isSuperset(of: said.suffix(50)) == true)
    }
    #expect(late.steps.filter { $0 == .grantNeeded }.count == 1)
  }

  @Test func `a member whose seat has ended says so until a newer grant gives it one`() throws {
    let world = try RelayedWorld(seed: 11)
    for uid in 1...2 as ClosedRange<UInt32> { try world.join(uid) }
    settle(world)
    let member = try #require(world.member(2))
    func refusals() -> Int { member.steps.count { $0 == .refused(.ended) } }
    world.endSeat(2)
    world.run(.seconds(1))
    #expect(refusals() == 1)
    // One of the moment in which the seat ended is worth as little as those before: it gets no
    // session either, in which it would wait for ever.
    world.grantAgain(2, age: .seconds(1))
    world.run(.seconds(1))
    #expect(refusals() == 2)
    let said = world.speak(1, 1000)
    world.run(.milliseconds(100))
    #expect(member.heard[1]?.contains(said) != true)
    world.grantAgain(2)
    world.run(.seconds(2))
    #expect(member.isSeated && refusals() == 2)
    let saidLater = world.speak(1, 1002)
    world.run(.milliseconds(100))
    #expect(member.heard[1]?.contains(saidLater) == true)
  }

  @Test func `a member for whom the relay has no room is told so, and seated when there is`() throws
  {
    var limits = ForwardingLimits()
    limits.seats = 2
    let world = try RelayedWorld(seed: 12, limits: limits)
    for uid in 1...3 as ClosedRange<UInt32> {
      try world.join(uid)
      settle(world)
    }
    let member = try #require(world.member(3))
    world.run(.seconds(3))
    #expect(!member.isSeated && member.steps.contains(.refused(.full)))
    #expect(!member.steps.contains(.refused(.ended)) && !member.steps.contains(.grantNeeded))
    world.leave(2)
    world.run(.seconds(8))
    #expect(member.isSeated)
    let said = world.speak(1, 1000)
    world.run(.milliseconds(200))
    #expect(member.heard[1]?.contains(said) == true)
  }

  /// A relay that is killed forgets all; it is started again as often as it dies.
  @Test(arguments: 1...3 as ClosedRange<UInt64>)
  func `after each restart of the relay its members are back within two seconds`(
    seed: UInt64
  ) throws {
    let world = try RelayedWorld(seed: seed)
    for uid in 1...3 as ClosedRange<UInt32> { try world.join(uid) }
    try world.join(4, .audience)
    settle(world)
    var time = 1000 as UInt16
    func speak(_ seconds: Int, until isDone: () -> Bool) -> Int {
      for step in 0..<(seconds * 50) {
        if isDone() { return step * 20 }
        for uid in 1...3 as ClosedRange<UInt32> { world.speak(uid, time) }
        time += 2
        world.run(.milliseconds(20))
      }
      return seconds * 1000
    }
    for absence in [1, 4, 12] {
      _ = speak(3) { false }
      world.stopRelay()
      _ = speak(absence) { false }
      world.startRelay()
      let wait = speak(20) { world.members.allSatisfy(\.isSeated) }
      #expect(wait <= 2000, "back after \(wait) ms of a relay that was away \(absence) s")
    }
  }

  @Test func `a ghost that the rendezvous has seated hears nothing and is not heard`() throws {
    let world = try RelayedWorld(seed: 3)
    try world.join(1)
    try world.join(2)
    let ghost = try world.join(9, isGhost: true)
    settle(world)
    #expect(world.gauges.seats == 3)
    let said = talk(world, [1, 9], from: 100, frames: 50)
    #expect(world.member(2)?.heard[1] == said[1])
    #expect(ghost.heard.isEmpty && ghost.counts.opened == 0 && ghost.counts.unopened > 0)
    for member in world.members where member.uid != 9 { #expect(member.heard[9] == nil) }
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func `a tenth lost on one member's way costs it a hundredth, and others nothing`(
    seed: UInt64
  ) throws {
    let world = try RelayedWorld(seed: seed)
    for uid in 1...3 as ClosedRange<UInt32> { try world.join(uid) }
    settle(world)
    let lossy = RelayedWorld.address(2)
    world.line = { _, to, random in to == lossy && random.unit() < 0.1 ? [] : [10] }
    _ = talk(world, [1], from: 100, frames: 300)
    let said = talk(world, [1], from: 2000, frames: 500)
    let missing = said[1]?.subtracting(world.member(2)?.heard[1] ?? []).count ?? 0
    #expect(missing <= 5, "seed \(seed): \(missing) of 500 are missing")
    #expect(said[1]?.isSubset(of: world.member(3)?.heard[1] ?? []) == true)
    #expect(world.counters.copiesSent > 800)
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func `a host whose own way loses a tenth is heard by all`(seed: UInt64) throws {
    let world = try RelayedWorld(seed: seed)
    for uid in 1...3 as ClosedRange<UInt32> { try world.join(uid) }
    settle(world)
    let lossy = RelayedWorld.address(1)
    world.line = { from, _, random in from == lossy && random.unit() < 0.1 ? [] : [10] }
    _ = talk(world, [1], from: 100, frames: 300)
    let said = talk(world, [1], from: 2000, frames: 500)
    for uid in [2, 3] as [UInt32] {
      let missing = said[1]?.subtracting(world.member(uid)?.heard[1] ?? []).count ?? 0
      #expect(missing <= 8, "seed \(seed): \(missing) of 500 are missing to \(uid)")
    }
    #expect(world.counters.framesRecovered > 20)
  }

  /// What a relay, or whoever stands on the way, can do to packets: it drops, delays, reorders and
  /// repeats them. Nothing is heard that was not said, and nothing twice.
  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `drops, delays, disorder and repetition bring nothing false`(seed: UInt64) throws {
    let world = try RelayedWorld(seed: seed)
    world.line = { _, _, random in
      if random.unit() < 0.15 { return [] }
      let wait = 5 + Int(random.unit() * 60)
      return random.unit() < 0.2 ? [wait, wait + 30, wait + 400] : [wait]
    }
    for uid in 1...4 as ClosedRange<UInt32> { try world.join(uid, uid == 4 ? .audience : .host) }
    world.run(.seconds(8))
    for member in world.members {
      #expect(member.isSeated && member.verifiedCount == 3, "seed \(seed), \(member.uid)")
    }
    let said = talk(world, [1, 2, 3], from: 100, frames: 400)
    for member in world.members {
      for host in [1, 2, 3] as [UInt32] where host != member.uid {
        let heard = member.heard[host] ?? []
        #expect(heard.isSubset(of: said[host] ?? []))
        #expect(heard.count >= 360, "seed \(seed): \(member.uid) heard \(heard.count) of \(host)")
      }
    }
  }

  @Test func `a relay that is silent is lost within a second and a half, and back at once`() throws
  {
    let world = try RelayedWorld(seed: 5)
    try world.join(1)
    try world.join(2)
    settle(world)
    _ = talk(world, [1], from: 100, frames: 50)
    world.line = { _, _, _ in [] }
    _ = talk(world, [1], from: 300, frames: 65)
    #expect(world.member(1)?.steps.last == .lost)
    world.line = { _, _, _ in [10] }
    _ = talk(world, [1], from: 500, frames: 50)
    #expect(world.member(1)?.steps.last == .connected)
    #expect(world.member(1)?.steps.filter { $0 == .lost }.count == 1)
  }

  /// Each report wakes the relay, and it may have a thousand listeners.
  @Test func `who gets sound alone reports five times a second, and ten times once pictures come`()
    throws
  {
    let world = try RelayedWorld(seed: 9)
    try world.join(1, pictures: RelayedWorld.pictures(sends: true, receives: false))
    for uid in [2, 3] as [UInt32] {
      try world.join(
        uid, .audience, pictures: RelayedWorld.pictures(sends: false, receives: uid == 3))
    }
    settle(world)
    var sent: [SocketAddress: Int] = [:]
    world.line = { from, _, _ in
      sent[from, default: 0] += 1
      return [10]
    }
    _ = talk(world, [1], from: 100, frames: 200)
    let alone = sent[RelayedWorld.address(2)] ?? 0
    #expect((18...28).contains(alone), "in 4.2 s, a ping and reports of the end among them")
    sent = [:]
    for frame in 0..<120 as Range<UInt16> {
      _ = world.speak(1, 2000 + frame * 2)
      if frame % 2 == 0 { _ = world.show(1, frame, bitsPerSecond: 60_000) }
      world.run(.milliseconds(20))
    }
    #expect((sent[RelayedWorld.address(2)] ?? 0) <= 15)
    #expect((sent[RelayedWorld.address(3)] ?? 0) >= 22)
  }
}
