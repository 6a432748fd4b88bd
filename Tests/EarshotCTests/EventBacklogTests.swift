import Earshot
import Testing

@testable import EarshotC

/// What a handler that does not return costs.
struct EventBacklogTests {
  static let id = CallID(bytes: Array(0..<16))

  /// Goal: a megabyte of messages and 2048 events at the most, and no end of a call is lost.
  @Test func `a flood is left out and counted, an end is told`() {
    var backlog = EventBacklog()
    let message = EventText(
      .callProgress(Self.id, .message(stream: 8, Array(repeating: 1, count: 65_536))))
    let state = EventText(.callProgress(Self.id, .remoteAudioMuted(true)))
    for _ in 0..<1_000 { backlog.append(message, of: 1) }
    for _ in 0..<10_000 { backlog.append(state, of: 1) }
    let report = CallReport(callID: Self.id, outcome: .completed, reason: "", role: .caller)
    backlog.append(EventText(.callEnded(Self.id, report)), of: 1)
    let told = backlog.takeAll()
    #expect(told.map(\.text.data.count).reduce(0, +) == 1 << 20)
    #expect(told.count == 2048 + 2)
    #expect(told[2048].text.kind == 7)
    #expect(told[2049].text.name == "eventsLeftOut" && told[2049].text.text == "8952")
    #expect(backlog.takeAll().isEmpty)
  }
}
