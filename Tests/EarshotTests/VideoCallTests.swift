import Earshot
import Foundation
import Primitives
import Synchronization
import Testing
import Video

/// Calls with a picture between two endpoints of this process, over the loopback address.
@Suite(.serialized) struct VideoCallTests {
  /// A folder, a rendezvous, and two who know each other's name.
  private struct Pair {
    let folder: URL
    let rendezvous: LoopbackRendezvous
    let alice: Endpoint
    let bob: Endpoint

    init() async throws {
      folder = FileManager.default.temporaryDirectory.appending(
        path: "earshot-\(UUID().uuidString)")
      rendezvous = try LoopbackRendezvous()
      bob = try await Self.endpoint("bob", rendezvous, folder)
      alice = try await Self.endpoint("alice", rendezvous, folder)
      #expect(try await bob.waitUntilRegistered() == .granted)
      #expect(try await alice.waitUntilRegistered() == .granted)
    }

    func close() async {
      await alice.close()
      await bob.close()
      rendezvous.stop()
      try? FileManager.default.removeItem(at: folder)
    }

    private static func endpoint(
      _ name: String, _ rendezvous: LoopbackRendezvous, _ folder: URL
    ) async throws -> Endpoint {
      var configuration = Configuration(rendezvous: rendezvous.address.description)
      configuration.name = name
      configuration.bind = "127.0.0.1:0"
      configuration.identityFile = folder.appending(path: name + "/identity").path
      return try await Endpoint.open(configuration)
    }
  }

  /// Accepts, and returns what happened.
  private static func answer(
    _ endpoint: Endpoint, _ events: AsyncStream<EndpointEvent>, _ options: CallOptions
  ) async throws -> (steps: [CallProgress], report: CallReport?) {
    var steps: [CallProgress] = []
    for await event in events {
      switch event {
      case .incomingCall(let incoming):
        try await endpoint.call(incoming.id).accept(options)
      case .callProgress(_, let step): steps.append(step)
      case .callEnded(_, let report): return (steps, report)
      default: break
      }
    }
    return (steps, nil)
  }

  private static func options(_ camera: Camera?, _ eye: Eye?) -> CallOptions {
    var options = CallOptions(source: Tone(), sink: Ear())
    options.videoSource = camera
    options.videoSink = eye
    options.maxVideoBitrate = 400_000
    return options
  }

  /// Goal: the picture goes both ways; muted, none is sent and the other side knows; it returns;
  /// unwanted, none is sent either.
  @Test(.timeLimit(.minutes(2)))
  func `two endpoints see each other, mute, and see each other again`() async throws {
    let size = try #require(PictureSize(width: 320, height: 180))
    let pair = try await Pair()
    let (camera, alicesEye, bobsEye) = (Camera(size), Eye(), Eye())
    let bobsEvents = await pair.bob.events()
    let bob = pair.bob
    let bobs = Task {
      try await Self.answer(bob, bobsEvents, Self.options(Camera(size), bobsEye))
    }
    let events = await pair.alice.events()
    let call = try await pair.alice.call("bob", options: Self.options(camera, alicesEye))
    var play = MutePlay(call: call, alicesEye: alicesEye, bobsEye: bobsEye)
    var alicesSteps: [CallProgress] = []
    var report: CallReport?
    for await event in events {
      switch event {
      case .statistics: try await play.next()
      case .callProgress(_, let step): alicesSteps.append(step)
      case .callEnded(_, let ended): report = ended
      default: break
      }
      if report != nil { break }
    }
    let (bobsSteps, bobsReport) = try await bobs.value
    await pair.close()
    Self.check(bobsSteps)
    #expect(alicesSteps.contains(.firstVideoFrameSent))
    let picture = StreamTold.all(of: .remoteVideo, in: alicesSteps)
    #expect(picture.contains(StreamTold(.stopped, .localMuted)))
    #expect(picture.contains(StreamTold(.decoding, .localUnmuted)))
    #expect(bobsSteps.contains(.remoteWantsVideo(false)))
    Self.check(bobsEye, camera, play)
    try Self.check(report, bobsReport, bobsEye)
    #expect(bobsEye.isFinished.withLock { $0 })
  }

