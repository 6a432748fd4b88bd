import Primitives
import Testing

@testable import Calling

/// What shows that the peer is there, and what ends an interruption.
@Suite struct LivenessTests {
  @Test func `where audio flowed only audio ends an interruption`() {
    var liveness = Liveness(now: start)
    let step1 = liveness.handle(.audio, now: start + .seconds(1))
    #expect(!step1)
    let step2 = liveness.interrupt()
    #expect(step2)
    let step3 = liveness.interrupt()
    #expect(!step3, "it is one interruption")
    let step4 = liveness.handle(.answer, now: start + .seconds(6))
    #expect(!step4)
    #expect(liveness.lastProof == start + .seconds(6))
    let step5 = liveness.handle(.audio, now: start + .seconds(7))
    #expect(step5)
  }

  @Test func `where no audio flowed any answer does`() {
    var liveness = Liveness(now: start)
    _ = liveness.handle(.audio, now: start)
    _ = liveness.handle(.answer, now: start + .seconds(6))
    let step6 = liveness.interrupt()
    #expect(step6)
    let step7 = liveness.handle(.answer, now: start + .seconds(11))
    #expect(step7)
  }

  /// As in `outage` of seed 52004152: a burst took the audio of 1.1 s, and an answer came through,
  /// before the line was cut. "Resumed" was said of an answer, and nothing was heard.
  @Test func `audio is awaited though a burst of losses came before the interruption`() {
    var liveness = Liveness(now: start)
    _ = liveness.handle(.audio, now: start)
    _ = liveness.handle(.answer, now: start + .milliseconds(3_900))
    let isInterrupted = liveness.interrupt()
    #expect(isInterrupted)
    let isResumed = liveness.handle(.answer, now: start + .seconds(9))
    #expect(!isResumed)
    let isHeard = liveness.handle(.audio, now: start + .seconds(9))
    #expect(isHeard)
  }

  @Test func `a peer that says that it sends no audio is not waited for`() {
    var liveness = Liveness(now: start)
    _ = liveness.handle(.audio, now: start + .seconds(1))
    let step8 = liveness.interrupt()
    #expect(step8)
    liveness.expectNoAudio()
    let step9 = liveness.handle(.answer, now: start + .seconds(6))
    #expect(step9)
  }

  @Test func `no more familiars than their limit`() {
    var familiars = Familiars()
    for number in 0...Familiars.limit {
      familiars.insert(PeerID(word0: UInt64(number), word1: 3, word2: 0, word3: 0))
    }
    #expect(familiars.contains(PeerID(word0: 0, word1: 3, word2: 0, word3: 0)))
    let last = PeerID(word0: UInt64(Familiars.limit), word1: 3, word2: 0, word3: 0)
    #expect(!familiars.contains(last))
    familiars.remove(PeerID(word0: 0, word1: 3, word2: 0, word3: 0))
    familiars.insert(last)
    #expect(familiars.contains(last))
  }
}
