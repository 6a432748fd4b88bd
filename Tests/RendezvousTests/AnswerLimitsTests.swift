import Primitives
import Testing
import Wire

@testable import Rendezvous

@Suite struct AnswerLimitsTests {
  @Test func `a challenge needs a packet as long as its own`() {
    #expect(AnswerLimits.challengeByteCount >= SealedPacket.minimumByteCount)
    #expect(AnswerLimits.tellingChallengeByteCount > AnswerLimits.challengeByteCount)
    #expect(AnswerLimits.closeByteCount > SealedPacket.minimumByteCount)
    #expect(AnswerLimits.life == .seconds(8))
  }
}
