import Primitives
import Testing
import Wire

@testable import Calling

@Suite struct CalledProgramsTests {
  private let one = PresenceID(rawValue: 1)
  private let two = PresenceID(rawValue: 2)
  private let busy = CallEnding(.busy, .remoteBusy)

  @Test func `counts each program once, whatever it says again`() {
    var programs = CalledPrograms()
    programs.noteForwarded(to: 2)
    let first = programs.noteRinging(one)
    let again = programs.noteRinging(one)
    #expect(first && !again)
    #expect(!programs.haveAllAnswered)
    programs.noteRefusal(two, busy)
    programs.noteRefusal(two, busy)
    #expect(programs.haveAllAnswered)
    #expect(programs.ending == nil)
    programs.noteRefusal(one, busy)
    #expect(programs.ending == busy)
    #expect(programs.ringing.isEmpty)
  }

  @Test func `the most that the rendezvous ever passed it on to is what counts`() {
    var programs = CalledPrograms()
    programs.noteForwarded(to: 3)
    programs.noteForwarded(to: 1)
    programs.noteRefusal(one, busy)
    #expect(programs.ending == nil && programs.verdict == busy)
  }

  @Test func `remembers sixteen programs and no more`() {
    var programs = CalledPrograms()
    for number in UInt64(1)...40 { _ = programs.noteRinging(PresenceID(rawValue: number)) }
    #expect(programs.ringing.count == 16)
  }
}

@Suite struct ElsewhereNoticesTests {
  @Test func `tells a program again until it has receipted that, or for eight seconds`() {
    var notices = ElsewhereNotices()
    var actions = ActionQueue()
    let (one, two) = (PresenceID(rawValue: 1), PresenceID(rawValue: 2))
    for presence in [one, two, one, two] {
      notices.sendCancel(
        id(5), to: bob, presence, .answeredElsewhere, now: start, &actions)
    }
    #expect(drain(&actions).count == 4, "each at once, as often as it shows that it has not heard")
    notices.settle(id(5), one)
    var times: [Int64] = []
    while let deadline = notices.nextDeadline {
      notices.handleTimeout(now: deadline, &actions)
      for action in drain(&actions) {
        #expect(action == .sendTo(two, .cancel(.answeredElsewhere), id(5), of: bob))
        times.append((deadline - start).milliseconds)
      }
    }
    #expect(times == [500, 1500, 3500, 7500])
    #expect(notices.isEmpty)
  }

  @Test func `keeps at most eight for each call that may be open`() {
    var notices = ElsewhereNotices()
    var actions = ActionQueue()
    for number in UInt64(1)...400 {
      notices.sendCancel(
        id(5), to: bob, PresenceID(rawValue: number), .answeredElsewhere, now: start, &actions)
    }
    #expect(drain(&actions).count == 400)
    notices.handleTimeout(now: start + .milliseconds(500), &actions)
    #expect(drain(&actions).count == 8 * CallLimits.mostCalls)
  }

  private func drain(_ queue: inout ActionQueue) -> [CallAction] {
    var actions: [CallAction] = []
    while let action = queue.pop() { actions.append(action) }
    return actions
  }
}
