import Calling
import LastMile
import Peer
import Primitives
import Simulation
import Testing
import Wire

@testable import Earshot

/// Scenarios 15 to 19, numbers and probes: every event (docs/scenarios.md).
@Suite struct NumbersOrderTests {
  private typealias Pair = MediaOrderTests.Pair

  /// Alice and some others, each with a program.
  static func party(
    _ count: Int, _ options: (Int) -> CallOptions
  ) throws -> (world: CallWorld, programs: [SimulatedProgram]) {
    let world = CallWorld(seed: 1, rendezvousAccess: .clean(oneWay: .milliseconds(15)))
    let line = AccessConditions.clean(oneWay: .milliseconds(15))
    let peers = (0..<count).map { index in
      world.addPeer(CallWorld.names[index], line) { $0.policy.mostCalls = count }
    }
    let isReady = world.run(atMost: .seconds(20)) { peers.allSatisfy(\.isRegistered) }
    try #require(isReady)
    world.run(.seconds(1))
    let programs = peers.enumerated().map { index, peer in
      SimulatedProgram(peer, in: world, options(index))
    }
    return (world, programs)
  }

  @Test func `15: the numbers of three calls come each 2 s`() throws {
    let order = EventOrder("15-statistics")
    let (world, programs) = try Self.party(4) { _ in
      Pair.video(Stage(160, 90, framesPerSecond: 5), Screen())
    }
    let alice = programs[0]
    let start = world.now
    var calls: [Wire.CallID] = []
    for other in programs.dropFirst() {
      calls.append(try alice.call(other))
      world.run(.milliseconds(1_700))
    }
    for program in programs { program.tells = .coming }
    // The last of them ends and begins while the others go on.
    world.run(.seconds(20))
    alice.end(calls[2])
    world.run(.seconds(5))
    calls.append(try alice.call(programs[3]))
    world.run(.seconds(36))
    order.record("alice talks with three, one of them twice", programs, since: start)
    for call in calls.prefix(2) {
      let times = alice.numbers.filter { $0.call == call }.map(\.at)
      #expect((29...33).contains(times.count))
      let steps = zip(times, times.dropFirst()).map { ($1 - $0).milliseconds }
      #expect(steps.allSatisfy { (1_990...2_010).contains($0) }, "\(steps)")
    }
    for entry in alice.numbers.filter({ $0.call == calls[0] }).dropFirst() {
      let numbers = entry.numbers
      #expect(numbers.interval != nil && numbers.audio?.agora != nil)
      #expect(numbers.videoSent != nil && numbers.videoReceived != nil)
    }
    try order.expectGolden()
  }

  @Test func `16: a tenth is lost, 80 ms each way, 20 ms of jitter`() throws {
    let order = EventOrder("16-loss")
    var mos: [Double] = []
    for isLossy in [false, true] {
      let pair = Pair(change: { conditions in
        guard isLossy else { return }
        conditions.delay = .milliseconds(40)
        conditions.jitter = .uniform(upTo: .milliseconds(10))
      })
      try pair.talk(.seconds(4))
      if isLossy { pair.setLoss(ofAlice: 0.1) }
      let start = pair.world.now
      pair.run(.seconds(60))
      order.record(isLossy ? "the line is bad" : "the line is clean", pair.programs, since: start)
      let sent = try #require(pair.alice.numbers.last).numbers
      let heard = try #require(pair.bob.numbers.last).numbers
      let rates = try #require(heard.audio?.agora)
      mos.append(heard.received.mos ?? 0)
      guard isLossy else { continue }
      #expect((0.08...0.12).contains(sent.sent.lostFraction ?? 0), "\(sent.sent.lostFraction ?? 0)")
      #expect((0.08...0.12).contains(heard.received.lostFraction), "\(heard.received.lostFraction)")
      #expect(rates.audioLossRate <= 4, "\(rates.audioLossRate)")
      #expect((75...105).contains(rates.networkTransportDelay), "\(rates.networkTransportDelay)")
      #expect((155...200).contains(sent.currentRttMs ?? 0), "\(sent.currentRttMs ?? 0)")
    }
    #expect(mos[1] < mos[0] && mos[1] > 3, "\(mos)")
    try order.expectGolden()
  }

