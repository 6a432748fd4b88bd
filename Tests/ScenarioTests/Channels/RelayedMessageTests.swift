import Forwarding
import Primitives
import Testing
import Wire

@testable import Peer

/// A host's messages to all members of a channel by a relay (docs/protocol/relay.md §3).
struct RelayedMessageTests {
  private func messages(_ world: RelayedWorld, _ uid: UInt32, of host: UInt32) -> [[UInt8]] {
    world.messages(uid, of: host)
  }

  private func makeWorld(seed: UInt64, count: UInt32 = 4) throws -> RelayedWorld {
    let world = try RelayedWorld(seed: seed)
    for uid in 1...count { try world.join(uid, uid > 2 ? .audience : .host) }
    world.run(.seconds(2))
    return world
  }

  private static func bytes(_ number: Int) -> [UInt8] {
    [UInt8(number >> 8), UInt8(number & 255)] + Array(repeating: 9, count: number % 7 * 150)
  }

  @Test(arguments: [0, 0.1, 0.3], 91..<111 as Range<UInt64>)
  func `all members get a host's messages in their order`(loss: Double, seed: UInt64) throws {
    let world = try makeWorld(seed: seed)
    world.line = { _, _, random in
      random.unit() < loss ? [] : [Int.random(in: 20...60, using: &random)]
    }
    let all = (0..<100).map(Self.bytes)
    for (number, bytes) in all.enumerated() {
      #expect(world.send(1, bytes) == .sent)
      world.speak(1, UInt16(number * 4))
      world.run(.milliseconds(40))
    }
    world.run(.seconds(10))
    for uid in [2, 3, 4] as [UInt32] {
      #expect(messages(world, uid, of: 1) == all, "member \(uid)")
    }
    #expect(messages(world, 1, of: 1).isEmpty)
    #expect(world.counters.messagesForwarded == 300)
  }

  @Test func `a message is there within a round trip, and who comes later has none of before`()
    throws
  {
    let world = try makeWorld(seed: 95)
    world.send(2, [1, 2, 3])
    world.run(.milliseconds(30))
    #expect(messages(world, 1, of: 2) == [[1, 2, 3]])
    try world.join(9, .audience)
    world.run(.seconds(2))
    world.send(2, [4])
    // For one of the first eight it waits, since it may have been overtaken.
    world.run(.seconds(3))
    #expect(messages(world, 9, of: 2) == [[4]])
    #expect(messages(world, 3, of: 2) == [[1, 2, 3], [4]])
  }

  @Test func `who listens sends none, nobody more than waits`() throws {
    let world = try makeWorld(seed: 96)
    #expect(world.send(3, [1]) == .notPublishing)
    let sent = (0..<200).map { _ in world.send(1, [1]) }
    // 30 at once, and 64 wait.
    #expect(sent.count { $0 == .sent } == 94 && sent.count { $0 == .tooMany } == 106)
    world.run(.seconds(1))
    #expect(messages(world, 2, of: 1).count <= 62)
    #expect(world.send(1, [1]) == .sent)
    world.run(.seconds(4))
    #expect(messages(world, 2, of: 1).count == 95)
  }

