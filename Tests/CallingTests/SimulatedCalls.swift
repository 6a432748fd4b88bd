import Primitives
import Testing
import Wire

@testable import Calling

/// Two parties, their users, and a network that loses, doubles and reorders what they say.
///
/// Stands for the owners too: opens what a session can open, finds paths, sends frames.
struct SimulatedCalls {
  enum Occurrence {
    case signal(CallSignal, CallID, to: Int, onPath: Bool, triesLeft: Int)
    case pathReady(CallID, Int)
    case frameTick(CallID, Int)
    case frame(CallID, to: Int)
    case user(Int)
  }

  struct Conditions {
    var lossPercent: UInt64 = 0
    var doublePercent: UInt64 = 0
    var delay: Duration = .milliseconds(50)
    var jitterMilliseconds: UInt64 = 0
  }

  struct Side {
    var ledger: CallLedger
    /// What this run of the program holds; gone after a crash.
    var sessions: Set<CallID> = []
    var sendsMedia: Set<CallID> = []
    var soughtPaths: Set<CallID> = []
    var readyPaths: Set<CallID> = []
    var events: [CallID: [CallEvent]] = [:]
    var summaries: [CallID: CallSummary] = [:]
    /// Calls that a crash ended without a word.
    var crashed: Set<CallID> = []
  }

  let ids = [alice, bob]
  var now = start
  var random: RandomSource
  var conditions = Conditions()
  var sides: [Side]
  /// Per mille of calls between which no path exists.
  var blockedPerMille: UInt64 = 0
  /// Users act at random until then.
  var usersActUntil = start
  var crashPercent: UInt64 = 0
  var acceptsAlways = false
  var accepted: Set<CallID> = []
  var faults: [String] = []
  private var created: [CallID: UInt64] = [:]
  private var blocked: [CallID: Bool] = [:]
  private var queue: [(at: Instant, order: Int, occurrence: Occurrence)] = []
  private var order = 0

  init(seed: UInt64) {
    random = RandomSource(seed: seed)
    sides = ids.map { Side(ledger: CallLedger(ownID: $0, now: start)) }
  }

  // MARK: Driving

  mutating func run(until end: Instant) {
    while true {
      var next: Instant?
      for entry in queue { next = earliest(next, entry.at) }
      for side in sides { next = earliest(next, side.ledger.nextDeadline) }
      guard let next, next <= end else { break }
      now = max(now, next)
      for index in 0...1 {
        sides[index].ledger.handleTimeout(now: now)
        drain(index)
      }
      let due = queue.filter { $0.at <= now }.sorted { ($0.at, $0.order) < ($1.at, $1.order) }
      queue.removeAll { $0.at <= now }
      for entry in due { occur(entry.occurrence) }
    }
    now = end
  }

  mutating func schedule(_ occurrence: Occurrence, after delay: Duration) {
    order += 1
    queue.append((now + delay, order, occurrence))
  }

  mutating func call(_ side: Int, ringTimeout: Duration? = .seconds(15)) {
    let callID = CallID(from: &random)
    created[callID] = rendezvousNow
    try? sides[side].ledger.call(
      callID, to: ids[1 - side], ringTimeout: ringTimeout, now: now)
    drain(side)
  }

  private var rendezvousNow: UInt64 {
    rendezvousStart + (now.nanoseconds - start.nanoseconds) / 1_000_000
  }

  private mutating func chance(_ percent: UInt64) -> Bool { random.next() % 100 < percent }

  private mutating func transit() -> Duration {
    let jitter = conditions.jitterMilliseconds
    return conditions.delay
      + .milliseconds(Int64(jitter == 0 ? 0 : random.next() % (jitter + 1)))
  }

  // MARK: The owners' part

  private mutating func occur(_ occurrence: Occurrence) {
    switch occurrence {
    case .signal(let signal, let callID, let side, let onPath, let triesLeft):
      deliver(signal, callID, side, onPath, triesLeft)
    case .pathReady(let callID, let side):
      guard sides[side].soughtPaths.contains(callID) else { return }
      sides[side].readyPaths.insert(callID)
      sides[side].ledger.handlePathReady(callID, now: now)
      drain(side)
    case .frameTick(let callID, let side): tick(callID, side)
    case .frame(let callID, let side):
      guard sides[side].sessions.contains(callID) else { return }
      sides[side].ledger.handle(.audio, callID, now: now)
      sides[side].ledger.handleFirstFrameReceived(callID, now: now)
      drain(side)
    case .user(let side): act(side)
    }
  }

  private mutating func deliver(
    _ signal: CallSignal, _ callID: CallID, _ side: Int, _ onPath: Bool, _ triesLeft: Int
  ) {
    if onPath, signal != .accept, !sides[side].sessions.contains(callID) {
      // A stream repeats what the other side cannot open yet.
      guard triesLeft > 0 else { return }
      return schedule(
        .signal(signal, callID, to: side, onPath: true, triesLeft: triesLeft - 1),
        after: .milliseconds(300))
    }
    let peer = ids[1 - side]
    if signal == .invite {
      if sides[side].ledger.admitInvite(callID, from: peer, now: now) == .open {
        sides[side].ledger.handleInvite(
          Invitation(
            callID: callID, from: peer, createdMilliseconds: created[callID] ?? 0,
            ringTimeout: .seconds(15)), rendezvousMilliseconds: rendezvousNow, now: now)
      }
    } else {
      sides[side].ledger.handle(signal, callID, from: peer, now: now)
    }
    drain(side)
  }

