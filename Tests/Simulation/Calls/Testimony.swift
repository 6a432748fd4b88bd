package import Calling
package import Primitives
package import Wire

/// What both sides of every call have said, and whether the two stories are one.
///
/// Fed by observers, knows nothing of how calls are made; its own tests tell it contradictory
/// stories. Sides are kept in the order in which they appeared.
package struct Testimony {
  package typealias HostID = SimulatedNetwork.HostID

  package enum Step: String, CaseIterable, Sendable {
    case invited, sent, incoming, delivered, accepted, pathReady, firstFrameSent, firstFrameReceived
    case connected, ended
  }

  package struct Side: Sendable {
    package var call: CallID
    package var host: HostID
    package var isCaller: Bool
    package var steps: [(step: Step, at: Instant)] = []
    package var outcome: CallOutcome?
    package var endedLocally = false
    /// Another program of the callee accepted or declined.
    package var endedElsewhere = false
    /// The process died, or the call went on under another ID: it says nothing more, and nothing
    /// is asked of it.
    package var isExcused = false
    package var isReplaced = false
    package var hasDied = false
    /// Says that something inside failed, at this side or, by its word, at the other.
    package var failedInside = false
    /// Frames taken by the machine, or given out by it, before the call was accepted.
    package var earlyFrames = 0

    package func time(of step: Step) -> Instant? { steps.first { $0.step == step }?.at }
    package var isOpen: Bool { outcome == nil && !isExcused }
  }

  /// Calls in which a side has said that it sends nothing: connected needs no frame of it.
  package private(set) var silentCalls: [CallID] = []
  package private(set) var sides: [Side] = []
  package private(set) var violations: [String] = []

  package init() {}

  // MARK: - What was seen

  /// A side's first sign of a call: its own invitation, or an incoming one.
  package mutating func begin(_ call: CallID, at host: HostID, isCaller: Bool, now: Instant) {
    let side = Side(call: call, host: host, isCaller: isCaller)
    switch index(call, host) {
    // The program died, started again, and is rung by a caller that still waits: it remembers
    // nothing of what it said before.
    case .some(let index) where sides[index].hasDied: sides[index] = side
    case .some:
      violations.append("\(call): host \(host.index) was told twice of the same invitation")
      return
    case nil: sides.append(side)
    }
    note(isCaller ? .invited : .incoming, call, at: host, now: now)
  }

  package mutating func note(_ step: Step, _ call: CallID, at host: HostID, now: Instant) {
    guard let index = index(call, host) else {
      violations.append("\(call): host \(host.index) says \(step) of a call it does not have")
      return
    }
    if !sides[index].isOpen {
      violations.append("\(call): host \(host.index) says \(step) after the end")
    }
    // A call may find another path; everything else happens once.
    if sides[index].time(of: step) != nil {
      violations.append("\(call): host \(host.index) says \(step) twice")
    }
    if let last = sides[index].steps.last, last.at > now {
      violations.append("\(call): host \(host.index) says \(step) before \(last.step)")
    }
    sides[index].steps.append((step, now))
  }

  package mutating func end(
    _ call: CallID, at host: HostID, _ outcome: CallOutcome, isLocal: Bool, now: Instant
  ) {
    note(.ended, call, at: host, now: now)
    guard let index = index(call, host), sides[index].isOpen else { return }
    sides[index].outcome = outcome
    sides[index].endedLocally = isLocal
  }

  package mutating func noteEarlyFrame(_ call: CallID, at host: HostID) {
    guard let index = index(call, host) else { return }
    sides[index].earlyFrames += 1
  }

  package mutating func expectSilence(_ call: CallID) { silentCalls.append(call) }

  package mutating func noteElsewhere(_ call: CallID, at host: HostID) {
    guard let index = index(call, host) else { return }
    sides[index].endedElsewhere = true
  }

  package mutating func noteInternalFailure(_ call: CallID, at host: HostID) {
    guard let index = index(call, host) else { return }
    sides[index].failedInside = true
  }

  package mutating func crash(_ host: HostID) {
    for index in sides.indices where sides[index].host == host && sides[index].isOpen {
      sides[index].isExcused = true
      sides[index].hasDied = true
    }
  }

  /// Both called each other: this side's call goes on as the other's.
  package mutating func replace(
    _ call: CallID, by other: CallID, at host: HostID, now: Instant
  ) {
    if let index = index(call, host) {
      sides[index].isExcused = true
      sides[index].isReplaced = true
    }
    // It may have begun to ring here already, or at a program that died meanwhile.
    if side(other, at: host)?.hasDied ?? true { begin(other, at: host, isCaller: false, now: now) }
  }

  package mutating func report(_ violation: String) { violations.append(violation) }

  // MARK: - What is asked

  package func isOpen(_ call: CallID, at host: HostID) -> Bool {
    index(call, host).map { sides[$0].isOpen } ?? false
  }

  /// The callee's side of a call: of several programs the one that decided it, or that the call did
  /// not end at because of another one.
  package func callee(of call: CallID) -> Side? {
    let callees = sides.filter { $0.call == call && !$0.isCaller }
    let own = callees.filter { !$0.endedElsewhere }
    // Where the caller took a no, another program may have accepted a moment too late.
    if let caller = sides.first(where: { $0.call == call && $0.isCaller }),
      caller.outcome == .rejected, caller.time(of: .accepted) == nil,
      let decided = own.first(where: { $0.outcome == .rejected && $0.time(of: .accepted) == nil })
    {
      return decided
    }
    // One that accepted too late may have hung up before it was told.
    return own.first { $0.time(of: .connected) != nil }
      ?? own.first { $0.time(of: .accepted) != nil } ?? own.first { $0.outcome == .rejected }
      ?? own.first ?? callees.first
  }

  package var hasOpenCalls: Bool { sides.contains { $0.isOpen } }

  package func side(_ call: CallID, at host: HostID) -> Side? {
    index(call, host).map { sides[$0] }
  }

  package func isAccepted(_ call: CallID, at host: HostID) -> Bool {
    side(call, at: host)?.time(of: .accepted) != nil
  }

  private func index(_ call: CallID, _ host: HostID) -> Int? {
    sides.firstIndex { $0.call == call && $0.host == host }
  }
}
