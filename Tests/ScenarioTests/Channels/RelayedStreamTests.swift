import Messaging
import Primitives
import Testing
import Wire

@testable import Peer

/// Streams of messages to a channel, what is missed of them, and what the sender is told
/// (docs/protocol/relay.md §3).
struct RelayedStreamTests {
  private func makeWorld(seed: UInt64) throws -> RelayedWorld {
    let world = try RelayedWorld(seed: seed)
    for uid in 1...4 as ClosedRange<UInt32> { try world.join(uid, uid > 2 ? .audience : .host) }
    world.run(.seconds(2))
    return world
  }

  // MARK: - Over a relay

  @Test(arguments: [0, 0.1], 211..<216 as Range<UInt64>)
  func `each stream comes in its own order, and the relay has all of it`(
    loss: Double, seed: UInt64
  ) throws {
    let world = try makeWorld(seed: seed)
    world.line = { _, _, random in
      random.unit() < loss ? [] : [Int.random(in: 20...60, using: &random)]
    }
    for number in 0..<150 {
      let stream = UInt8(8 + number % 5)
      let isSent = world.send(1, [UInt8(number)], stream: stream, tag: UInt64(number) + 1)
      #expect(isSent == .sent)
      world.speak(1, UInt16(number * 4))
      world.run(.milliseconds(40))
    }
    world.run(.seconds(10))
    for uid in [2, 3, 4] as [UInt32] {
      for stream in 8...12 as ClosedRange<UInt8> {
        let all = (0..<150).filter { $0 % 5 == Int(stream) - 8 }.map { [UInt8($0)] }
        #expect(world.messages(uid, of: 1, stream: stream) == all, "\(uid), stream \(stream)")
      }
      #expect(world.missed(uid) == [])
    }
    #expect(world.results(1, isDelivered: true).sorted() == Array(1...150))
    #expect(world.results(1, isDelivered: false) == [])
  }

  @Test func `a sixteenth stream is refused, and the others go on`() throws {
    let world = try makeWorld(seed: 221)
    for stream in 8...22 as ClosedRange<UInt8> {
      #expect(world.send(1, [stream], stream: stream) == .sent)
    }
    #expect(world.send(1, [1], stream: 23) == .tooManyStreams)
    #expect(world.send(1, [2], stream: 22, isOrdered: false) == .sent)
    world.run(.seconds(1))
    #expect(world.messages(3, of: 1, stream: 22) == [[22], [2]])
    #expect(world.messages(3, of: 1, stream: 23) == [])
  }

  /// The line to one member is cut for longer than the relay tries.
  @Test func `a member is told how many it has missed, and the others miss none`() throws {
    let world = try makeWorld(seed: 222)
    world.send(1, [1], tag: 1)
    world.run(.seconds(1))
    var isCut = true
    world.line = { _, to, _ in isCut && to == RelayedWorld.address(2) ? [] : [10] }
    for number in 2...4 as ClosedRange<UInt8> { world.send(1, [number], tag: UInt64(number)) }
    // A message is tried for 8 s; after 12 s the member would have another seat.
    world.run(.seconds(10))
    isCut = false
    world.run(.seconds(1))
    let isSeated = world.member(2)?.isSeated
    #expect(isSeated == true)
    for number in 5...6 as ClosedRange<UInt8> { world.send(1, [number], tag: UInt64(number)) }
    world.run(.seconds(12))
    #expect(world.messages(2, of: 1) == [[1], [5], [6]])
    #expect(world.missed(2) == [[1, 8, 3, 2]])
    #expect(world.messages(3, of: 1) == [[1], [2], [3], [4], [5], [6]] && world.missed(3) == [])
    // What a member does not get is the relay's to know.
    #expect(world.results(1, isDelivered: true) == [1, 2, 3, 4, 5, 6])
  }

