import Primitives
import Reactor
import Testing

@testable import Earshot

/// What music and effects are asked for with, in a call and in a channel.
@Suite struct MixingDeskTests {
  @Test func `a volume and a number of rounds that are none are refused`() throws {
    try MixingDesk.check(AudioMixingOptions(loops: nil, volume: 400))
    #expect(throws: EarshotError.self) { try MixingDesk.check(AudioMixingOptions(loops: 0)) }
    #expect(throws: EarshotError.self) { try MixingDesk.check(AudioMixingOptions(volume: 401)) }
    #expect(throws: EarshotError.self) { try MixingDesk.check(volume: -1) }
    #expect(throws: EarshotError.self) { try MixingDesk.check(loops: -2) }
  }

  @Test func `two starts within half a second are a mistake`() throws {
    let clip = try #require(
      AudioClip(samples: Array(repeating: 100, count: 480_000), channelCount: 1))
    let audio = try CallAudio(CallOptions(source: Tone(), sink: nil), wake: try LoopWake())
    defer { audio.stop() }
    var desk = MixingDesk()
    let now = Instant(nanoseconds: 1_000_000_000)
    desk.start(clip, AudioMixingOptions(), on: audio, now: now)
    desk.start(clip, AudioMixingOptions(), on: audio, now: now + .milliseconds(400))
    desk.start(clip, AudioMixingOptions(), on: audio, now: now + .milliseconds(900))
    // What was told meanwhile the pipeline has handed on.
    let late = audio.mix { $0.takeNotes() }
    #expect(
      audio.rings.takeMixing() + late == [
        .music(AudioMixingChange(.playing, .startedByUser)),
        .music(AudioMixingChange(.failed, .tooFrequentCall)),
        .music(AudioMixingChange(.playing, .startedByUser)),
      ])
  }

  /// Goal: a moment is the frame of that moment, and one beyond the clip is its last frame.
  @Test func `music begins where it is asked to`() throws {
    let clip = try #require(
      AudioClip(samples: Array(repeating: 100, count: 48_000 * 60), channelCount: 1))
    var mixer = AudioMixer()
    mixer.start(clip, AudioMixingOptions(position: .seconds(50)))
    #expect(mixer.position == .seconds(50))
    mixer.seek(to: .milliseconds(59_001))
    #expect(mixer.position == .milliseconds(59_001))
    mixer.seek(to: .seconds(-1))
    #expect(mixer.position == .zero)
    let last = Duration.nanoseconds(Int64(clip.frameCount - 1) * 1_000_000_000 / 48_000)
    for far in [clip.duration, .seconds(61), .seconds(Int64.max)] {
      mixer.seek(to: far)
      #expect(mixer.position == last)
    }
    mixer.seek(to: .seconds(Int64.min))
    #expect(mixer.position == .zero)
  }
}
