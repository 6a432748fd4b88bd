import Audio
import Primitives
import Testing
import Video

@testable import Earshot

/// The states of a call's streams, as an application sees them.
@Suite struct CallStreamsTests {
  private static let start = Instant(nanoseconds: 1_000_000_000)
  private var streams = CallStreams(now: start)
  private var now = start

  private static let both = CallStreams.Beginning(
    hasAudioSource: true, hasVideoSource: true, hasVideoSink: true)

  private func told(_ steps: [CallProgress]) -> [String] {
    steps.map { step in
      guard case .streamChanged(let change) = step else { return "\(step)" }
      return "\(change.stream): \(change.old) > \(change.new), \(change.reason)"
    }
  }

  @Test mutating func `audio begins, is muted, and is sent again`() {
    let beginning = CallStreams.Beginning(hasAudioSource: true)
    #expect(
      told(streams.begin(beginning, now: now)) == [
        "localAudio: stopped > capturing, started", "audioPublish: idle > publishing, started",
        "audioSubscribe: idle > subscribing, started",
      ])
    #expect(!streams.awaitsAudioFrame)
    now = now + .milliseconds(20)
    #expect(
      told(streams.handleAudioSent(now: now)) == [
        "localAudio: capturing > encoding, firstFrame",
        "audioPublish: publishing > published, firstFrame", "firstFrameSent",
      ])
    #expect(streams.handleAudioSent(now: now).isEmpty)
    #expect(
      told(streams.setAudioMuted(true, now: now)) == [
        "localAudio: encoding > stopped, localMuted",
        "audioPublish: published > notPublished, localMuted",
      ])
    #expect(streams.setAudioMuted(true, now: now).isEmpty)
    #expect(
      told(streams.setAudioMuted(false, now: now)) == [
        "localAudio: stopped > capturing, localUnmuted",
        "audioPublish: notPublished > publishing, localUnmuted",
      ])
    #expect(streams.awaitsAudioFrame)
    #expect(told(streams.handleAudioSent(now: now)).last == "firstFrameSent")
    #expect(
      told(streams.handleAudioSourceEnd(now: now)) == [
        "localAudio: encoding > stopped, sourceEnded"
      ])
  }

  @Test mutating func `a side that starts muted or without a source does not publish`() {
    #expect(
      told(streams.begin(CallStreams.Beginning(), now: now)) == [
        "audioPublish: idle > notPublished, localMuted",
        "audioSubscribe: idle > subscribing, started",
      ])
    var muted = CallStreams(now: now)
    let beginning = CallStreams.Beginning(hasAudioSource: true, isAudioMuted: true)
    #expect(
      told(muted.begin(beginning, now: now)).first
        == "audioPublish: idle > notPublished, localMuted")
    #expect(told(muted.setAudioMuted(false, now: now)).count == 2)
  }

  @Test mutating func `the other side's audio starts, freezes, returns and is muted`() {
    _ = streams.begin(Self.both, now: now)
    #expect(
      told(streams.handleAudioArrival(now: now)) == ["remoteAudio: stopped > starting, started"])
    #expect(
      told(streams.handleAudioPlaying(isAfterSilence: false, now: now)) == [
        "remoteAudio: starting > decoding, firstFrame",
        "audioSubscribe: subscribing > subscribed, firstFrame",
      ])
    #expect(
      told(streams.handleAudioFreeze(now: now)) == [
        "remoteAudio: decoding > frozen, networkCongestion"
      ])
    #expect(
      told(streams.handleAudioPlaying(isAfterSilence: true, now: now)) == [
        "remoteAudio: frozen > decoding, networkRecovery", "firstFrameReceived",
      ])
    #expect(
      told(streams.setRemoteAudioMuted(true, now: now)) == [
        "remoteAudioMuted(true)", "remoteAudio: decoding > stopped, remoteMuted",
        "audioSubscribe: subscribed > notSubscribed, remoteMuted",
      ])
    #expect(streams.handleAudioPlaying(isAfterSilence: false, now: now).isEmpty)
  }

  @Test mutating func `the other side's audio returns after each kind of muting`() {
    _ = streams.begin(Self.both, now: now)
    _ = streams.handleAudioPlaying(isAfterSilence: false, now: now)
    _ = streams.setRemoteAudioMuted(true, now: now)
    #expect(
      told(streams.setRemoteAudioMuted(false, now: now)) == [
        "remoteAudioMuted(false)", "audioSubscribe: notSubscribed > subscribing, remoteUnmuted",
      ])
    #expect(
      told(streams.handleAudioPlaying(isAfterSilence: false, now: now)) == [
        "remoteAudio: stopped > decoding, remoteUnmuted",
        "audioSubscribe: subscribing > subscribed, firstFrame",
      ])
    #expect(
      told(streams.setRemoteAudioUnwanted(true, now: now)) == [
        "remoteAudio: decoding > stopped, localMuted",
        "audioSubscribe: subscribed > notSubscribed, localMuted",
      ])
    _ = streams.setRemoteAudioUnwanted(false, now: now)
    #expect(
      told(streams.handleAudioPlaying(isAfterSilence: false, now: now)).first
        == "remoteAudio: stopped > decoding, localUnmuted")
  }

  @Test mutating func `video is captured, sent, muted, and falls back`() throws {
    let large = try #require(PictureSize(width: 640, height: 360))
    let small = try #require(PictureSize(width: 320, height: 180))
    _ = streams.begin(Self.both, now: now)
    #expect(
      told(streams.handleCapture(large, now: now)) == [
        "localVideo: stopped > capturing, started", "firstLocalVideoFrame(width: 640, height: 360)",
      ])
    #expect(streams.awaitsVideoFrame)
    #expect(
      told(streams.handleVideoSent(now: now)) == [
        "localVideo: capturing > encoding, firstFrame",
        "videoPublish: publishing > published, firstFrame", "firstVideoFrameSent",
      ])
    #expect(
      told(streams.handleCapture(small, now: now)) == [
        "localVideoSizeChanged(width: 320, height: 180)"
      ])
  }

  @Test mutating func `video falls back, is muted, and comes to its end`() throws {
    _ = streams.begin(Self.both, now: now)
    _ = streams.handleCapture(try #require(PictureSize(width: 640, height: 360)), now: now)
    _ = streams.handleVideoSent(now: now)
    #expect(
      told(streams.setVideoPaused(true, now: now)) == [
        "videoPublish: published > notPublished, audioFallback"
      ])
    #expect(
      told(streams.setVideoPaused(false, now: now)) == [
        "videoPublish: notPublished > publishing, audioFallbackRecovery"
      ])
    _ = streams.handleVideoSent(now: now)
    #expect(
      told(streams.setVideoMuted(true, now: now)) == [
        "localVideo: encoding > stopped, localMuted",
        "videoPublish: published > notPublished, localMuted",
      ])
    #expect(
      told(streams.setVideoMuted(false, now: now)) == [
        "localVideo: stopped > capturing, localUnmuted",
        "videoPublish: notPublished > publishing, localUnmuted",
      ])
    #expect(
      told(streams.handleVideoSourceEnd(now: now)) == [
        "localVideo: capturing > stopped, sourceEnded",
        "videoPublish: publishing > notPublished, sourceEnded", "videoSourceEnded",
      ])
    #expect(streams.hasVideoSourceEnded)
  }

  @Test mutating func `a source that gives nothing, or the same, fails and recovers`() throws {
    _ = streams.begin(Self.both, now: now)
    _ = streams.handleCapture(try #require(PictureSize(width: 640, height: 360)), now: now)
    _ = streams.handleVideoSent(now: now)
    #expect(
      told(streams.handle(.silent, now: now)) == [
        "localVideo: encoding > failed, captureFailure",
        "videoPublish: published > publishing, captureFailure",
      ])
    #expect(
      told(streams.handle(.working, now: now)) == [
        "localVideo: failed > capturing, captureRecovery"
      ])
    _ = streams.handleVideoSent(now: now)
    #expect(
      told(streams.handle(.stuck, now: now)) == [
        "localVideo: encoding > capturing, captureFailure"
      ])
    #expect(
      told(streams.handle(.working, now: now)) == [
        "localVideo: capturing > encoding, captureRecovery"
      ])
  }

  @Test mutating func `the other side's video is subscribed while it is seen`() throws {
    _ = streams.begin(Self.both, now: now)
    let size = try #require(PictureSize(width: 640, height: 360))
    _ = streams.changeRemoteVideo(now: now) { $0.handle(sends: true, isPaused: false) }
    #expect(
      told(streams.changeRemoteVideo(now: now) { $0.handleArrival() }) == [
        "remoteVideo: stopped > starting, remoteUnmuted"
      ])
    let shown = ShownPicture(size: size, isFirst: true)
    #expect(
      told(streams.changeRemoteVideo(now: now) { $0.handle(shown) }) == [
        "remoteVideo: starting > decoding, remoteUnmuted",
        "videoSubscribe: subscribing > subscribed, firstFrame",
        "firstVideoFrameDecoded(width: 640, height: 360)",
      ])
    #expect(
      told(streams.changeRemoteVideo(now: now) { $0.handle(isUnwanted: true) }) == [
        "remoteVideo: decoding > stopped, localMuted",
        "videoSubscribe: subscribed > notSubscribed, localMuted",
      ])
    #expect(
      told(streams.changeRemoteVideo(now: now) { $0.handle(isUnwanted: false) }) == [
        "videoSubscribe: notSubscribed > subscribing, localUnmuted"
      ])
  }

  @Test mutating func `at the end all streams end, and the time of each state is told`() {
    _ = streams.begin(CallStreams.Beginning(hasAudioSource: true), now: now)
    _ = streams.handleAudioSent(now: now)
    _ = streams.handleAudioPlaying(isAfterSilence: false, now: now)
    now = now + .seconds(3)
    let steps = streams.end(now: now)
    #expect(
      told(steps) == [
        "localAudio: encoding > stopped, callEnded",
        "remoteAudio: decoding > stopped, remoteOffline",
        "audioPublish: published > idle, callEnded",
        "audioSubscribe: subscribed > idle, callEnded",
      ])
    for case .streamChanged(let change) in steps { #expect(change.elapsed == .seconds(3)) }
    #expect(streams.end(now: now).isEmpty)
  }

  @Test mutating func `audio that cannot be started has failed`() {
    _ = streams.begin(CallStreams.Beginning(hasAudioSource: true), now: now)
    #expect(
      told(streams.handleAudioFailure(now: now)) == [
        "localAudio: capturing > failed, internalFailure",
        "remoteAudio: stopped > failed, internalFailure",
        "audioPublish: publishing > notPublished, internalFailure",
        "audioSubscribe: subscribing > notSubscribed, internalFailure",
      ])
  }

  @Test func `a stream enters a state once`() {
    var stream = StreamMachine(.localVideo, now: Self.start)
    #expect(stream.enter(.stopped, .started, now: Self.start) == nil)
    #expect(stream.enter(.capturing, .started, now: Self.start)?.old == .stopped)
    #expect(stream.enter(.capturing, .captureFailure, now: Self.start)?.new == .capturing)
    #expect(stream.enter(.capturing, .captureFailure, now: Self.start) == nil)
    #expect(StreamMachine(.audioPublish, now: Self.start).state == .idle)
    #expect(StreamKind.allCases.count == 8)
  }
}