  /// Messages of all lengths, the longest among them, to all over lines that lose.
  @Test(arguments: [0, 0.1], 121..<124 as Range<UInt64>)
  func `long messages arrive whole and in order, others as soon as they are whole`(
    loss: Double, seed: UInt64
  ) throws {
    let world = try makeWorld(seed: seed)
    world.line = { _, _, random in
      random.unit() < loss ? [] : [Int.random(in: 20...60, using: &random)]
    }
    let long = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    let ordered = [long, [1], Array(long.prefix(1024)), Array(long.prefix(1025)), [2]]
    for bytes in ordered { #expect(world.send(1, bytes) == .sent) }
    #expect(world.send(1, [3], isOrdered: false) == .sent)
    #expect(world.send(1, Array(long.prefix(3000)), isOrdered: false) == .sent)
    for second in 0..<14 {
      for number in 0..<25 {
        world.speak(1, UInt16(truncatingIfNeeded: (second * 25 + number) * 4))
        world.run(.milliseconds(40))
      }
    }
    for uid in [2, 3, 4] as [UInt32] {
      let told = messages(world, uid, of: 1)
      #expect(told.filter { $0 != [3] && $0.count != 3000 }.map(\.count) == ordered.map(\.count))
      #expect(told.first { $0.count == 65_536 } == long)
      #expect(told.contains([3]) && told.contains(Array(long.prefix(3000))))
    }
    #expect(world.counters.tooMany == 0, "the relay had nothing to drop")
  }

  /// To one whose line carries less than the 30 parts a second (264 kbit/s): they share it with the
  /// sound, of which at most one frame in fifty is lost meanwhile.
  @Test(arguments: [(150_000, 490), (400_000, 498)] as [(Double, Int)])
  func `sound goes on beside a long message`(line: Double, frames: Int) throws {
    let world = try makeWorld(seed: 125)
    world.downlinks[2] = line
    let long = [UInt8](repeating: 7, count: 20_000)
    #expect(world.send(1, long) == .sent)
    let before = world.member(2)?.heard[1]?.count ?? 0
    for number in 0..<500 {
      world.speak(1, UInt16(number * 2))
      world.run(.milliseconds(20))
    }
    #expect((world.member(2)?.heard[1]?.count ?? 0) - before >= frames)
    #expect(messages(world, 2, of: 1) == [long])
  }

  @Test func `after a new start of the relay messages go on`() throws {
    let world = try makeWorld(seed: 97)
    world.send(1, [1])
    world.run(.seconds(1))
    world.stopRelay()
    world.run(.seconds(3))
    world.startRelay()
    for uid in 1...4 as ClosedRange<UInt32> { world.grantAgain(uid) }
    world.run(.seconds(30))
    #expect(world.send(1, [2]) == .sent)
    world.run(.seconds(3))
    for uid in [2, 3, 4] as [UInt32] { #expect(messages(world, uid, of: 1) == [[1], [2]]) }
  }

  // MARK: - The rule alone

  private static func message(_ number: UInt32, epoch: UInt64 = 5) -> DataPart {
    DataPart(epoch: epoch, number: number, bytes: [UInt8(truncatingIfNeeded: number)])
  }

  @Test func `of another epoch of its sender nothing is waited for`() {
    var messages = IncomingMessages(uid: 3, epoch: 5)
    #expect(messages.handle(Self.message(2), now: .zero) == [] && messages.patience != nil)
    #expect(messages.handle(Self.message(9, epoch: 4), now: .zero) == [])
    #expect(messages.handle(Self.message(1, epoch: 6), now: .zero).messages == [[2], [1]])
    #expect(messages.patience == nil && messages.uid == 3)
  }

  @Test func `what is missing is waited for, and skipped after eight seconds`() {
    var messages = RelayedMessages(epoch: 1)
    #expect(messages.handle(Self.message(17), of: 3, now: .zero).messages == [[17]])
    #expect(messages.handle(Self.message(19), of: 3, now: .zero) == [])
    #expect(messages.handle(Self.message(19), of: 3, now: .zero) == [])
    #expect(messages.handle(Self.message(18), of: 3, now: .zero).messages == [[18], [19]])
    #expect(messages.nextDeadline == nil)
    #expect(messages.handle(Self.message(22), of: 3, now: .zero) == [])
    #expect(messages.nextDeadline == .zero + .seconds(8))
    #expect(messages.handleTimeout(now: .zero + .seconds(7)).count == 0)
    let late = messages.handleTimeout(now: .zero + .seconds(8))
    #expect(late.map(\.news).messages == [[22]])
    #expect(messages.handle(Self.message(21), of: 3, now: .zero) == [])
    #expect(messages.nextDeadline == nil)
  }

  @Test func `each gap is waited for as long, and the first message of a sender for two seconds`() {
    var messages = RelayedMessages(epoch: 1)
    #expect(messages.handle(Self.message(2), of: 3, now: .zero) == [])
    #expect(messages.nextDeadline == .zero + .seconds(2))
    #expect(messages.handleTimeout(now: .zero + .seconds(2)).map(\.news).messages == [[2]])
    for number in [4, 6, 8] as [UInt32] {
      #expect(messages.handle(Self.message(number), of: 3, now: .zero + .seconds(3)) == [])
    }
    #expect(messages.nextDeadline == .zero + .seconds(11))
    #expect(
      messages.handle(Self.message(3), of: 3, now: .zero + .seconds(10)).messages == [[3], [4]])
    #expect(messages.nextDeadline == .zero + .seconds(18))
    #expect(
      messages.handle(Self.message(5), of: 3, now: .zero + .seconds(11)).messages == [[5], [6]])
    #expect(messages.nextDeadline == .zero + .seconds(19))
  }

  @Test func `the first messages of a seat may come in another order`() {
    var messages = RelayedMessages(epoch: 1)
    #expect(messages.handle(Self.message(3), of: 3, now: .zero) == [])
    #expect(messages.handle(Self.message(1), of: 3, now: .zero).messages == [[1]])
    #expect(messages.handle(Self.message(2), of: 3, now: .zero).messages == [[2], [3]])
    #expect(messages.nextDeadline == nil)
  }

  @Test func `a new seat of the sender begins anew, and one of before says nothing`() {
    var messages = RelayedMessages(epoch: 1)
    #expect(messages.handle(Self.message(40), of: 3, now: .zero).messages == [[40]])
    #expect(messages.handle(Self.message(42), of: 3, now: .zero) == [])
    #expect(messages.handle(Self.message(1, epoch: 6), of: 3, now: .zero).messages == [[42], [1]])
    #expect(messages.handle(Self.message(43), of: 3, now: .zero) == [])
    #expect(messages.handle(Self.message(2, epoch: 6), of: 3, now: .zero).messages == [[2]])
  }

