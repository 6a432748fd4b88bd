import Primitives
import Testing
import Wire

@testable import Calling

extension CallOutcome {
  /// Lost and unreachable are one thing, seen before and after the call was connected.
  fileprivate var kind: CallOutcome { self == .lost ? .unreachable : self }
}

extension CallCause {
  /// Decided on this side, before the other side's word arrived.
  fileprivate var isOwnDecision: Bool {
    switch self {
    case .localRejected, .localCancelled, .localHangUp, .localRingTimeout, .undelivered, .noPath,
      .noMedia, .peerLost, .recalled:
      true
    case .localCall, .remoteCall, .localAccepted, .remoteAccepted, .remoteRejected, .remoteBusy,
      .notAllowed, .remoteCancelled, .remoteHangUp, .firstFrame, .remoteRingTimeout, .glare,
      .notOnline, .unsupportedVersion, .identityChanged, .shuttingDown, .internalFailure,
      .answeredElsewhere, .declinedElsewhere:
      false
    }
  }
}

@Suite struct CallPropertyTests {
  struct Tally {
    var ended = 0
    var connected = 0
    /// Both sides ended the call by themselves, for different reasons, before they heard of it.
    var crossed = 0
  }

  /// Thirty seconds of two impatient users on a bad network, then peace.
  static func run(_ seed: UInt64, _ conditions: SimulatedCalls.Conditions, crashPercent: UInt64)
    -> (world: SimulatedCalls, tally: Tally)
  {
    var world = SimulatedCalls(seed: seed)
    world.conditions = conditions
    world.crashPercent = crashPercent
    world.blockedPerMille = 50
    world.usersActUntil = start + .seconds(30)
    for side in 0...1 { world.schedule(.user(side), after: .milliseconds(Int64(side * 7))) }
    world.run(until: start + .seconds(30))
    world.conditions = SimulatedCalls.Conditions()
    // The longest timer is 20 s (a peer is lost); 2 s more are allowed.
    for second in 30..<52 {
      world.hangUpAll()
      world.run(until: start + .seconds(Int64(second + 1)))
    }
    if world.sides.contains(where: { $0.ledger.state != .idle }) { world.faults.append("stuck") }
    // Last words 8 s, answers to repetitions 60 s: then nothing is left.
    world.run(until: start + .seconds(52 + 70))
    if world.sides.contains(where: { $0.ledger.nextDeadline != nil || $0.ledger.ended.count > 0 }) {
      world.faults.append("something is left")
    }
    let tally = compare(&world)
    return (world, tally)
  }

  static func compare(_ world: inout SimulatedCalls) -> Tally {
    var tally = Tally()
    let callIDs = Set(world.sides.flatMap { $0.events.keys }).sorted()
    for callID in callIDs {
      for side in world.sides where side.events[callID] != nil {
        let wasReplaced = side.events[callID]?.contains {
          if case .replaced = $0 { true } else { false }
        }
        if side.summaries[callID] == nil, !side.crashed.contains(callID), wasReplaced != true {
          world.faults.append("no end: \(callID)")
        }
      }
      guard let one = world.sides[0].summaries[callID],
        let other = world.sides[1].summaries[callID]
      else { continue }
      tally.ended += 1
      if one.timeline[.connected] != nil || other.timeline[.connected] != nil {
        tally.connected += 1
      }
      if one.outcome.kind == other.outcome.kind { continue }
      let isCrash = world.sides.contains { $0.crashed.contains(callID) }
      if one.cause.isOwnDecision && other.cause.isOwnDecision || isCrash {
        tally.crossed += 1
      } else {
        world.faults.append("disagreement: \(one) / \(other)")
      }
    }
    return tally
  }

  /// Goal: nobody is ever stuck, told twice, told different things, or connected unasked.
  /// Method: random users, losses of up to 40 %, doubles, 500 ms of reordering, crashes. Ends may
  /// differ only where both sides decided before either heard of it.
  @Test(arguments: 0..<UInt64(2000))
  func `two impatient users on a bad network are never stuck and never disagree`(seed: UInt64) {
    let conditions = SimulatedCalls.Conditions(
      lossPercent: seed % 41, doublePercent: 10, delay: .milliseconds(20),
      jitterMilliseconds: 500)
    let (world, _) = Self.run(seed, conditions, crashPercent: seed % 3 == 0 ? 4 : 0)
    #expect(world.faults.isEmpty, "EARSHOT_SEED=\(seed)")
  }

  /// The property above would also hold if nothing ever happened.
  @Test func `most of what they do ends in agreement, and much of it is connected`() {
    var all = Tally()
    for seed in 0..<UInt64(300) {
      let conditions = SimulatedCalls.Conditions(
        lossPercent: 10, doublePercent: 10, delay: .milliseconds(20), jitterMilliseconds: 200)
      let (_, tally) = Self.run(seed, conditions, crashPercent: 0)
      all.ended += tally.ended
      all.connected += tally.connected
      all.crossed += tally.crossed
    }
    #expect(all.ended > 900)
    #expect(all.connected * 4 > all.ended)
    #expect(all.crossed * 20 < all.ended, "\(all)")
  }