/// When the other side is heard.
@Suite struct PlayingWatchTests {
  private var watch = PlayingWatch()
  private var now = Instant(nanoseconds: 1_000_000_000)

  private mutating func pull(
    _ operation: PlayoutOperation, count: Int = 1, isSilenced: Bool = false
  ) -> [AudioNote] {
    var notes: [AudioNote] = []
    for _ in 0..<count {
      now = now + .milliseconds(5)
      if let note = watch.handlePull(operation, isSilenced: isSilenced, now: now) {
        notes.append(note)
      }
    }
    return notes
  }

  @Test mutating func `it is frozen after 500 ms of nothing, and plays again`() {
    #expect(pull(.silence, count: 400).isEmpty)
    #expect(pull(.normal, count: 10) == [.playing(isAfterSilence: false)])
    #expect(pull(.expand, count: 99).isEmpty)
    #expect(pull(.merge) == [])
    #expect(pull(.expand, count: 50) + pull(.silence, count: 200) == [.frozen])
    #expect(pull(.normal) == [.playing(isAfterSilence: false)])
  }

  @Test mutating func `after 15 s it begins anew`() {
    #expect(pull(.normal) == [.playing(isAfterSilence: false)])
    #expect(pull(.silence, count: 2998) == [.frozen])
    #expect(pull(.normal) == [.playing(isAfterSilence: false)])
    #expect(pull(.silence, count: 3000) == [.frozen])
    #expect(pull(.normal) == [.playing(isAfterSilence: true)])
  }