  @Test func `17: grades fall with the line, to 6 when it is cut, and are 0 for nothing sent`()
    throws
  {
    let order = EventOrder("17-grades")
    let pair = Pair()
    for program in pair.programs { program.tells = .grades }
    try pair.talk(.milliseconds(500))
    var worst = 0
    for (loss, delay) in [(0, 15), (0.04, 60), (0.12, 150), (0.3, 250)] as [(Double, Int64)] {
      let start = pair.world.now
      var access = pair.world.network.conditions(of: pair.two.alice.site)
      access.up.delay = .milliseconds(delay)
      access.up.loss = loss > 0 ? .random(loss) : .none
      pair.world.network.setConditions(access, of: pair.two.alice.site, now: start)
      pair.run(.seconds(20))
      let title = "\(Int(loss * 100)) % lost, \(delay) ms on alice's way out"
      order.record(title, pair.programs, since: start)
      let grade = try #require(pair.alice.numbers.last).numbers.qualityTx
      #expect(grade >= worst)
      worst = grade
    }
    let start = pair.world.now
    pair.world.network.setDown(up: true, down: true, of: pair.two.alice.site, now: start)
    pair.run(.seconds(8))
    order.record("alice's line is cut", pair.programs, since: start)
    // Of the second report whose two seconds had nothing.
    let cut = pair.bob.numbers.filter { $0.at >= start + .seconds(4) }
    #expect(cut.allSatisfy { $0.numbers.qualityRx == 6 })
    let other = Pair()
    for program in other.programs { program.tells = .grades }
    try other.talk(.seconds(4))
    let call = try #require(other.call)
    let mute = other.world.now
    try other.alice.switchMedia(call) { $0.audio.isMuted = true }
    other.run(.seconds(12))
    order.record("alice is mute", other.programs, since: mute)
    #expect(try #require(other.alice.numbers.last).numbers.qualityTx == 0)
    #expect(try #require(other.bob.numbers.last).numbers.qualityRx == 0)
    try order.expectGolden()
  }

  // MARK: - Probes

  /// Somebody who is registered and calls nobody.
  private static func watcher(_ line: ProbedLine) -> SimulatedProgram {
    SimulatedProgram(line.alice, in: line.world, CallOptions())
  }

  @Test func `18: a probe of a clean line, and a grade each 2 s`() throws {
    let order = EventOrder("18-probe")
    let line = ProbedLine()
    let alice = Self.watcher(line)
    var start = line.world.now
    let report = try line.run()
    order.record("1 Mbit/s up, 2 down, 60 ms", [alice], since: start)
    #expect((900_000...1_100_000).contains(report.uplink?.bandwidth?.bitsPerSecond ?? 0))
    #expect((1_800_000...2_200_000).contains(report.downlink?.bandwidth?.bitsPerSecond ?? 0))
    start = line.world.now
    var plan = ProbePlan()
    plan.measuresBandwidth = false
    for _ in 0..<5 {
      let next = line.world.now + .seconds(2)
      try line.begin(plan)
      line.world.run(next - line.world.now)
    }
    order.record("the line is watched for 10 s", [alice], since: start)
    let grades = ProbedLine.reports(of: line.alice).suffix(5).map(\.rating.grade)
    #expect(grades.count == 5 && grades.allSatisfy { $0 == .excellent || $0 == .good }, "\(grades)")
    try order.expectGolden()
  }

  @Test func `19: probes of bad lines`() throws {
    let order = EventOrder("19-bad-lines")
    func probe(_ title: String, _ line: ProbedLine, _ plan: ProbePlan = ProbedLine.plan) throws {
      let alice = Self.watcher(line)
      let start = line.world.now
      _ = try line.run(plan)
      order.record(title, [alice], since: start)
    }
    let lossy = ProbedLine { $0.up.loss = .random(0.2) }
    try probe("a fifth lost on the way out", lossy)
    let loss = try #require(ProbedLine.reports(of: lossy.alice).last)
    #expect(abs((loss.uplink?.loss?.share ?? 0) - 0.2) <= 0.05)
    #expect(try #require(loss.downlink?.loss).share <= 0.02)
    var oneWay = ProbedLine.plan
    oneWay.probesDownlink = false
    let up = ProbedLine { $0.up.loss = .random(0.2) }
    try probe("the way out alone", up, oneWay)
    #expect(try #require(ProbedLine.reports(of: up.alice).last).downlink == nil)
    let silent = ProbedLine()
    silent.world.network.setDown(up: true, down: true, of: silent.alice.site, now: silent.world.now)
    try probe("a rendezvous that does not answer", silent)
    let stopped = ProbedLine()
    let alice = Self.watcher(stopped)
    let start = stopped.world.now
    var impossible = ProbedLine.plan
    impossible.expectedUplink = 99_999
    #expect(throws: PeerRefusal.badPlan) { try stopped.begin(impossible) }
    try stopped.begin()
    stopped.world.run(.seconds(3))
    stopped.alice.host.command(now: stopped.world.now) { machine, now in
      machine.cancelProbe(now: now)
    }
    stopped.world.run(.seconds(10))
    order.record("a rate that is refused, and a probe that is stopped", [alice], since: start)
    try order.expectGolden()
  }
}
