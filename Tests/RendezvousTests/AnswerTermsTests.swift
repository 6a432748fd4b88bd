import Primitives
import Testing
import Wire

@testable import Rendezvous

@Suite struct AnswerTermsTests {
  @Test func `a challenge needs a packet as long as its own`() {
    #expect(AnswerTerms.challenge >= SealedPacket.minimumByteCount)
    #expect(AnswerTerms.tellingChallenge > AnswerTerms.challenge)
    #expect(AnswerTerms.close > SealedPacket.minimumByteCount)
    #expect(AnswerTerms.life == .seconds(8))
  }
}