  private mutating func tick(_ callID: CallID, _ side: Int) {
    guard sides[side].sendsMedia.contains(callID) else { return }
    schedule(.frameTick(callID, side), after: .milliseconds(200))
    guard sides[side].readyPaths.contains(callID), blocked[callID] != true else { return }
    sides[side].ledger.handleFirstFrameSent(callID, now: now)
    if !chance(conditions.lossPercent) {
      schedule(.frame(callID, to: 1 - side), after: transit())
    }
  }

  mutating func drainAll() {
    drain(0)
    drain(1)
  }

  private mutating func drain(_ side: Int) {
    while let action = sides[side].ledger.pollAction() {
      switch action {
      case .send(let signal, let callID, let peer, let route):
        if peer != ids[1 - side] { faults.append("sent to a stranger") }
        send(signal, callID, from: side, route)
      case .sendTo(_, let signal, let callID, _): send(signal, callID, from: side, .rendezvous)
      case .findPath(let callID): seek(callID, side)
      case .openSession(let callID): sides[side].sessions.insert(callID)
      case .startMedia(let callID):
        if !accepted.contains(callID) { faults.append("media before accept") }
        sides[side].sendsMedia.insert(callID)
        tick(callID, side)
      case .stopMedia(let callID): sides[side].sendsMedia.remove(callID)
      case .close: break
      case .erase(let callID): sides[side].sessions.remove(callID)
      case .notify(let event): note(event, side)
      }
    }
  }

  private mutating func send(
    _ signal: CallSignal, _ callID: CallID, from side: Int, _ route: SignalRoute
  ) {
    if route != .path {
      let copies = chance(conditions.doublePercent) ? 2 : 1
      for _ in 0..<copies where !chance(conditions.lossPercent) {
        schedule(
          .signal(signal, callID, to: 1 - side, onPath: false, triesLeft: 0), after: transit())
      }
    }
    guard route != .rendezvous, sides[side].readyPaths.contains(callID) || signal != .accept,
      blocked[callID] != true
    else { return }
    // Each loss on the reliable stream costs a probe timeout; ACCEPT as SIGNAL is sent once.
    var delay = transit()
    var tries = 20
    while chance(conditions.lossPercent), tries > 0 {
      if signal == .accept { return }
      delay = delay + .milliseconds(300)
      tries -= 1
    }
    schedule(.signal(signal, callID, to: 1 - side, onPath: true, triesLeft: tries), after: delay)
  }

  private mutating func seek(_ callID: CallID, _ side: Int) {
    sides[side].soughtPaths.insert(callID)
    if blocked[callID] == nil { blocked[callID] = random.next() % 1000 < blockedPerMille }
    guard sides[1 - side].soughtPaths.contains(callID), blocked[callID] != true else { return }
    for each in 0...1 { schedule(.pathReady(callID, each), after: transit() + .milliseconds(50)) }
  }

  // MARK: The users

  private mutating func act(_ side: Int) {
    guard now < usersActUntil else { return }
    schedule(.user(side), after: .milliseconds(Int64(100 + random.next() % 3000)))
    if chance(crashPercent) { return crash(side) }
    let dice = random.next() % 10
    guard let callID = sides[side].ledger.openCallID else {
      return dice < 5 ? call(side) : ()
    }
    let state = sides[side].ledger.state
    let isCaller = sides[side].ledger.onlyOpen?.role == .caller
    switch (state, isCaller, dice) {
    case (.calling, false, 0..<6): try? sides[side].ledger.accept(callID, now: now)
    case (.calling, false, 6..<8): try? sides[side].ledger.reject(callID, now: now)
    case (.calling, true, 0..<2): try? sides[side].ledger.cancel(callID, now: now)
    case (.connecting, _, 0), (.connected, _, 0..<3):
      try? sides[side].ledger.hangUp(callID, now: now)
    default: break
    }
    drain(side)
  }

  /// The program ends without a word and starts again, with no memory. What it knew before may
  /// ring again if it is not a second old: the caller is still waiting.
  private mutating func crash(_ side: Int) {
    let crashed = sides[side].crashed.union(sides[side].events.keys)
      .union(sides[side].ledger.ended.ids)
    sides[side] = Side(ledger: CallLedger(ownID: ids[side], now: now))
    sides[side].crashed = crashed
  }

  /// Hangs up whatever is connected.
  mutating func hangUpAll() {
    for side in 0...1 where sides[side].ledger.state == .connected {
      if let callID = sides[side].ledger.openCallID {
        try? sides[side].ledger.hangUp(callID, now: now)
      }
      drain(side)
    }
  }

  // MARK: What users were told

  private mutating func note(_ event: CallEvent, _ side: Int) {
    switch event {
    case .incoming(let callID, _):
      record(event, callID, side)
      if acceptsAlways {
        try? sides[side].ledger.accept(callID, now: now)
      }
    case .stateChanged(let callID, let state, let cause):
      record(event, callID, side)
      if state == .connecting, cause != .remoteAccepted { accepted.insert(callID) }
      if state == .connected || state == .connecting, !accepted.contains(callID) {
        faults.append("\(state) before accept")
      }
    case .delivered(let callID): record(event, callID, side)
    case .replaced(let callID, by: _): record(event, callID, side)
    case .ended(let summary):
      record(event, summary.callID, side)
      sides[side].summaries[summary.callID] = summary
    case .refused, .interrupted, .connectionLost, .away, .rejoined, .resumed, .remoteMediaChanged:
      break
    }
  }

  private mutating func record(_ event: CallEvent, _ callID: CallID, _ side: Int) {
    let earlier = sides[side].events[callID, default: []]
    if earlier.contains(event) { faults.append("told twice: \(event)") }
    if sides[side].summaries[callID] != nil { faults.append("told after the end: \(event)") }
    sides[side].events[callID] = earlier + [event]
  }
}
