import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// What the two sides of a call tell each other besides media: user data with its end, grades, what
/// they have switched off, messages with a time.
@Suite struct CallWordsTests {
  private static let words = "{\"why\":\"lunch\"}"

  private func ending(of call: CallID, at peer: SimulatedPeer, _ pair: TwoPeers) -> String? {
    peer.host.command(now: pair.world.now) { machine, _ in machine.words(of: call)?.theirEnding }
      ?? nil
  }

  private func end(_ call: CallID, _ pair: TwoPeers, by peer: SimulatedPeer) {
    peer.host.command(now: pair.world.now) { machine, now in
      try? machine.end(call, text: "bye", userExtension: Self.words, now: now)
    }
  }

  /// Goal: whoever is rejected, cancelled or hung up on gets the user data of that, once.
  @Test func `a rejection brings user data`() throws {
    let pair = TwoPeers()
    pair.bob.habits.answer = .never
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(1))
    pair.bob.host.command(now: pair.world.now) { machine, now in
      try? machine.reject(call, text: "no", userExtension: Self.words, now: now)
    }
    pair.world.run(.seconds(2))
    #expect(pair.outcome(of: call, at: pair.alice) == .rejected)
    #expect(ending(of: call, at: pair.alice, pair) == Self.words)
    #expect(ending(of: call, at: pair.bob, pair) == nil)
    pair.expectNoViolations()
  }

  @Test func `a cancel brings user data once it rings`() throws {
    let pair = TwoPeers()
    pair.bob.habits.answer = .never
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(1))
    end(call, pair, by: pair.alice)
    pair.world.run(.seconds(2))
    #expect(pair.outcome(of: call, at: pair.bob) == .cancelled)
    #expect(ending(of: call, at: pair.bob, pair) == Self.words)
    pair.expectNoViolations()
  }

  @Test(arguments: [true, false])
  func `a hang-up brings user data`(byCaller: Bool) throws {
    let pair = TwoPeers()
    let call = try pair.connect()
    pair.world.run(.seconds(2))
    let (one, other) = byCaller ? (pair.alice, pair.bob) : (pair.bob, pair.alice)
    end(call, pair, by: one)
    pair.world.run(.seconds(2))
    #expect(pair.outcome(of: call, at: other) == .completed)
    #expect(
      ending(of: call, at: other, pair) == Self.words && ending(of: call, at: one, pair) == nil)
    pair.expectNoViolations()
  }

  /// Goal: a side learns what the other has switched off, and what it thinks of the line.
  @Test func `switches and grades are told`() throws {
    let pair = TwoPeers()
    let call = try pair.connect()
    pair.alice.host.command(now: pair.world.now) { machine, now in
      try? machine.change(call, now: now) { $0.switchedOff = [.videoOff, .audioSourceOff] }
      machine.say(.quality(sent: 2, received: 5), on: call, now: now)
    }
    pair.world.run(.seconds(1))
    var told: [MediaState] = []
    var said: [CallControlMessage] = []
    for (_, event) in pair.bob.events {
      if case .calling(.remoteMediaChanged(call, let state)) = event { told.append(state) }
      if case .link(call, .said(let control)) = event { said.append(control) }
    }
    #expect(told.last == [.audio, .videoOff, .audioSourceOff])
    #expect(said == [.quality(sent: 2, received: 5)])
    pair.expectHungUp()
  }

  /// Goal: a message with a time comes with it, on its own stream, ordered and not.
  @Test(arguments: [true, false])
  func `a message goes with a moment of the sound`(isOrdered: Bool) throws {
    let pair = TwoPeers()
    let call = try pair.connect()
    pair.alice.host.command(now: pair.world.now) { machine, now in
      var message = ApplicationMessage([1, 2, 3], stream: 77)
      message.isOrdered = isOrdered
      message.mediaTime = 0xABCD
      _ = try? machine.send(message, on: call, now: now)
    }
    pair.world.run(.seconds(1))
    let came = pair.bob.events.compactMap { event -> (UInt8, [UInt8], UInt16?)? in
      guard case .link(call, .messageReceived(let stream, let bytes, let time)) = event.event
      else { return nil }
      return (stream, bytes, time)
    }
    #expect(came.count == 1)
    #expect(came.first.map { $0.0 == 77 && $0.1 == [1, 2, 3] && $0.2 == 0xABCD } == true)
    pair.expectHungUp()
  }

  /// Goal: on a line that loses much, messages that are not repeated are told as delivered or as
  /// given up, the other side learns how many it has missed, and nothing stalls.
  @Test(arguments: [true, false], [1, 2, 3] as [UInt64])
  func `messages that are not repeated are missed and counted`(
    isOrdered: Bool, seed: UInt64
  ) throws {
    let pair = TwoPeers(seed: seed, change: { $0.loss = .random(0.1) })
    let call = try pair.connect()
    for number in UInt8(0)..<200 {
      pair.alice.host.command(now: pair.world.now) { machine, now in
        var message = ApplicationMessage([number], stream: 8)
        message.isOrdered = isOrdered
        message.isReliable = false
        _ = try? machine.send(message, on: call, now: now)
      }
      pair.world.run(.milliseconds(20))
    }
    pair.world.run(.seconds(8))
    var numbers: [UInt8] = []
    var missed = 0
    for (_, event) in pair.bob.events {
      switch event {
      case .link(call, .messageReceived(8, let bytes, nil)): numbers += bytes
      case .link(call, .messagesMissed(8, let count, _)): missed += count
      default: break
      }
    }
    var fates = (delivered: 0, failed: 0)
    for (_, event) in pair.alice.events {
      guard case .link(call, .messageFinished(_, let isDelivered)) = event else { continue }
      if isDelivered { fates.delivered += 1 } else { fates.failed += 1 }
    }
    #expect(fates.delivered + fates.failed == 200, "\(fates)")
    #expect(fates.failed > 5 && missed > 5, "\(fates), \(missed) missed")
    #expect(numbers.count + missed == 200, "\(numbers.count) came, \(missed) missed")
    #expect(Set(numbers).count == numbers.count && (!isOrdered || numbers == numbers.sorted()))
    pair.expectHungUp()
  }
}
