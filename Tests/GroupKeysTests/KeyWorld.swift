import Primitives
import SecureSession
import Testing
import Wire

@testable import GroupKeys

/// A channel in simulated time, with a rendezvous and a relay that misbehave: what is lost, late,
/// twice, swapped or kept for minutes is drawn from a seed.
///
/// Members that left keep their machines and are given everything, and so is a ghost, whom the
/// rendezvous puts on all rosters without a token.
final class KeyWorld {
  /// One stay of one person.
  final class Stay {
    let end: TestMember
    let isGhost: Bool
    var isPresent = true
    /// When each host, by uid and join number, took this one in and let it go.
    var seen: [UInt64: (from: Instant, until: Instant?, grace: Duration)] = [:]
    /// When this one made its last fresh key for a removal, or will.
    private var removal: Instant?

    init(_ end: TestMember, isGhost: Bool) {
      self.end = end
      self.isGhost = isGhost
    }

    var key: UInt64 { UInt64(end.member.uid) << 32 | end.member.joinNumber }

    /// How long somebody may hear this one after it has seen the departure
    /// (docs/protocol/sframe.md §3).
    func grace(after departure: Departure, now: Instant) -> Duration {
      guard departure.endsHearing else { return .seconds(2) }
      let due = removal.map { $0 > now ? $0 : max(now, $0 + .seconds(1)) } ?? now
      removal = due
      return due - now + .milliseconds(260)
    }
  }

  private enum Change { case join(Stay), leave(Stay, Departure) }

  private struct View {
    let at: Instant
    let to: Stay
    let revision: UInt64
    let change: Change
  }

  private struct Flight {
    let at: Instant
    let to: UInt32
    let from: UInt32
    let bytes: [UInt8]
  }

  private struct Frame {
    let at: Instant
    let from: Stay
    let bytes: [UInt8]
    let sealedAt: Instant
    let isLast: Bool
  }

  private var random: RandomSource
  private(set) var now = instant(0)
  private var stays: [Stay] = []
  private var revision: UInt64 = 0
  private var joinCount: UInt64 = 0
  private var views: [View] = []
  private var flights: [Flight] = []
  private var kept: [Flight] = []
  private var frames: [Frame] = []
  private var isStormy = true
  private let lossPercent: UInt64
  private(set) var rosterCount = 0
  private(set) var frameCount = 0
  private(set) var openedCount = 0
  private(set) var failures: [String] = []

  init(seed: UInt64) {
    random = RandomSource(seed: seed)
    lossPercent = random.next() % 40
  }

  /// Some seconds of joins and leaves, then 2 s of quiet, then one frame of each host for all.
  func run() throws {
    let ghost = try makeStay(15, .host, isGhost: true)
    stays.append(ghost)
    let changes = 6 + Int(random.next() % 14)
    for _ in 0..<3 { try joinSomebody() }
    for _ in 0..<changes {
      try advance(Int(random.next() % 900))
      if random.next() % 5 < 3 { try joinSomebody() } else { leaveSomebody() }
    }
    isStormy = false
    try advance(2_000)
    try expectAllHearAll()
  }

  // MARK: - People

  private var present: [Stay] { stays.filter { $0.isPresent && !$0.isGhost } }

  private func makeStay(_ number: Int, _ role: MemberRole, isGhost: Bool) throws -> Stay {
    joinCount += 1
    let end = try TestMember(number, uid: UInt32(number) + 1, role: role, joinNumber: joinCount)
    if role == .host { end.machine.startPublishing() }
    return Stay(end, isGhost: isGhost)
  }

  private func joinSomebody() throws {
    let taken = Set(present.map { $0.end.uid })
    let free = (0..<8).filter { !taken.contains(UInt32($0) + 1) }
    guard !free.isEmpty else { return }
    let number = free[Int(random.next() % UInt64(free.count))]
    let role: MemberRole = random.next() % 2 == 0 ? .host : .audience
    let stay = try makeStay(number, role, isGhost: false)
    revision += 1
    rosterCount += 1
    for other in present {
      show(.join(stay), to: other, after: delay(300))
      // The newcomer's snapshot.
      try stay.end.machine.handleJoin(other.end.member, revision: revision, now: now)
      other.seen[stay.key] = (now, nil, .zero)
    }
    stays.append(stay)
  }

  private func leaveSomebody() {
    let here = present
    guard here.count > 1 else { return }
    let gone = here[Int(random.next() % UInt64(here.count))]
    let departure = Departure.allCases[Int(random.next() % UInt64(Departure.allCases.count))]
    gone.isPresent = false
    revision += 1
    rosterCount += 1
    for other in present { show(.leave(gone, departure), to: other, after: delay(300)) }
  }

  /// Roster changes come late, and in order.
  private func show(_ change: Change, to stay: Stay, after delay: Duration) {
    let last = views.last { $0.to === stay }?.at ?? now
    views.append(View(at: max(last, now + delay), to: stay, revision: revision, change: change))
  }

