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
}