  @Test mutating func `while it is muted nothing is missing`() {
    #expect(pull(.normal) == [.playing(isAfterSilence: false)])
    #expect(pull(.silence, count: 1000, isSilenced: true).isEmpty)
    #expect(pull(.silence, count: 1000).isEmpty)
    #expect(pull(.normal) == [.playing(isAfterSilence: false)])
  }

  @Test func `notes that find no place are left out`() {
    var notes = AudioNotes()
    for _ in 0..<20 { notes.add(.sourceEnded) }
    #expect(notes.drain().count == 8)
    #expect(notes.drain().isEmpty)
  }

  @Test func `a volume multiplies and is cut off at full scale`() {
    var samples: [Int16] = [100, -100, 20_000, -20_000]
    SampleGain.apply(100, to: &samples)
    #expect(samples == [100, -100, 20_000, -20_000])
    SampleGain.apply(400, to: &samples)
    #expect(samples == [400, -400, 32_767, -32_768])
    SampleGain.apply(0, to: &samples)
    #expect(samples == [0, 0, 0, 0])
  }
}

/// What is wrong with a source of pictures (scenario 14).
@Suite struct CaptureWatchTests {
  private var watch = CaptureWatch()
  private var now = Instant(nanoseconds: 1_000_000_000)

  private mutating func show(
    _ picture: [UInt8], _ width: Int, _ height: Int, count: Int, rate: Int = 10
  ) throws -> [CaptureFault] {
    let size = try #require(PictureSize(width: width, height: height))
    var faults: [CaptureFault] = []
    for _ in 0..<count {
      now = now + .milliseconds(100)
      if let fault = watch.handle(picture.span, size: size, rate: rate, now: now) {
        faults.append(fault)
      }
    }
    return faults
  }

