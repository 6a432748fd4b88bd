import Primitives
import Testing
import Wire

@testable import Calling

@Suite struct EndedCallsTests {
  private func drain(_ queue: inout ActionQueue) -> [CallAction] {
    var actions: [CallAction] = []
    while let action = queue.pop() { actions.append(action) }
    return actions
  }

  private func ended(_ number: UInt8, isStranger: Bool = false) -> EndedCall {
    EndedCall(
      id(number), peer: bob, lastWord: .reject(.busy, .empty), answer: nil,
      isStranger: isStranger, now: start)
  }

  @Test func `the oldest makes room, and its keys are erased`() {
    var (calls, actions) = (EndedCalls(), ActionQueue())
    for number in 0..<CallLimits.endedCalls { calls.append(ended(UInt8(number)), &actions) }
    #expect(drain(&actions).isEmpty && calls.count == CallLimits.endedCalls)
    calls.append(ended(200), &actions)
    #expect(drain(&actions) == [.erase(id(0))])
    #expect(calls.count == CallLimits.endedCalls && calls[id(0)] == nil && calls[id(200)] != nil)
  }

  @Test func `no more strangers are told at once than the limit says`() {
    var (calls, actions) = (EndedCalls(), ActionQueue())
    for number in 0...CallLimits.strangersToldAtOnce {
      calls.append(ended(UInt8(number), isStranger: true), &actions)
    }
    #expect(drain(&actions) == [.close(id(0))])
  }

  @Test func `a receipt of the last word closes the session, and time erases the keys`() throws {
    var (calls, actions) = (EndedCalls(), ActionQueue())
    calls.append(ended(1), &actions)
    #expect(calls.isDelivering)
    let isEffective = calls.handle(.receipt(of: .reject), id(1), from: .every, &actions)
    #expect(isEffective && drain(&actions) == [.close(id(1))] && !calls.isDelivering)
    let isUnknown = calls.handle(.receipt(of: .reject), id(2), from: .every, &actions)
    #expect(!isUnknown)
    let end = try #require(calls.nextDeadline)
    calls.handleTimeout(now: end, &actions)
    #expect(drain(&actions) == [.erase(id(1))] && calls.count == 0)
  }
}

@Suite struct InviteFilterTests {
  private let caller = PeerID(word0: 9, word1: 0, word2: 0, word3: 0)

  private func invitation(_ created: UInt64) -> Invitation {
    Invitation(callID: id(1), from: caller, createdMilliseconds: created, ringTimeout: nil)
  }

  @Test func `an ID that was seen starts nothing, sealed or open`() {
    var filter = InviteFilter(now: start)
    let now = start + .seconds(100)
    let first = filter.refusal(of: id(1), from: caller, isFamiliar: true, now: now)
    #expect(first == nil)
    filter.insert(id(1), now: now)
    let again = filter.refusal(of: id(1), from: caller, isFamiliar: true, now: now)
    #expect(again == .seenBefore)
    #expect(filter.refusal(of: invitation(5_000), rendezvousNow: 5_000, now: now) == .seenBefore)
  }

  @Test func `the age counts both ways, and nothing from before the start rings`() {
    let filter = InviteFilter(now: start)
    let (now, clock) = (start + .seconds(10), UInt64(1_000_000))
    let limit = CallLimits.ageMilliseconds
    func refusal(_ created: UInt64) -> IgnoredSignal? {
      filter.refusal(of: invitation(created), rendezvousNow: clock, now: now)
    }
    #expect(refusal(clock) == nil && refusal(clock - 11_000) == nil)
    #expect(refusal(clock - 11_001) == .beforeStart)
    #expect(refusal(clock - limit - 1) == .tooOld)
    #expect(refusal(clock + limit) == nil && refusal(clock + limit + 1) == .tooFarAhead)
  }
}
