import Primitives
import Testing
import Wire

@testable import Channels

/// One channel at one member, without a directory.
@Suite struct ChannelMembershipTests {
  @Test func `it asks to join again and again, and leaving is the last word`() throws {
    let start = Instant(nanoseconds: 1_000_000_000)
    let limits = ChannelLimits()
    var member = ChannelMembership(
      try room("tea"), stay: 5, role: .host, uid: 7, token: [], limits: limits, now: start)
    member.handleConnection(now: start)
    for round in 0..<3 {
      let due = try #require(member.requestDue)
      let polled = member.pollRequest(now: max(start, due))
      let request = try #require(polled, "\(round)")
      guard case .join(let join) = request.content else {
        return #expect(Bool(false), "\(request)")
      }
      #expect(join.role == .host && join.uid == 7 && request.stay == 5)
    }
    #expect(member.isActive && member.isPublishing)
    member.leave(now: start + .seconds(9))
    #expect(!member.isActive && !member.isPublishing && member.nextDeadline == nil)
    #expect(member.farewell.content == .leave && member.farewell.stay == 5)
    var states: [ChannelEvent] = []
    while let event = member.pollEvent() { states.append(event) }
    #expect(states.first == .stateChanged(.joining, .joining))
    #expect(states.contains(.stateChanged(.left, .left)))
  }
}