  /// What was sent against what was received. A busy host may stop the picture for a moment, and
  /// the eye sees that too; the seconds in which it was muted are no freeze.
  private static func check(_ caller: CallReport?, _ callee: CallReport?, _ eye: Eye) throws {
    let sent = try #require(caller?.statistics?.videoSent)
    let received = try #require(callee?.statistics?.videoReceived)
    let first = try #require(callee?.timeline.firstVideoFrameDecodedMs)
    let connected = try #require(callee?.timeline.connectedMs)
    #expect((0...5_000).contains(first - connected), "\(first), \(connected) ms")
    #expect(received.framesDecoded > 30 && received.framesDecoded <= sent.framesSent)
    #expect(sent.framesSent <= sent.framesEncoded && sent.packetsSent >= sent.framesSent)
    #expect(received.packetsReceived == sent.packetsSent)
    let gaps = eye.gaps.filter { $0 > .milliseconds(100) }
    #expect(!gaps.isEmpty && received.freezeCount < gaps.count, "\(gaps)")
    #expect(received.frameWidth <= 320 && received.decodeFailures == 0)
    let line = try #require(caller?.statistics?.congestion)
    #expect(line.paddingBytesSent > 0)
    #expect(line.estimateBps > 100_000 && line.estimateP50Bps != nil && line.queueDelays != nil)
  }