  @Test func `a member that leaves gaps without end fills no memory`() {
    var messages = RelayedMessages(epoch: 1)
    let told = (0..<1000).flatMap { number in
      messages.handle(
        DataPart(epoch: 5, number: UInt32(number * 2 + 1), bytes: [1]), of: 3, now: .zero
      ).messages
    }
    #expect(told.count >= 1000 - 270)
  }

  @Test func `parts of a message may come in any order, and twice`() {
    var messages = RelayedMessages(epoch: 1)
    let whole = [UInt8](repeating: 1, count: 1024)
    func part(_ place: UInt8, of last: UInt8 = 2, _ bytes: [UInt8]) -> DataPart {
      DataPart(epoch: 5, number: 1, place: place, last: last, bytes: bytes)
    }
    #expect(messages.handle(part(2, [9]), of: 3, now: .zero) == [])
    #expect(messages.handle(part(0, whole), of: 3, now: .zero) == [])
    #expect(messages.handle(part(0, of: 1, whole), of: 3, now: .zero) == [], "of another length")
    #expect(messages.handle(part(0, whole), of: 3, now: .zero) == [])
    #expect(messages.handle(Self.message(2), of: 3, now: .zero) == [])
    #expect(
      messages.handle(part(1, whole), of: 3, now: .zero).messages == [whole + whole + [9], [2]])
    #expect(messages.nextDeadline == nil)
  }

  @Test func `a message of which a part is lost for good is skipped eight seconds after the last`()
  {
    var messages = RelayedMessages(epoch: 1)
    let whole = [UInt8](repeating: 1, count: 1024)
    #expect(messages.handle(Self.message(1), of: 3, now: .zero).messages == [[1]])
    #expect(messages.handle(Self.message(3), of: 3, now: .zero) == [])
    for second in 1...3 as ClosedRange<UInt8> {
      let part = DataPart(epoch: 5, number: 2, place: second, last: 9, bytes: whole)
      #expect(messages.handle(part, of: 3, now: .zero + .seconds(Int64(second) * 5)) == [])
      #expect(messages.handleTimeout(now: .zero + .seconds(Int64(second) * 5 + 4)).isEmpty)
    }
    #expect(messages.nextDeadline == .zero + .seconds(23))
    #expect(messages.handleTimeout(now: .zero + .seconds(23)).map(\.news).messages == [[3]])
  }

  @Test func `one that is not ordered is told of at once, and holds nothing up`() {
    var messages = RelayedMessages(epoch: 1)
    func loose(_ number: UInt32) -> DataPart {
      DataPart(epoch: 5, number: number, isOrdered: false, bytes: [UInt8(number)])
    }
    #expect(messages.handle(loose(7), of: 3, now: .zero).messages == [[7]])
    #expect(messages.handle(Self.message(2), of: 3, now: .zero) == [])
    #expect(messages.handle(loose(5), of: 3, now: .zero).messages == [[5]])
    #expect(messages.handle(Self.message(1), of: 3, now: .zero).messages == [[1], [2]])
  }

  /// Numbers without end of which the last part never comes, in order and not.
  @Test(arguments: [true, false])
  func `parts that never become a message fill no memory`(isOrdered: Bool) {
    var messages = PartialMessages()
    var most = 0
    for number in 1...5000 as ClosedRange<UInt32> {
      let bytes = [UInt8](repeating: 0, count: 1024)
      messages.add(
        DataPart(
          epoch: 5, number: number, isOrdered: isOrdered, place: 0, last: 63, bytes: bytes))
      while !messages.isWithinLimits, let least = messages.least { messages.remove(least) }
      most = max(most, messages.count)
    }
    #expect(most <= 257)
  }

  @Test func `a host with many listeners sends fewer parts, one on a narrow line fewer bytes`() {
    func sent(_ room: OutgoingParts.Room, _ bytes: Int) -> Int {
      var parts = OutgoingParts(epoch: 1)
      var count = 0
      for millisecond in 0..<10_000 {
        let now = Instant.zero + .seconds(1) + .milliseconds(Int64(millisecond))
        _ = parts.append([UInt8](repeating: 0, count: bytes), isOrdered: true)
        while parts.poll(room, now: now) != nil { count += 1 }
      }
      return count
    }
    #expect((325...331).contains(sent(OutgoingParts.Room(listeners: 3), 1)))
    #expect((38...41).contains(sent(OutgoingParts.Room(listeners: 999), 1)))
    // A quarter of 150 kbit/s is 4.7 kB a second.
    let narrow = OutgoingParts.Room(listeners: 3, bitsPerSecond: 150_000)
    #expect((40...46).contains(sent(narrow, 1024)))
  }

  @Test func `a message of another length, or without a number, is none`() {
    let one = Self.message(0x0102_0304, epoch: 0x1112_1314_1516_1718).encoded
    #expect(one == [0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 4, 3, 2, 1, 0, 0, 0, 4])
    #expect((try? DataPart(parsing: one.span)) != nil)
    let long = one + Array(repeating: 0, count: 1024)
    let others: [[UInt8]] = [Array(one.dropLast()), long, Self.message(0).encoded, []]
    for other in others {
      #expect((try? DataPart(parsing: other.span)) == nil)
    }
  }
}
