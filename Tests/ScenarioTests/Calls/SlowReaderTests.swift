import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// A side whose application reads its messages slowly.
@Suite struct SlowReaderTests {
  private static let heldMessages = 16
  private static let window = 131_072

  /// Sends as much as the call takes, and keeps what becomes of it.
  private final class Sender {
    let pair: TwoPeers
    let call: CallID
    let byteCount: Int
    var sent = 0

    init(_ pair: TwoPeers, _ call: CallID, byteCount: Int) {
      (self.pair, self.call, self.byteCount) = (pair, call, byteCount)
    }

    func feed(upTo count: Int) {
      pair.alice.host.command(now: pair.world.now) { machine, now in
        while sent < count {
          var message = ApplicationMessage(
            [UInt8](repeating: UInt8(truncatingIfNeeded: sent), count: byteCount), stream: 9)
          message.life = .seconds(60)
          guard (try? machine.send(message, on: call, now: now)) != nil else { return }
          sent += 1
        }
      }
    }
  }

  private static func told(_ pair: TwoPeers) -> [[UInt8]] {
    pair.bob.events.compactMap {
      if case .link(_, .messageReceived(9, let bytes, _)) = $0.event { bytes } else { nil }
    }
  }

  private static func read(_ messages: [[UInt8]], of call: CallID, _ pair: TwoPeers) {
    let byteCount = messages.map(\.count).reduce(0, +)
    pair.bob.host.command(now: pair.world.now) { machine, now in
      ApplicationMessage.countRead(
        messages: messages.count, byteCount: byteCount, of: call, in: &machine, now: now)
    }
  }

  /// Goal: while Bob's application reads nothing, no more than a window is told and acknowledged;
  /// the call goes on meanwhile, and all comes once it reads.
  @Test(arguments: [10_000, 200])
  func `what is not read holds the sender back`(byteCount: Int) throws {
    let pair = TwoPeers(configure: { $0.limits.unreadMessages = Self.heldMessages })
    let call = try pair.connect()
    let sender = Sender(pair, call, byteCount: byteCount)
    let count = byteCount > 1000 ? 60 : 400
    for _ in 0..<100 {
      sender.feed(upTo: count)
      pair.world.run(.milliseconds(100))
    }
    let held = Self.told(pair)
    let acknowledged = pair.alice.events.count {
      if case .link(_, .messageFinished(_, true)) = $0.event { true } else { false }
    }
    #expect(held.count <= Self.heldMessages && !held.isEmpty)
    #expect(held.count * byteCount <= Self.window && acknowledged * byteCount <= Self.window)
    // What the call itself says is not held.
    pair.alice.host.command(now: pair.world.now) { machine, now in
      machine.say(.quality(sent: 2, received: 5), on: call, now: now)
    }
    pair.world.run(.seconds(1))
    let isSaid = pair.bob.events.contains {
      if case .link(_, .said(.quality)) = $0.event { true } else { false }
    }
    #expect(isSaid)
    var read = 0
    for _ in 0..<400 where read < count {
      let told = Self.told(pair)
      Self.read(Array(told[read...]), of: call, pair)
      read = told.count
      sender.feed(upTo: count)
      pair.world.run(.milliseconds(50))
    }
    let all = Self.told(pair)
    #expect(all.count == count)
    #expect(all.enumerated().allSatisfy { $1.first == UInt8(truncatingIfNeeded: $0) })
    pair.expectHungUp()
  }

  /// Goal: a call that says much meanwhile is heard in all of it, as long as nothing is read.
  @Test func `control goes on beside what is not read`() throws {
    let pair = TwoPeers(configure: { $0.limits.unreadMessages = Self.heldMessages })
    let call = try pair.connect()
    let sender = Sender(pair, call, byteCount: 10_000)
    for round in 0..<4000 {
      sender.feed(upTo: 100)
      pair.alice.host.command(now: pair.world.now) { machine, now in
        machine.say(.quality(sent: UInt8(round % 2), received: 5), on: call, now: now)
      }
      pair.world.run(.milliseconds(10))
    }
    pair.world.run(.seconds(1))
    let said = pair.bob.events.count {
      if case .link(_, .said(.quality)) = $0.event { true } else { false }
    }
    #expect(said == 4000)
    pair.expectHungUp()
  }

  /// Goal: what was acknowledged is told, also where the call ends before it was read.
  @Test func `the end of a call comes behind its messages`() throws {
    let pair = TwoPeers(configure: { $0.limits.unreadMessages = Self.heldMessages })
    let call = try pair.connect()
    let sender = Sender(pair, call, byteCount: 200)
    sender.feed(upTo: 100)
    pair.world.run(.seconds(2))
    let acknowledged = pair.alice.events.count {
      if case .link(_, .messageFinished(_, true)) = $0.event { true } else { false }
    }
    #expect(Self.told(pair).count == Self.heldMessages && acknowledged > Self.heldMessages)
    pair.alice.host.command(now: pair.world.now) { machine, now in
      try? machine.end(call, now: now)
    }
    pair.world.run(.seconds(1))
    #expect(Self.told(pair).count >= acknowledged)
    #expect(pair.summary(of: call, at: pair.bob) != nil)
    pair.expectHungUp()
  }

  /// Goal: a sender that waits goes on as soon as its reader has read.
  @Test func `a sender goes on once it is read`() throws {
    let pair = TwoPeers(
      roundTrip: .milliseconds(40), configure: { $0.limits.unreadMessages = Self.heldMessages })
    let call = try pair.connect()
    let sender = Sender(pair, call, byteCount: 10_000)
    sender.feed(upTo: 20)
    pair.world.run(.seconds(20))
    let before = Self.told(pair)
    #expect(before.count == 12)
    Self.read(before, of: call, pair)
    pair.world.run(.milliseconds(400))
    #expect(Self.told(pair).count > before.count)
    pair.expectHungUp()
  }
}
