import Primitives
import Testing
import Wire

@testable import Peer

/// What waits for a registration, and what a result is about.
@Suite struct RendezvousMailTests {
  private let start = Instant.zero + .seconds(1)

  private func message(_ request: UInt32) -> RendezvousMessage {
    .lookUp(LookUp(request: request, target: .id(PeerID(word0: 7, word1: 7, word2: 7, word3: 7))))
  }

  @Test func `the oldest gives way, and what is too old is not said`() {
    var mail = RendezvousMail()
    for request in UInt32(1)...5 {
      mail.send(
        message(request), on: nil, life: .seconds(Int64(request)), limit: 3, now: start)
    }
    #expect(mail.takeWaiting(now: start + .seconds(3)) == [message(4), message(5)])
    #expect(mail.takeWaiting(now: start).isEmpty)
  }

  @Test func `a result is about one body, once, and only the last 64 are known`() {
    var mail = RendezvousMail()
    var random = RandomSource(seed: 1)
    let ids = (0..<65).map { _ in ForwardID(random: &random) }
    let call = CallID(from: &random)
    for id in ids { mail.recordFlight(id, about: (call, .invite)) }
    #expect(mail.takeFlight(ids[0]) == nil)
    #expect(mail.takeFlight(ids[64])?.callID == call)
    #expect(mail.takeFlight(ids[64]) == nil)
  }

  @Test func `a body counts once within five minutes`() {
    var mail = RendezvousMail()
    var random = RandomSource(seed: 2)
    let id = ForwardID(random: &random)
    let seen = [0, 1, 299, 301].map { mail.isNew(id, now: start + .seconds($0)) }
    #expect(seen == [true, false, false, true])
  }
}