  private static func picture(_ value: UInt8) -> [UInt8] {
    Array(repeating: value, count: 320 * 240 * 3 / 2)
  }

  @Test mutating func `4 s of nothing, 15 of the same, and 15 small ones`() throws {
    #expect(try show(Self.picture(1), 320, 240, count: 1).isEmpty)
    var faults: [CaptureFault] = []
    for _ in 0..<50 {
      now = now + .milliseconds(100)
      if let fault = watch.handleNothing(now: now) { faults.append(fault) }
    }
    #expect(faults == [.silent])
    #expect(try show(Self.picture(2), 320, 240, count: 14) == [.working])
    #expect(try show(Self.picture(2), 320, 240, count: 10) == [.stuck])
    #expect(try show(Self.picture(3), 320, 240, count: 1) == [.working])
    #expect(try show(Self.picture(4), 160, 120, count: 40).isEmpty)
  }

  @Test mutating func `the same picture is no fault where pictures come slowly`() throws {
    #expect(try show(Self.picture(2), 320, 240, count: 40, rate: 5).isEmpty)
  }

  @Test mutating func `pictures that differ in one place are not the same`() throws {
    var picture = Self.picture(1)
    for index in 0..<40 {
      picture[1000 + index] = UInt8(index)
      #expect(try show(picture, 320, 240, count: 1).isEmpty)
    }
  }

  @Test mutating func `a source that never gives one is silent after 4 s`() {
    var faults: [CaptureFault] = []
    for _ in 0..<100 {
      now = now + .milliseconds(50)
      if let fault = watch.handleNothing(now: now) { faults.append(fault) }
    }
    #expect(faults == [.silent])
  }
}