  @Test func `of what a relay does not get its sender is told, once`() throws {
    let world = try makeWorld(seed: 223)
    world.send(1, [UInt8](repeating: 1, count: 40_000), tag: 1)
    world.run(.milliseconds(200))
    world.stopRelay()
    for tag in 2...3 as ClosedRange<UInt64> { world.send(1, [1], tag: tag) }
    world.run(.seconds(40))
    #expect(world.results(1, isDelivered: true) == [])
    world.startRelay()
    for uid in 1...4 as ClosedRange<UInt32> { world.grantAgain(uid) }
    world.run(.seconds(30))
    #expect(world.send(1, [9], tag: 9) == .sent)
    world.run(.seconds(2))
    #expect(world.results(1, isDelivered: true).last == 9)
    let all = world.results(1, isDelivered: true) + world.results(1, isDelivered: false)
    #expect(all.sorted() == [1, 2, 3, 9])
    #expect(world.member(1)?.machine.openMessages == [])
  }

  @Test func `who listens from now on is told that the rest was not sent`() throws {
    let world = try makeWorld(seed: 224)
    world.send(1, [UInt8](repeating: 1, count: 65_536), tag: 7)
    world.run(.milliseconds(100))
    world.setRole(1, .audience)
    world.run(.seconds(10))
    #expect(world.results(1, isDelivered: false) == [7])
    #expect(world.results(1, isDelivered: true) == [])
  }

  // MARK: - The rule alone

  private static func part(
    _ number: UInt32, _ stream: UInt8 = 8, isOrdered: Bool = true
  ) -> DataPart {
    DataPart(
      epoch: 5, number: number, stream: stream, isOrdered: isOrdered,
      bytes: [UInt8(truncatingIfNeeded: number)])
  }

  private static func message(_ stream: UInt8, _ byte: UInt8) -> MessageNews {
    .message(stream: stream, [byte])
  }

