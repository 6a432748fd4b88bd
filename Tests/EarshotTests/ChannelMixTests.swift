import Primitives
import Reactor
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

  /// Counts what it gets, and remembers where sound began.
  private final class Ruler: AudioSink {
    let channelCount = 1
    private let state = Mutex((samples: 0, firstSound: Int?.none))

    var samples: Int { state.withLock { $0.samples } }
    var firstSound: Int? { state.withLock { $0.firstSound } }

    func write(_ samples: borrowing [Int16], frameCount: Int) {
      let hasSound = samples[0] != 0
      state.withLock { state in
        if hasSound, state.firstSound == nil { state.firstSound = state.samples }
        state.samples += frameCount
      }
    }

    func finish() {}
  }

  /// Goal: nobody waits for the silence of ten hours.
  @Test func `a long pause is written a second at a time`() {
    let start = Instant(nanoseconds: 0)
    let ruler = Ruler()
    let mix = ChannelMix(ruler, hold: .milliseconds(60), now: start)
    let block = [Int16](repeating: 1000, count: 240)
    let late = mix.frame(at: start + .seconds(36_000))
    for step in 0..<3 {
      let before = ruler.samples
      _ = mix.add(block, frameCount: 240, at: late, now: late + step * 240)
      #expect(ruler.samples - before <= 48_000)
    }
  }

  /// Goal: what is heard after a pause stands in the file at its time.
  @Test func `silence is written as time goes by`() {
    let start = Instant(nanoseconds: 0)
    let ruler = Ruler()
    let mix = ChannelMix(ruler, hold: .milliseconds(60), now: start)
    let block = [Int16](repeating: 1000, count: 240)
    var now = start
    while now < start + .seconds(3600) {
      now = now + .milliseconds(250)
      let before = ruler.samples
      let isBehind = mix.catchUp(now: now)
      #expect(!isBehind && ruler.samples - before <= 12_240)
    }
    var place = mix.frame(at: now)
    let began = place
    for step in 0..<200 {
      place = mix.add(block, frameCount: 240, at: place, now: began + step * 240)
    }
    #expect(began == 3600 * 48_000 && ruler.firstSound == began)
    // Once nobody is heard the rest of it follows, and silence.
    var isBehind = true
    while isBehind { isBehind = mix.catchUp(now: now + .seconds(10)) }
    #expect(abs(ruler.samples - (3609 * 48_000 + 21_120)) <= 240)
    mix.finish()
    #expect(!mix.catchUp(now: now + .seconds(20)))
  }

  /// Goal: the file of who has left ends where it was heard last, and goes on when it comes back.
  @Test func `who has left gets no more silence`() {
    let (gone, there) = (Ruler(), Ruler())
    var options = ChannelMedia.Options()
    options.makeSink = { $0 == 1 ? gone : there }
    options.sinkHold = .zero
    let voices = ChannelVoices(options)
    for uid in [1, 2] as [UInt32] { _ = voices.makeSink(uid, by: .mesh) }
    let later = SystemClock.now + .seconds(60)
    func write() { for _ in 0..<100 { voices.writeSilence(now: later) } }
    voices.remove(1)
    write()
    #expect(gone.samples == 0 && there.samples > 58 * 48_000)
    _ = voices.makeSink(1, by: .mesh)
    write()
    #expect(gone.samples > 58 * 48_000)
    voices.finish()
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