  private func apply(_ view: View) throws {
    let machineOwner = view.to.end
    switch view.change {
    case .join(let stay):
      try machineOwner.machine.handleJoin(stay.end.member, revision: view.revision, now: now)
      stay.seen[view.to.key] = (now, nil, .zero)
    case .leave(let stay, let departure):
      machineOwner.machine.handleLeave(
        stay.end.uid, departure, revision: view.revision, now: now)
      let grace = view.to.grace(after: departure, now: now)
      if let seen = stay.seen[view.to.key] {
        stay.seen[view.to.key] = (seen.from, now, grace)
      }
    }
  }

  // MARK: - Time

  private func delay(_ milliseconds: UInt64) -> Duration {
    .milliseconds(Int64(random.next() % milliseconds))
  }

  /// In steps of 10 ms: what arrives, timers, what is sent, and every 50 ms a frame of each host.
  private func advance(_ milliseconds: Int) throws {
    let end = now + .milliseconds(milliseconds)
    while now < end {
      now = now + .milliseconds(10)
      let due = views.filter { $0.at <= now }
      views.removeAll { $0.at <= now }
      for view in due { try apply(view) }
      deliver()
      for stay in stays {
        if let deadline = stay.end.nextDeadline, deadline <= now {
          stay.end.machine.handleTimeout(now: now)
        }
        send(from: stay)
      }
      if now.nanoseconds % 50_000_000 == 0 { sealFrames(isLast: false) }
      receiveFrames()
    }
  }

  private func send(from stay: Stay) {
    while let message = stay.end.poll(now: now) {
      let flight = Flight(
        at: now + .milliseconds(5) + delay(120), to: message.recipient,
        from: stay.end.uid, bytes: message.bytes)
      kept.append(flight)
      if isStormy {
        if random.next() % 100 < lossPercent { continue }
        if random.next() % 20 == 0 { flights.append(flight) }
        if random.next() % 25 == 0 { misdeliver() }
      }
      flights.append(flight)
    }
  }

  /// Something that was sent at any time, again, and perhaps to or from somebody else.
  private func misdeliver() {
    let old = kept[Int(random.next() % UInt64(kept.count))]
    let (to, from) = (UInt32(random.next() % 16) + 1, UInt32(random.next() % 16) + 1)
    let kind = random.next() % 4
    var bytes = old.bytes
    if kind == 3 { bytes[Int(random.next() % UInt64(bytes.count))] ^= 1 }
    flights.append(
      Flight(
        at: now + delay(500), to: kind == 1 ? to : old.to, from: kind == 2 ? from : old.from,
        bytes: bytes))
  }

  /// To all who use the uid, present or gone, and to the ghost.
  private func deliver() {
    let due = flights.filter { $0.at <= now }
    flights.removeAll { $0.at <= now }
    for flight in due {
      for stay in stays where stay.end.uid == flight.to || stay.isGhost {
        try? stay.end.receive(flight.bytes, from: flight.from, now: now)
      }
    }
  }

  // MARK: - Frames

  private func sealFrames(isLast: Bool) {
    for stay in stays where stay.isPresent && stay.end.isPublishing {
      guard let bytes = try? stay.end.seal([1, 2, 3, 4]) else { continue }
      frameCount += 1
      let copies = isLast ? 1 : 1 + random.next() % 2
      for _ in 0..<copies {
        let late = random.next() % 10 == 0 ? delay(6_000) : delay(80)
        frames.append(
          Frame(
            at: isLast ? now : now + late, from: stay, bytes: bytes, sealedAt: now,
            isLast: isLast))
      }
    }
  }

  /// Everybody is given every frame; who opens one must have been there.
  private func receiveFrames() {
    let due = frames.filter { $0.at <= now }
    frames.removeAll { $0.at <= now }
    for frame in due {
      for stay in stays where stay !== frame.from {
        let error = stay.end.refusal(of: frame.bytes, from: frame.from.end.uid, now: now)
        if error == nil { expectEntitled(stay, to: frame) }
        if frame.isLast, stay.isPresent, !stay.isGhost, !frame.from.isGhost, let error {
          failures.append(
            "\(stay.end.uid) cannot hear \(frame.from.end.uid): \(error)")
        }
      }
    }
  }

  private func expectEntitled(_ stay: Stay, to frame: Frame) {
    openedCount += 1
    let who = "\(stay.end.uid) opened a frame of \(frame.from.end.uid)"
    guard !stay.isGhost, let seen = stay.seen[frame.from.key] else {
      return failures.append("\(who), which does not know it")
    }
    if frame.sealedAt < seen.from { failures.append("\(who) from before its join") }
    if let until = seen.until, frame.sealedAt > until + seen.grace {
      failures.append("\(who) sealed \(frame.sealedAt - until) after its leave")
    }
  }

  private func expectAllHearAll() throws {
    sealFrames(isLast: true)
    receiveFrames()
    let texts = Set(present.map(\.end.fingerprint))
    if texts.count > 1 { failures.append("the fingerprints differ: \(texts.sorted())") }
    for stay in present {
      while let event = stay.end.machine.pollEvent() {
        if case .rosterDiffers = event { failures.append("a roster is said to differ") }
      }
    }
  }
}
