import Earshot
import Testing
import Video

extension CallTests {
  /// What Alice hears of a call with Bob, who sends a tone and a picture, while she changes what
  /// may be changed.
  @Test(.timeLimit(.minutes(1)))
  func `a running call's rate, volumes, music, picture and intervals are changed`() async throws {
    let town = try await LoopbackTown()
    let size = try #require(PictureSize(width: 320, height: 180))
    var theirs = CallOptions(source: Tone(), sink: Ear())
    theirs.videoSource = Camera(size)
    let events = await town.bob.events()
    let (bob, options) = (town.bob, theirs)
    Task {
      for await event in events {
        guard case .incomingCall(let call) = event else { continue }
        try await bob.call(call.id).accept(options)
      }
    }
    var story = await Story(town.alice)
    var own = CallOptions(source: Tone(), sink: Ear())
    own.videoSink = Eye()
    let call = try await town.alice.call("bob", options: own)
    await story.connected()
    _ = await story.first { event -> Bool? in
      guard case .callProgress(_, .firstVideoFrameDecoded) = event else { return nil }
      return true
    }
    try await Self.change(call, town.alice)
    var told = Told()
    _ = await story.first { event -> Bool? in told.note(event) ? true : nil }
    #expect(told.music == ["playing startedByUser", "failed tooFrequentCall"])
    #expect(told.volumes.contains { $0.isLocal } && told.volumes.contains { !$0.isLocal })
    let own440 = told.volumes.last { $0.isLocal }?.speakers.first?.pitchHz ?? 0
    #expect(own440 == 0 || abs(own440 - 440) < 20, "\(own440)")
    async let other = call.snapshot()
    let picture = try await call.snapshot()
    #expect(try await other.width == picture.width, "two may ask at once")
    #expect(picture.width == 320 && picture.height == 180)
    try await call.stopAudioMixing()
    await call.hangUp()
    await #expect(throws: EarshotError.self) { try await call.setPlaybackVolume(50) }
    await town.close()
  }

  private struct Told {
    var music: [String] = []
    var volumes: [VolumeReport] = []
    var statistics = 0
    var hasEffect = false

    /// - Returns: whether all has come.
    mutating func note(_ event: EndpointEvent) -> Bool {
      switch event {
      case .volumes(let report): volumes.append(report)
      case .statistics: statistics += 1
      case .callProgress(_, .audioMixingChanged(let change)):
        music.append("\(change.state) \(change.reason)")
      case .callProgress(_, .effectEnded(7)): hasEffect = true
      default: break
      }
      return statistics >= 4 && volumes.count >= 4 && hasEffect && music.count >= 2
    }
  }

  private static func change(_ call: Call, _ endpoint: Endpoint) async throws {
    let music = try #require(
      AudioClip(samples: Array(repeating: 1000, count: 480_000), channelCount: 1))
    let effect = try #require(
      AudioClip(samples: Array(repeating: 500, count: 4800), channelCount: 2))
    try await endpoint.setStatisticsInterval(.milliseconds(200))
    try await endpoint.setVolumeIndication(
      VolumeIndication(interval: .milliseconds(100), smoothing: 0, reportsPitch: true))
    try await call.setAudioBitrate(16_000)
    try await call.setFrameLength(.milliseconds(40))
    try await call.setRecordingVolume(200)
    try await call.setPlaybackVolume(50)
    try await call.startAudioMixing(music)
    try await call.startAudioMixing(music)
    try await call.setAudioMixingPosition(.seconds(2))
    let position = try #require(try await call.audioMixingPosition())
    #expect(position >= .seconds(1) && position < .seconds(9))
    try await call.setAudioMixingVolume(sent: 40, heard: 0)
    try await call.playEffect(7, effect)
    await #expect(throws: EarshotError.self) { try await call.setAudioBitrate(1) }
    await #expect(throws: EarshotError.self) { try await call.setFrameLength(.milliseconds(30)) }
    await #expect(throws: EarshotError.self) { try await call.setRecordingVolume(401) }
    await #expect(throws: EarshotError.self) { try await call.playEffect(8, effect, loops: 0) }
    await #expect(throws: EarshotError.self) {
      try await endpoint.setStatisticsInterval(.milliseconds(100))
    }
    await #expect(throws: EarshotError.self) {
      try await endpoint.setVolumeIndication(VolumeIndication(interval: .milliseconds(5)))
    }
  }
}
