import Audio
import Congestion
import LinkModel
import MediaFiles
import Peer
import Primitives
import Simulation
import Video
import Wire

/// `earshot call --video test` to `earshot answer --save-video` through a line, in simulated time:
/// the machines, codecs and playout that ship, without kernel, threads and clocks.
final class RehearsedCall {
  enum Fault: Error { case notRegistered, notConnected, opus(OpusError), picture(VPXError) }

  struct Settings {
    var seed: UInt64 = 1
    var mostVideoBitsPerSecond = VideoSettings.usualMost
    var fallsBack = true
  }

  private(set) var outcome = RehearsalOutcome()
  private let world: CallWorld
  private let caller: SimulatedPeer
  private let callee: SimulatedPeer
  private let call: CallID
  private let journal: LineJournal
  private var callerSound: AudioEnd
  private var calleeSound: AudioEnd
  private var picture = RehearsedPicture()
  private var bytes: [UInt8] = []
  private let zero: Instant

  /// Two peers in a call over the line as it is at first.
  init(_ course: LineCourse, _ settings: Settings, journal: LineJournal) throws(Fault) {
    let world = CallWorld(seed: settings.seed, rendezvousAccess: .clean(oneWay: .zero))
    self.world = world
    self.journal = journal
    caller = world.addPeer(
      CallWorld.names[0], AccessConditions(up: course.up, down: course.down))
    callee = world.addPeer(CallWorld.names[1], .clean(oneWay: .zero))
    var video = VideoSettings()
    video.mostBitsPerSecond = settings.mostVideoBitsPerSecond
    video.fallsBack = settings.fallsBack
    caller.video = video
    video.sends = false
    callee.video = video
    do throws(OpusError) {
      callerSound = try Self.sound()
      calleeSound = try Self.sound()
    } catch {
      throw .opus(error)
    }
    call = try Self.connect(world, caller, callee)
    zero = world.now
    outcome.zero = zero.nanoseconds
    let site = caller.site
    world.network.lineTap = { place, direction, passage, byteCount, now in
      if place == site { journal.note(passage, direction, byteCount: byteCount, at: now) }
    }
    journal.noteZero(at: zero)
    follow(course.changes)
    caller.host.observe = { [unowned self] event, _ in observe(event) }
    callee.host.observe = { _, _ in }
  }

  func run(_ seconds: Double) throws(Fault) {
    let end = zero + .milliseconds(Int64(seconds * 1000))
    // Nobody's ticks are those of somebody else.
    var due = [zero, zero + .milliseconds(4), zero + .milliseconds(2)]
    var nextSample = zero
    while let next = due.min(), next < end {
      world.simulator.run(until: next)
      if next >= nextSample {
        nextSample = next + .milliseconds(500)
        sample()
      }
      if due[0] == next {
        due[0] = next + .milliseconds(5)
        try speak { () throws(OpusError) in try tickCaller() }
      } else if due[1] == next {
        due[1] = next + .milliseconds(5)
        try speak { () throws(OpusError) in try tickCallee() }
      } else {
        due[2] = next + RehearsedPicture.interval
        try show()
      }
    }
    journal.finish()
  }

  // MARK: - The begin

  /// The test tone, as programs send it.
  private static func sound() throws(OpusError) -> AudioEnd {
    var tone = TestTone()
    return try AudioEnd(AudioEngine.Settings()) { tone.read(into: &$0) }
  }

  private static func connect(
    _ world: CallWorld, _ caller: SimulatedPeer, _ callee: SimulatedPeer
  ) throws(Fault) -> CallID {
    world.mediaInterval = .milliseconds(20)
    let isReady = world.run(atMost: .seconds(20)) { caller.isRegistered && callee.isRegistered }
    guard isReady else { throw .notRegistered }
    world.run(.seconds(1))
    callee.habits.answer = .accept(after: .zero)
    callee.habits.talk = nil
    caller.habits.talk = nil
    guard let call = caller.call(.id(callee.id)) else { throw .notConnected }
    let isConnected = world.run(atMost: .seconds(10)) {
      [caller, callee].allSatisfy { peer in
        world.testimony.side(call, at: peer.hostID)?.time(of: .connected) != nil
      }
    }
    guard isConnected else { throw .notConnected }
    caller.isSilent = true
    callee.isSilent = true
    world.mediaInterval = .seconds(86_400)
    // What the simulated users have said is heard before the ends begin.
    world.run(.milliseconds(200))
    return call
  }

  private func follow(_ changes: [LineCourse.Change]) {
    for change in changes {
      world.simulator.plan(at: zero + change.at) { [unowned self] in
        var access = world.network.conditions(of: caller.site)
        switch change.direction {
        case .up: change.spec.apply(to: &access.up)
        case .down: change.spec.apply(to: &access.down)
        }
        world.network.setConditions(access, of: caller.site, now: world.now)
      }
    }
  }

  // MARK: - What happens

  private var seconds: Double { Double(world.now.nanoseconds(since: zero)) / 1e9 }

  private func observe(_ event: PeerEvent) {
    guard case .link(_, .publishFallback(let change)) = event else { return }
    outcome.fallbacks.append(
      RehearsalOutcome.Fallback(
        at: seconds, isOn: change.mode == .audioOnly, reason: "\(change.reason)"))
  }

  private func speak(_ tick: () throws(OpusError) -> Void) throws(Fault) {
    do throws(OpusError) { try tick() } catch { throw .opus(error) }
  }

  private func tickCaller() throws(OpusError) {
    try caller.host.command(now: world.now) { machine, now throws(OpusError) in
      try callerSound.tick(&machine, call, now: now)
      while machine.pollVideo(of: call, into: &bytes, now: now) != nil {}
    }
  }

  private func tickCallee() throws(OpusError) {
    try callee.host.command(now: world.now) { machine, now throws(OpusError) in
      try calleeSound.tick(&machine, call, now: now)
      while let frame = machine.pollVideo(of: call, into: &bytes, now: now) {
        outcome.framesReceived += 1
        if frame.isKeyFrame { outcome.keyFrames.append(seconds) }
      }
    }
  }

  private func show() throws(Fault) {
    do throws(VPXError) {
      try caller.host.command(now: world.now) { machine, now throws(VPXError) in
        try picture.tick(&machine, of: call, media: world.now - zero, now: now)
      }
    } catch {
      throw .picture(error)
    }
  }

  private func sample() {
    let heard = calleeSound.engine.receiver.buffer.statistics
    let numbers = caller.statistics(of: call)
    let plan = callerSound.engine.sender.plan
    outcome.queueDelayP95 = numbers?.congestion?.queueDelayP95.map { $0 / 1000 }
    outcome.samples.append(
      RehearsalOutcome.Sample(
        at: seconds, samplesHeard: heard.totalSamplesReceived,
        samplesConcealed: heard.concealedSamples,
        videoBytesReceived: UInt64(callee.statistics(of: call)?.video?.received.bytesReceived ?? 0),
        videoPacketsSent: UInt64(numbers?.video?.sent.packetsSent ?? 0),
        estimate: numbers?.congestion?.estimate ?? 0, audioBitrate: plan.bitrate,
        frameMilliseconds: plan.frameLength.milliseconds, audioCopies: plan.copyCount))
  }
}
