import Primitives
import Synchronization
import Testing

@testable import Earshot

/// One sound of many, and one source for many.
@Suite struct ChannelMixTests {
  @Test func `a mix is mono, and its sink gets what it has channels for`() {
    let (mono, stereo) = (GatheredSound(), GatheredSound(channels: 2))
    let start = Instant(nanoseconds: 1)
    for sink in [mono, stereo] {
      let mix = ChannelMix(sink, hold: .zero, now: start)
      let loud = [Int16](repeating: 30_000, count: 240)
      for _ in 0..<2 { _ = mix.add(loud, frameCount: 240, at: 0, now: 0) }
      mix.finish()
      mix.finish()
      #expect(mix.add(loud, frameCount: 240, at: 240, now: 240) == 480)
      #expect(sink.finishes == 1 && sink.samples.count == 240 * sink.channelCount)
      // Two that are loud are lowered, not cut.
      #expect(sink.samples.allSatisfy { (31_900...32_000).contains($0) })
    }
  }

  @Test func `the limiter keeps the sum below the greatest value, and lets it rise again`() {
    var limiter = PeakLimiter()
    limiter.look(at: 60_000)
    limiter.settle()
    #expect((31_900...32_000).contains(Int(limiter.limited(60_000))))
    for _ in 0..<100 {
      limiter.look(at: 1000)
      limiter.settle()
    }
    #expect(limiter.limited(1000) == 1000)
  }

  @Test func `voices add up at their time`() {
    let began = Instant(nanoseconds: 0)
    let gathered = GatheredSound()
    let mixer = ChannelMix(gathered, hold: .milliseconds(300), now: began)
    #expect(mixer.frame(at: began + .milliseconds(10)) == 480)
    let block = [Int16](repeating: 1000, count: 240)
    var (one, other) = (0, 480)
    for step in 0..<40 {
      let now = step * 240
      one = mixer.add(block, frameCount: 240, at: one, now: now)
      other = mixer.add(block, frameCount: 240, at: other, now: now)
    }
    mixer.finish()
    let samples = gathered.samples
    #expect(samples.count == 42 * 240)
    #expect(samples[0] == 1000 && samples[479] == 1000 && samples[480] == 2000)
    #expect(samples[40 * 240 - 1] == 2000 && samples[40 * 240] == 1000)
  }

  /// Counts up.
  private final class Counter: AudioSource {
    let channelCount = 1
    private let next = Mutex(0)

    func read(into samples: inout [Int16], frameCount: Int) -> Int {
      next.withLock { next in
        let count = max(0, min(frameCount, 1000 - next))
        for index in 0..<count { samples[index] = Int16(next + index) }
        next += count
        return count
      }
    }
  }

  @Test func `all hear the same at the same time, and who comes later what is there then`() {
    let source = SharedAudioSource(Counter())
    let (early, late) = (source.makeEar(), source.makeEar())
    var samples = [Int16](repeating: 0, count: 480)
    #expect(early.read(into: &samples, frameCount: 480) == 480)
    #expect(late.read(into: &samples, frameCount: 240) == 240 && samples[0] == 480)
    #expect(early.read(into: &samples, frameCount: 240) == 240 && samples[0] == 480)
    #expect(early.read(into: &samples, frameCount: 480) == 280 && samples[279] == 999)
    #expect(late.read(into: &samples, frameCount: 480) == 280)
    #expect(late.read(into: &samples, frameCount: 480) == 0)
  }
}