  /// Without loss and with 50 ms of delay only what happens within 50 ms can cross.
  @Test(arguments: 0..<UInt64(300))
  func `on a good network ends differ only if both came within one delay`(seed: UInt64) {
    var (world, _) = Self.run(seed, SimulatedCalls.Conditions(), crashPercent: 0)
    #expect(world.faults.isEmpty, "EARSHOT_SEED=\(seed)")
    let tally = Self.compare(&world)
    #expect(tally.crossed <= 1, "EARSHOT_SEED=\(seed)")
  }

  /// The delay is longer than the 50 ms between the two, so the invitations always cross.
  @Test(arguments: 0..<UInt64(1000))
  func `both call each other: exactly one call, the lesser, connected within two seconds`(
    seed: UInt64
  ) {
    var world = SimulatedCalls(seed: seed)
    world.conditions.delay = .milliseconds(Int64(51 + seed % 150))
    let first = Int(world.random.next() % 2)
    world.call(first)
    world.run(until: start + .milliseconds(Int64(world.random.next() % 51)))
    world.call(1 - first)
    let callIDs = Set(world.sides.flatMap { $0.events.keys }).sorted()
    world.run(until: start + .seconds(2))
    #expect(world.faults.isEmpty && callIDs.count == 2, "EARSHOT_SEED=\(seed)")
    for side in world.sides {
      #expect(side.ledger.state == .connected, "EARSHOT_SEED=\(seed)")
      #expect(side.ledger.openCallID == callIDs.first)
      #expect(side.summaries.isEmpty)
    }
    world.hangUpAll()
    world.run(until: start + .seconds(4))
    for side in world.sides {
      #expect(side.summaries.count == 1 && side.summaries.values.first?.outcome == .completed)
    }
  }

  /// Cancel within 100 ms of accept, with and without loss of what is sent then.
  @Test(arguments: 0..<UInt64(200))
  func `cancel against accept: nobody stays connected`(seed: UInt64) {
    var world = SimulatedCalls(seed: seed)
    world.conditions.delay = .milliseconds(150)
    world.call(0)
    let callID = world.sides[0].ledger.openCallID!
    world.run(until: start + .seconds(1))
    world.conditions.lossPercent = seed % 2 == 0 ? 0 : 50
    let acceptsFirst = world.random.next() % 2 == 0
    let gap = Duration.milliseconds(Int64(world.random.next() % 100))
    if acceptsFirst { world.accept(1, callID) } else { world.cancel(0, callID) }
    world.run(until: start + .seconds(1) + gap)
    if acceptsFirst { world.cancel(0, callID) } else { world.accept(1, callID) }
    world.run(until: start + .seconds(2))
    world.conditions.lossPercent = 0
    world.run(until: start + .seconds(6))
    #expect(world.faults.isEmpty, "EARSHOT_SEED=\(seed)")
    for side in world.sides {
      #expect(side.ledger.state == .idle, "EARSHOT_SEED=\(seed)")
      #expect(side.summaries[callID]?.outcome == .cancelled, "EARSHOT_SEED=\(seed)")
      #expect(side.sendsMedia.isEmpty)
    }
  }

  @Test(arguments: 0..<UInt64(100))
  func `both are connected within three one-way trips and the path's time after accept`(
    seed: UInt64
  ) {
    var world = SimulatedCalls(seed: seed)
    world.conditions.delay = .milliseconds(Int64(10 + seed))
    world.call(0)
    let callID = world.sides[0].ledger.openCallID!
    world.run(until: start + .seconds(3))
    world.accept(1, callID)
    world.run(until: start + .seconds(3) + world.conditions.delay * 3 + .milliseconds(250))
    for side in world.sides {
      #expect(side.ledger.state == .connected, "EARSHOT_SEED=\(seed)")
      let timeline = side.ledger.onlyOpen?.timeline
      for step in CallTimeline.Step.allCases {
        #expect(timeline?[step] != nil, "\(step)")
        for earlier in step.presupposes {
          #expect((timeline?[earlier] ?? 0) <= (timeline?[step] ?? 0))
        }
      }
    }
    #expect(world.sides[1].ledger.onlyOpen?.timeline[.delivered] == 0)
  }
}

extension SimulatedCalls {
  fileprivate mutating func accept(_ side: Int, _ callID: CallID) {
    try? sides[side].ledger.accept(callID, now: now)
    drainAll()
  }

  fileprivate mutating func cancel(_ side: Int, _ callID: CallID) {
    // What has been accepted in the meantime is hung up.
    try? sides[side].ledger.end(callID, .userCancelled, now: now)
    drainAll()
  }
}
