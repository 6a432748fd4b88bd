import Testing

@testable import Earshot

/// Who asks for a call's events after it was made hears how it began.
struct CallBeginningsTests {
  static let id = CallID(bytes: Array(0..<16))
  static let other = CallID(bytes: Array(16..<32))

  @Test func `what happened before is kept in its order`() {
    var beginnings = CallBeginnings()
    beginnings.append(.callStateChanged(Self.id, .calling, .localInvite))
    beginnings.append(.callProgress(Self.id, .delivered))
    beginnings.append(.callProgress(Self.other, .interrupted))
    beginnings.append(.statistics(Self.id, CallStatistics(atMs: 1)))
    beginnings.append(.callProgress(Self.id, .message(stream: 8, [1])))
    beginnings.append(.callStateChanged(Self.id, .connected, .remoteAccepted))
    #expect(
      beginnings.events(of: Self.id).map { "\($0)".prefix(8) }
        == ["callStat", "callProg", "callStat"])
    #expect(beginnings.events(of: Self.other).count == 1)
  }

  @Test func `a call that goes on under another ID keeps what was before`() {
    var beginnings = CallBeginnings()
    beginnings.append(.callProgress(Self.id, .delivered))
    beginnings.append(.callProgress(Self.id, .replaced(by: Self.other)))
    #expect(beginnings.events(of: Self.other).count == 2)
    #expect(beginnings.events(of: Self.id).isEmpty)
  }

  /// Goal: at most 64 events of each of 64 calls, and none of a call that is over.
  @Test func `no call is remembered for long, or at length`() {
    var beginnings = CallBeginnings()
    for _ in 0..<1_000 { beginnings.append(.callProgress(Self.id, .remoteAudioMuted(true))) }
    #expect(beginnings.events(of: Self.id).count == 64)
    for number in UInt8(0)..<200 {
      let call = CallID(bytes: [number] + Array(repeating: 9, count: 15))
      beginnings.append(.callProgress(call, .delivered))
    }
    let last = CallID(bytes: [199] + Array(repeating: 9, count: 15))
    #expect(beginnings.events(of: last).isEmpty)
    let report = CallReport(callID: Self.id, outcome: .completed, reason: "", role: .caller)
    beginnings.append(.callEnded(Self.id, report))
    #expect(beginnings.events(of: Self.id).isEmpty)
    beginnings.append(.callProgress(last, .delivered))
    #expect(beginnings.events(of: last).count == 1)
  }

  /// Goal: commands on a call that is over, which are traced, put it in no more.
  @Test func `a command begins nothing`() {
    var beginnings = CallBeginnings()
    beginnings.append(.callProgress(Self.other, .delivered))
    for id in [Self.id, Self.other] {
      beginnings.append(.commandDone(CommandTrace("hangUp(reason:userExtension:)", id)))
    }
    #expect(beginnings.events(of: Self.id).isEmpty)
    #expect(beginnings.events(of: Self.other).count == 2)
  }
}