  @Test func `a gap in one stream holds no other one up`() {
    var messages = IncomingMessages(uid: 3, epoch: 5)
    #expect(messages.handle(Self.part(1), now: .zero) == [Self.message(8, 1)])
    #expect(messages.handle(Self.part(3), now: .zero) == [])
    #expect(messages.handle(Self.part(1, 9), now: .zero) == [Self.message(9, 1)])
    #expect(messages.handle(Self.part(2, 9), now: .zero) == [Self.message(9, 2)])
    #expect(
      messages.handle(Self.part(2), now: .zero) == [Self.message(8, 2), Self.message(8, 3)])
    #expect(messages.patience == nil)
  }

  @Test func `what is skipped is told, with how many have waited for it`() {
    var messages = IncomingMessages(uid: 3, epoch: 5)
    _ = messages.handle(Self.part(17), now: .zero)
    for number in [20, 21, 23] as [UInt32] {
      #expect(messages.handle(Self.part(number), now: .zero) == [])
    }
    #expect(
      messages.handleTimeout(now: .zero + .seconds(8)) == [
        .missed(stream: 8, missed: 2, cached: 2), Self.message(8, 20), Self.message(8, 21),
      ])
    // Its sender has another seat: what is missing does not come any more.
    let next = DataPart(epoch: 6, number: 1, bytes: [1])
    #expect(
      messages.handle(next, now: .zero + .seconds(9)) == [
        .missed(stream: 8, missed: 1, cached: 1), Self.message(8, 23), Self.message(8, 1),
      ])
  }

  @Test func `what waits for a member that leaves is told`() {
    var messages = RelayedMessages(epoch: 1)
    _ = messages.handle(Self.part(1), of: 3, now: .zero)
    _ = messages.handle(Self.part(3), of: 3, now: .zero)
    #expect(
      messages.remove(3) == [.missed(stream: 8, missed: 1, cached: 1), Self.message(8, 3)])
    #expect(messages.remove(3) == [] && messages.nextDeadline == nil)
  }

  @Test func `of those that are told as they come a missing one is told as well`() {
    var messages = IncomingMessages(uid: 3, epoch: 5)
    for number in [1, 2, 5] as [UInt32] {
      let news = messages.handle(Self.part(number, isOrdered: false), now: .zero)
      #expect(news == [Self.message(8, UInt8(number))])
      #expect(messages.handle(Self.part(number, isOrdered: false), now: .zero) == [])
    }
    #expect(
      messages.handle(Self.part(3, isOrdered: false), now: .zero + .seconds(7)) == [
        Self.message(8, 3)
      ])
    #expect(messages.patience == .zero + .seconds(15))
    #expect(
      messages.handleTimeout(now: .zero + .seconds(15)) == [
        .missed(stream: 8, missed: 1, cached: 0)
      ])
    // It was told as missed: it is not told again as one that has come.
    #expect(messages.handle(Self.part(4, isOrdered: false), now: .zero + .seconds(16)) == [])
    #expect(messages.patience == nil)
  }

  @Test func `who comes later is not told what it has missed of before`() {
    var messages = IncomingMessages(uid: 3, epoch: 5)
    #expect(messages.handle(Self.part(4), now: .zero) == [])
    #expect(messages.handleTimeout(now: .zero + .seconds(2)) == [Self.message(8, 4)])
    let loose = Self.part(40, isOrdered: false)
    #expect(messages.handle(loose, now: .zero) == [Self.message(8, 40)])
    let overtaken = Self.part(33, isOrdered: false)
    #expect(messages.handle(overtaken, now: .zero) == [Self.message(8, 33)])
    #expect(messages.handleTimeout(now: .zero + .seconds(2)) == [])
  }

  @Test func `a sixteenth stream of a sender is left out`() {
    var messages = IncomingMessages(uid: 3, epoch: 5)
    for stream in 8...22 as ClosedRange<UInt8> {
      #expect(messages.handle(Self.part(1, stream), now: .zero) == [Self.message(stream, 1)])
    }
    #expect(messages.handle(Self.part(1, 23), now: .zero) == [])
    let other = Self.part(1, 22, isOrdered: false)
    #expect(messages.handle(other, now: .zero) == [Self.message(22, 1)])
  }

  @Test func `gaps in all streams fill no more memory than in two`() {
    var messages = IncomingMessages(uid: 3, epoch: 5)
    var told = 0
    for number in 1...100 as ClosedRange<UInt32> {
      for stream in 8...22 as ClosedRange<UInt8> {
        told += messages.handle(Self.part(number * 2, stream), now: .zero).messages.count
      }
    }
    #expect(told >= 1500 - 540)
    var stream = IncomingStream(Self.part(2))
    _ = stream.handle(Self.part(2), now: .zero)
    #expect(stream.size == (1, 1))
    #expect(stream.finish() == [Self.message(8, 2)] && stream.size == (0, 0))
  }

  @Test func `one byte says the stream and the order, as before on the first stream`() throws {
    let kinds: [(UInt8, Bool, UInt8)] = [
      (8, true, 0), (8, false, 1), (9, true, 2), (12, false, 9), (127, false, 239),
    ]
    for (stream, isOrdered, byte) in kinds {
      let part = Self.part(3, stream, isOrdered: isOrdered)
      #expect(part.encoded[12] == byte)
      #expect(try DataPart(parsing: part.encoded.span) == part)
    }
    var encoded = Self.part(3).encoded
    for byte in [240, 255] as [UInt8] {
      encoded[12] = byte
      #expect(DataPart(encoded) == nil)
    }
  }

  @Test func `a message is with the relay when all its parts are, and not after one has failed`() {
    var receipts = MessageReceipts()
    receipts.begin(1)
    receipts.begin(2)
    #expect(receipts.handleDeparture(of: 1, as: MessageTag(rawValue: 10), isLast: false) == nil)
    #expect(receipts.handleEnd(of: MessageTag(rawValue: 10), isDelivered: true) == nil)
    #expect(receipts.handleDeparture(of: 1, as: MessageTag(rawValue: 11), isLast: true) == nil)
    #expect(receipts.handleDeparture(of: 2, as: MessageTag(rawValue: 12), isLast: false) == nil)
    #expect(
      receipts.handleEnd(of: MessageTag(rawValue: 11), isDelivered: true)
        == MessageReceipts.Result(tag: 1, isDelivered: true))
    #expect(
      receipts.handleDeparture(of: 2, as: nil, isLast: true)
        == MessageReceipts.Result(tag: 2, isDelivered: false))
    #expect(receipts.handleEnd(of: MessageTag(rawValue: 12), isDelivered: true) == nil)
    receipts.begin(3)
    receipts.begin(4)
    _ = receipts.handleDeparture(of: 3, as: MessageTag(rawValue: 1), isLast: true)
    // What has not left yet goes by the next session.
    #expect(
      receipts.handleSessionEnd() == [MessageReceipts.Result(tag: 3, isDelivered: false)])
    #expect(receipts.openTags == [4])
  }
}
