import Primitives
import Testing
import Video

@Suite struct KeyFrameTests {
  private func moment(_ milliseconds: Int) -> Instant { VideoLadderTests.moment(milliseconds) }

  @Test func `asks at once, then less and less often, until there is one`() {
    var requester = KeyFrameRequester()
    var asked: [Int] = []
    requester.want(now: moment(0))
    for time in 0..<10_000 {
      if requester.poll(roundTrip: .milliseconds(100), now: moment(time)) { asked.append(time) }
    }
    #expect(asked == [0, 200, 600, 1400, 3000, 6000, 9000])
    requester.satisfy(now: moment(10_000))
    #expect(requester.nextDeadline == nil)
    #expect(requester.poll(roundTrip: .milliseconds(100), now: moment(12_000)) == false)
    requester.want(now: moment(13_000))
    #expect(requester.nextDeadline == moment(13_000))
  }

  @Test func `waits longer than a long round trip`() {
    var requester = KeyFrameRequester()
    requester.want(now: moment(0))
    var asked: [Int] = []
    for time in 0..<3000 {
      if requester.poll(roundTrip: .milliseconds(600), now: moment(time)) { asked.append(time) }
    }
    #expect(asked == [0, 900, 2700])
  }

  @Test func `makes none while one is on its way`() {
    var gate = KeyFrameGate()
    gate.handleMade(number: 65_535, now: moment(0))
    gate.handleRequest(newest: 65_530, now: moment(500))
    gate.handleRequest(newest: nil, now: moment(500))
    #expect(gate.poll(now: moment(500)) == false)
    gate.handleRequest(newest: 2, now: moment(600))
    #expect(gate.poll(now: moment(600)) == true, "the receiver has seen newer ones")
  }

  @Test func `makes them less and less often, and often again after a calm`() {
    var gate = KeyFrameGate()
    var made: [Int] = []
    var number: UInt16 = 0
    for time in 0..<12_000 {
      gate.handleRequest(newest: number &+ 1, now: moment(time))
      if gate.poll(now: moment(time)) {
        made.append(time)
        gate.handleMade(number: number, now: moment(time))
      }
    }
    #expect(made == [0, 300, 900, 2100, 4500, 9300])
    number = 9
    gate.handleRequest(newest: 12, now: moment(30_000))
    #expect(gate.poll(now: moment(30_000)) == true)
    gate.handleMade(number: 13, now: moment(30_000))
    gate.handleRequest(newest: 15, now: moment(30_700))
    #expect(gate.poll(now: moment(30_700)) == true)
  }
}
