import Primitives
import Testing

@testable import Earshot

/// What a member by a relay asks its rendezvous for.
@Suite struct GrantQuestionTests {
  private let now = Instant(nanoseconds: 5_000_000_000)

  @Test func `one question is open at a time, and an answer ends its repetition`() throws {
    var question = GrantQuestion()
    let opened = question.open(after: .zero, now: now)
    let first = try #require(opened)
    #expect(first.wait == .zero && question.isOpen(first.number))
    let another = question.open(after: .zero, now: now)
    #expect(another == nil)
    question.close()
    #expect(!question.isOpen(first.number))
    let reopened = question.open(after: .seconds(3), now: now)
    let second = try #require(reopened)
    #expect(second.wait == .seconds(3))
    // Whoever repeats the first one does not go on with the second.
    #expect(!question.isOpen(first.number) && question.isOpen(second.number))
  }

  /// Goal: a rendezvous that always grants the wrong role is not asked at the pace of round trips,
  /// which would be 2000 times here.
  @Test func `where each answer is the wrong one there are five questions in two seconds`() {
    var question = GrantQuestion()
    var time = now
    var asked = 0
    while time < now + .seconds(40) {
      if let (_, wait) = question.open(after: .zero, now: time) {
        time = time + wait
        asked += 1
      }
      time = time + .milliseconds(20)
      question.close()
    }
    #expect((20...100).contains(asked), "\(asked) in 40 s")
  }

  /// Goal: members whose rendezvous was restarted have new seats at about the same time.
  @Test func `a question is repeated soon at first, and later as any other`() {
    var question = GrantQuestion()
    for _ in 0..<2 {
      _ = question.open(after: .zero, now: now)
      let paces = (0..<6).map { _ in question.popPace() }
      #expect(paces == Array(repeating: .milliseconds(500), count: 4) + [.seconds(3), .seconds(3)])
      question.close()
    }
  }

  /// Goal: sound within two seconds by another relay; the rendezvous asks the lost one for 600 ms.
  @Test func `a lost relay is said at once and when it was asked, and its grant is no answer`()
    throws
  {
    var question = GrantQuestion()
    let (lost, other) = (PeerID(bytes(1)), PeerID(bytes(2)))
    let opened = question.open(after: .zero, lost, now: now)
    let first = try #require(opened)
    #expect(first.wait == .zero)
    var said: [PeerID?] = []
    for time in 0..<8 {
      said.append(question.lostRelay)
      #expect(question.popPace() == .milliseconds(time == 0 ? 650 : 200))
      if let lost { question.close(by: lost) }
      #expect(question.isOpen(first.number))
    }
    // An old rendezvous understands each fifth.
    #expect(said == [lost, lost, lost, lost, nil, lost, lost, lost])
    if let other { question.close(by: other) }
    #expect(!question.isOpen(first.number) && question.lostRelay == nil)
  }

  @Test func `a question that was open says from then on what is lost, and stays when it is back`()
    throws
  {
    var question = GrantQuestion()
    let opened = question.open(after: .zero, now: now)
    let first = try #require(opened)
    #expect(question.lostRelay == nil)
    let lost = PeerID(bytes(1))
    let second = question.open(after: .zero, lost, now: now)
    #expect(second == nil && question.lostRelay == lost)
    question.handleSeat()
    // The grant that was wanted before has not come.
    #expect(question.isOpen(first.number) && question.lostRelay == nil)
    question.close()
    let third = question.open(after: .zero, lost, now: now + .seconds(9))
    question.handleSeat()
    #expect(third.map { question.isOpen($0.number) } == false)
  }

  private func bytes(_ byte: UInt8) -> [UInt8] { Array(repeating: byte, count: 32) }
}
