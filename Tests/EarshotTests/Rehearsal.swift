import Calling
import Congestion
import Connectivity
import Peer
import Primitives
import Reactor
import Synchronization
import Testing
import Video
import Wire

@testable import Earshot

/// One call in which all happens that can: Alice calls Bob, and Carol calls Alice beside it.
enum Rehearsal {
  static func run() async throws -> Evidence {
    let town = try await LoopbackTown(["alice", "bob", "carol"], calls: 2)
    let heard = Heard()
    let readers = await [heard.follow(town.alice, \.steps), heard.follow(town.bob, \.theirs)]
    let grade = try await firstGrade(of: town.alice)
    try await town.alice.setStatisticsInterval(.milliseconds(200))
    try await town.alice.setVolumeIndication(
      VolumeIndication(interval: .milliseconds(100), smoothing: 0, reportsPitch: true))
    await town.alice.setTracing(true)
    answer(town.bob, heard)
    let turntable = Turntable()
    var options = CallOptions(source: Voice(), sink: Ear())
    (options.videoSource, options.videoSink) = (turntable, Eye())
    let call = try await town.alice.call("bob", options: options)
    await heard.wait { $0.own { if case .firstVideoFrameDecoded = $0 { true } else { false } } }
    await heard.wait { $0.own { $0 == .firstVideoFrameSent } && $0.own { $0 == .firstFrameSent } }
    let hasSnapshot = try await call.snapshot().width > 0
    try await switchAll(call, heard, turntable)
    try await playAndSay(call, town, heard)
    try await second(town, heard)
    try await tell(town.alice, call, heard)
    var refusal: EarshotError?
    do { try await call.accept(options) } catch { refusal = error }
    await town.bob.call(call.id).hangUp(userExtension: "{}")
    await heard.wait { $0.event { if case .callEnded(call.id, _) = $0 { true } else { false } } }
    await town.alice.handleEvent(.registration(.failed(.token(.expired))))
    await town.close()
    for reader in readers { await reader.value }
    var evidence = heard.all
    (evidence.grade, evidence.hasSnapshot, evidence.refusal) = (grade, hasSnapshot, refusal)
    return evidence
  }

  private static func firstGrade(of endpoint: Endpoint) async throws -> LineReport? {
    for await report in try await endpoint.watchLine(each: LineWatch.leastInterval) {
      return report
    }
    return nil
  }

  private static func answer(_ bob: Endpoint, _ heard: Heard) {
    var theirs = CallOptions(source: Tone(), sink: Ear())
    (theirs.videoSource, theirs.videoSink) = (Camera(PictureSize(width: 320, height: 180)!), Eye())
    let options = theirs
    Task {
      await heard.wait {
        $0.theirs.contains { if case .incomingCall = $0 { true } else { false } }
      }
      for case .incomingCall(let call) in heard.all.theirs {
        try await bob.call(call.id).accept(options)
      }
    }
  }

  private static func switchAll(
    _ call: Call, _ heard: Heard, _ turntable: Turntable
  ) async throws {
    try await call.setAudioMuted(true)
    try await call.setVideoMuted(true)
    await heard.wait { $0.other { $0 == .remoteAudioMuted(true) } }
    try await call.setAudioMuted(false)
    try await call.setVideoMuted(false)
    await heard.wait { $0.other { $0 == .remoteVideoMuted(false) } }
    try await call.setRemoteAudioMuted(true)
    try await call.setRemoteVideoMuted(true)
    try await call.setRemoteAudioMuted(false)
    try await call.setRemoteVideoMuted(false)
    for isOn in [false, true] {
      try await call.setVideoEnabled(isOn)
      await heard.wait { $0.other { $0 == .remoteVideoEnabled(isOn) } }
      try await call.setVideoCaptureEnabled(isOn)
      await heard.wait { $0.other { $0 == .remoteVideoCaptureEnabled(isOn) } }
    }
    turntable.turn()
    await heard.wait {
      $0.other { $0 == .remoteVideoRotated(.quarter) }
        && $0.other { if case .remoteVideoSizeChanged = $0 { true } else { false } }
    }
  }

