import Calling
import Connectivity
import Primitives
import Testing
import Wire

@testable import Peer

/// The parts of a call, each alone.
@Suite struct CallPartsTests {
  private static let start = Instant.zero + .seconds(5)

  @Test func `a challenge is answered while the path is sought, not before and not after`() {
    var random = RandomSource(seed: 1)
    let source = SocketAddress(v4: 192, 0, 2, 1, port: 9)
    var path = CallPath(.caller, program: .every, random: &random)
    var answered: [Bool] = []
    for phase in [CallPath.Phase.awaited, .finding] {
      path.phase = phase
      answered.append(Self.isAnswered(&path, from: source))
    }
    path.close()
    answered.append(Self.isAnswered(&path, from: source))
    #expect(answered == [false, true, false])
    let deadline = path.nextDeadline(on: nil)
    #expect(deadline == nil)
  }

  private static func isAnswered(_ path: inout CallPath, from source: SocketAddress) -> Bool {
    let packet = [UInt8](repeating: 0, count: 40)
    var findings = CallLink.Findings()
    path.handleChallenge(
      PathChallengeFrame(token: 7), from: source, to: .unspecified, in: packet.span, &findings,
      now: start)
    return path.agent.pollResponse() != nil
  }

  @Test func `the keys of a session go a second after its end, once`() {
    var session = CallSession()
    #expect(session.erasureDeadline == nil)
    session.close(now: Self.start)
    session.close(now: Self.start + .milliseconds(500))
    #expect(session.erasureDeadline == Self.start + .seconds(1))
    var erasures: [Bool] = []
    for milliseconds in [999, 1000, 1001] {
      erasures.append(session.pollErasure(now: Self.start + .milliseconds(milliseconds)))
    }
    #expect(erasures == [false, true, false])
    #expect(session.erasureDeadline == nil)
  }

  @Test func `a message of the application finishes once`() {
    var session = CallSession()
    session.applicationTags = [3, 4]
    let wasThere = session.removeApplicationTag(4)
    let isThere = session.removeApplicationTag(4)
    #expect(wasThere && !isThere)
    #expect(session.applicationTags == [3])
  }

  @Test func `video is common when both sides have said that they can`() {
    var terms = CallTerms()
    terms.own = terms.own.adding(.vp8)
    #expect(!terms.hasCommonVideo)
    terms.remote = terms.own
    #expect(terms.hasCommonVideo)
  }

  @Test func `nothing of a new call's media was told or heard`() {
    let progress = MediaProgress()
    #expect(progress.flow == .awaited && progress.inbox == .empty)
    #expect(progress.sent == .awaited && progress.heard == .awaited)
  }

  @Test func `in a call only what the peer must answer, or has, postpones a PING`() {
    var pings = PingSchedule(pingAfter: 1_000_000_000, now: Self.start)
    let due = Self.start + .seconds(1)
    pings.recordSealed(elicits: false, now: due)
    #expect(pings.nextQuestion(isInCall: true) == due)
    #expect(pings.nextQuestion(isInCall: false) == due + .seconds(1))
    pings.recordProof(now: due)
    #expect(pings.nextQuestion(isInCall: true) == due + .seconds(1))
    pings.handlePing(PingFrame(token: 9), from: SocketAddress(v4: 192, 0, 2, 1, port: 9))
    #expect(pings.hasFrames)
    #expect(pings.takePong()?.token == 9)
    #expect(!pings.hasFrames)
  }
}