  /// What the callee hears of the caller's muting.
  private static func check(_ steps: [CallProgress]) {
    let wanted = [
      StreamTold(.starting, .remoteUnmuted), StreamTold(.decoding, .remoteUnmuted),
      StreamTold(.stopped, .remoteMuted), StreamTold(.starting, .remoteUnmuted),
      StreamTold(.decoding, .remoteUnmuted),
    ]
    let heard = StreamTold.all(of: .remoteVideo, in: steps)
    #expect(Array(heard.prefix(wanted.count)) == wanted)
    #expect(
      steps.contains { step in
        if case .firstVideoFrameDecoded = step { true } else { false }
      })
  }

  /// The burnt-in numbers come in order, none twice; media time goes with the source's; and what is
  /// shown was there a moment ago.
  private static func check(_ eye: Eye, _ camera: Camera, _ play: MutePlay) {
    let sights = eye.sights.withLock { $0 }
    #expect(zip(sights, sights.dropFirst()).allSatisfy { $0.stamp.number < $1.stamp.number })
    #expect(eye.unreadable.withLock { $0 } == 0)
    #expect(play.shownWhileMuted <= 2, "what was on its way")
    let delays = sights.compactMap { sight in
      camera.moment(of: sight.stamp.number).map { Double(sight.at.nanoseconds(since: $0)) / 1e6 }
    }
    // A bound against nonsense only: the figure itself is measured on a quiet host.
    #expect(delays.percentile(0.5) < 250, "\(delays.percentile(0.5)) ms")
    for sight in sights {
      #expect(
        abs(Double(sight.stamp.clock) - sight.moment.mediaTime / .milliseconds(1)) <= 1)
    }
  }

  /// What the caller does, a step with each reading of the numbers, two seconds apart.
  private struct MutePlay {
    let call: Call
    let alicesEye: Eye
    let bobsEye: Eye
    private var stage = 0
    private var before = 0
    private(set) var shownWhileMuted = 0

    init(call: Call, alicesEye: Eye, bobsEye: Eye) {
      self.call = call
      self.alicesEye = alicesEye
      self.bobsEye = bobsEye
    }

    mutating func next() async throws {
      switch stage {
      case 0 where bobsEye.count >= 20 && alicesEye.count >= 20:
        before = bobsEye.count
        try await call.setVideoMuted(true)
      case 1:
        shownWhileMuted = bobsEye.count - before
        before = bobsEye.count
        try await call.setVideoMuted(false)
      case 2 where bobsEye.count > before + 10:
        try await call.setRemoteVideoMuted(true)
      case 3:
        before = alicesEye.count
        try await call.setRemoteVideoMuted(false)
      case 4 where alicesEye.count > before + 10: await call.hangUp()
      default: return
      }
      stage += 1
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `a side without video makes it a call of sound alone`() async throws {
    let size = try #require(PictureSize(width: 160, height: 120))
    let pair = try await Pair()
    let bobsEvents = await pair.bob.events()
    let bob = pair.bob
    let bobs = Task { try await Self.answer(bob, bobsEvents, Self.options(nil, nil)) }
    let events = await pair.alice.events()
    let eye = Eye()
    let call = try await pair.alice.call("bob", options: Self.options(Camera(size), eye))
    var report: CallReport?
    for await event in events {
      if case .statistics = event { await call.hangUp() }
      if case .callEnded(_, let ended) = event { report = ended }
      if report != nil { break }
    }
    let (steps, _) = try await bobs.value
    await pair.close()
    #expect(report?.outcome == .completed && eye.count == 0)
    #expect(report?.statistics?.videoSent?.framesSent == 0)
    #expect((report?.statistics?.received.packetsReceived ?? 0) > 50)
    let isAboutVideo = steps.contains { "\($0)".contains("ideo") }
    #expect(!isAboutVideo, "\(steps)")
  }

  /// Goal: each medium can be turned off and on at either side, and the other side is told which.
  @Test(.timeLimit(.minutes(2)))
  func `each medium is turned off and on, and the other side hears of it`() async throws {
    let size = try #require(PictureSize(width: 160, height: 120))
    let pair = try await Pair()
    let (alicesEye, bobsEye) = (Eye(), Eye())
    let bobsEvents = await pair.bob.events()
    let bob = pair.bob
    let bobs = Task {
      try await Self.answer(bob, bobsEvents, Self.options(Camera(size), bobsEye))
    }
    let events = await pair.alice.events()
    let call = try await pair.alice.call("bob", options: Self.options(Camera(size), alicesEye))
    var alicesSteps: [CallProgress] = []
    var stage = 0
    for await event in events {
      if case .callProgress(_, let step) = event { alicesSteps.append(step) }
      if case .callEnded = event { break }
      guard case .statistics = event, alicesEye.count > 5, bobsEye.count > 5 else { continue }
      switch stage {
      case 0: try await call.setAudioMuted(true)
      case 1: try await call.setAudioMuted(false)
      case 2: try await call.setVideoEnabled(false)
      case 3: try await call.setVideoEnabled(true)
      case 4: try await call.setAudioEnabled(false)
      case 5: try await call.setAudioEnabled(true)
      default: await call.hangUp()
      }
      stage += 1
    }
    let (bobsSteps, _) = try await bobs.value
    await pair.close()
    let audio = [true, false, true, false].map(CallProgress.remoteAudioMuted)
    #expect(bobsSteps.filter(audio.contains) == audio)
    let video = [true, false].map(CallProgress.remoteVideoMuted)
    #expect(bobsSteps.filter(video.contains) == video)
    let wishes = [false, true].map(CallProgress.remoteWantsVideo)
    #expect(bobsSteps.filter(wishes.contains) == wishes)
    Self.checkPicture(StreamTold.all(of: .remoteVideo, in: alicesSteps))
  }

  /// Muted here, seen again, and at its end with the call.
  private static func checkPicture(_ states: [StreamTold]) {
    let last = [StreamTold(.decoding, .localUnmuted), StreamTold(.stopped, .remoteOffline)]
    #expect(states.contains(StreamTold(.stopped, .localMuted)), "\(states)")
    #expect(Array(states.suffix(2)) == last, "\(states)")
  }

  /// Thirty black pictures.
  private final class Film: VideoSource {
    let framesPerSecond = 30.0
    private let given = Mutex(0)

    func read(into picture: inout VideoPicture, at mediaTime: Duration) -> VideoSupply {
      given.withLock { given in
        given += 1
        return given <= 30 ? .picture : .ended
      }
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `a source that has ended is not turned on again`() async throws {
    let pair = try await Pair()
    let bobsEvents = await pair.bob.events()
    let bob = pair.bob
    let bobs = Task { try await Self.answer(bob, bobsEvents, Self.options(nil, Eye())) }
    let events = await pair.alice.events()
    var options = Self.options(nil, nil)
    options.videoSource = Film()
    let call = try await pair.alice.call("bob", options: options)
    var refusals = 0
    var stage = 0
    for await event in events {
      if case .callEnded = event { break }
      if case .callProgress(_, .videoSourceEnded) = event { stage = 1 }
      guard case .statistics = event, stage > 0 else { continue }
      stage += 1
      if stage == 2 {
        try await call.setVideoMuted(true)
        do { try await call.setVideoMuted(false) } catch { refusals += 1 }
        try await call.setVideoEnabled(true)
      } else {
        await call.hangUp()
      }
    }
    let (steps, _) = try await bobs.value
    await pair.close()
    #expect(refusals == 1)
    let told = steps.compactMap {
      if case .remoteVideoMuted(let isMuted) = $0 { isMuted } else { nil }
    }
    #expect(told == [true], "\(told)")
  }

  @Test func `what cannot be is refused`() async throws {
    let size = try #require(PictureSize(width: 160, height: 120))
    let pair = try await Pair()
    var options = Self.options(Camera(size), nil)
    options.maxVideoBitrate = 1000
    await #expect(throws: EarshotError.self) { try await pair.alice.call("bob", options: options) }
    options = Self.options(Camera(size, framesPerSecond: 200), nil)
    await #expect(throws: EarshotError.self) { try await pair.alice.call("bob", options: options) }
    let call = try await pair.alice.call("nobody-there", options: Self.options(nil, nil))
    await #expect(throws: EarshotError.self) { try await call.setVideoMuted(true) }
    await #expect(throws: EarshotError.self) { try await call.setVideoEnabled(false) }
    await pair.close()
  }
}