  private static func playAndSay(
    _ call: Call, _ town: LoopbackTown, _ heard: Heard
  ) async throws {
    let clip = try #require(
      AudioClip(samples: Array(repeating: 1000, count: 24_000), channelCount: 1))
    try await call.startAudioMixing(clip)
    try await call.playEffect(7, clip)
    try await town.bob.call(call.id).setDataStream(9, DataStreamOptions())
    try await town.bob.call(call.id).send([1, 2, 3], stream: 9)
    await heard.wait {
      $0.own { $0 == .effectEnded(7) } && $0.other { $0 == .remoteAudioMixing(false) }
        && $0.own { $0 == .message(stream: 9, [1, 2, 3]) }
        && $0.statistics { $0.remoteQualityTx != nil && $0.qualityTx > 0 }
    }
  }

  /// Carol calls Alice as well: there are two that may speak.
  private static func second(_ town: LoopbackTown, _ heard: Heard) async throws {
    let call = try await town.endpoints[2].call("alice", options: CallOptions(source: Tone()))
    await heard.wait { $0.event { if case .incomingCall = $0 { true } else { false } } }
    try await town.alice.call(call.id).accept(CallOptions(sink: Ear()))
    await heard.wait {
      $0.event { if case .activeSpeakerChanged = $0 { true } else { false } }
    }
    await call.hangUp()
  }

  /// What it takes an outage, a narrow line, a relay or a clock to bring about.
  private static func tell(_ alice: Endpoint, _ call: Call, _ heard: Heard) async throws {
    let id = call.id.wire
    let remote = SocketAddress(v4: 192, 0, 2, 1, port: 3478)
    let down = FallbackMachine.Change.recovered(estimate: 50_000, needed: 100_000, loss: 0)
    var up = down
    up.mode = .audioOnly
    for event in [
      PeerEvent.calling(.interrupted(id)), .calling(.connectionLost(id)), .calling(.resumed(id)),
      .calling(.rejoined(id, after: .seconds(25))), .link(id, .pathReady(.relayed, remote: remote)),
      .link(id, .publishFallback(up)), .link(id, .publishFallback(down)),
      .link(id, .subscribeFallback(up, isSmall: false)),
      .link(id, .subscribeFallback(down, isSmall: false)),
      .link(id, .messagesMissed(stream: 9, missed: 2, cached: 1)),
      .token(.willExpire(in: .seconds(30))),
    ] { await alice.handleEvent(event) }
    await heard.wait { $0.fellBack(.subscribe) }
  }
}

/// All that was told, and who waits for some of it.
final class Heard: Sendable {
  private struct State {
    var evidence = Evidence()
    var waiting:
      [(isThere: @Sendable (Evidence) -> Bool, reader: CheckedContinuation<Void, Never>)] =
        []
  }
  private let state = Guarded(State())

  var all: Evidence { state.withLock { $0.evidence } }

  /// Keeps what an endpoint tells until it is closed.
  func follow(
    _ endpoint: Endpoint, _ place: any WritableKeyPath<Evidence, [EndpointEvent]> & Sendable
  ) async -> Task<Void, Never> {
    let events = await endpoint.events()
    return Task { for await event in events { keep(event, place) } }
  }

  private func keep(
    _ event: EndpointEvent, _ place: WritableKeyPath<Evidence, [EndpointEvent]>
  ) {
    let ready = state.withLock { state in
      state.evidence[keyPath: place].append(event)
      let evidence = state.evidence
      let ready = state.waiting.filter { $0.isThere(evidence) }
      state.waiting.removeAll { $0.isThere(evidence) }
      return ready.map(\.reader)
    }
    for reader in ready { reader.resume() }
  }

  /// Returns when it has come; that it comes at all is the test's time limit's to say.
  func wait(_ isThere: @escaping @Sendable (Evidence) -> Bool) async {
    await withCheckedContinuation { reader in
      let isHere = state.withLock { state in
        if isThere(state.evidence) { return true }
        state.waiting.append((isThere, reader))
        return false
      }
      if isHere { reader.resume() }
    }
  }
}

/// A camera that is turned on its side when asked to.
final class Turntable: VideoSource {
  let framesPerSecond = 30.0
  private let upright = Camera(PictureSize(width: 320, height: 180)!)
  private let turned = Camera(PictureSize(width: 180, height: 320)!)
  private let isTurned = Mutex(false)

  func turn() { isTurned.withLock { $0 = true } }

  func read(into picture: inout VideoPicture, at mediaTime: Duration) -> VideoSupply {
    let isTurned = isTurned.withLock { $0 }
    picture.rotation = isTurned ? .quarter : .none
    let supply = (isTurned ? turned : upright).read(into: &picture, at: mediaTime)
    picture.rotation = isTurned ? .quarter : .none
    return supply
  }
}

/// A tone that pauses as a voice does: a fifth of a second of it, then two of silence.
final class Voice: AudioSource {
  let channelCount = 1
  private let tone = Tone()
  private let reads = Mutex(0)

  func read(into samples: inout [Int16], frameCount: Int) -> Int {
    let count = tone.read(into: &samples, frameCount: frameCount)
    let place = reads.withLock { reads in
      reads += frameCount
      return reads % 28_800
    }
    if place >= 9_600 { for index in 0..<count { samples[index] = 0 } }
    return count
  }
}
