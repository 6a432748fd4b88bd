import Earshot
import Testing

@testable import EarshotC

/// What C is told of an event.
struct EventTextTests {
  static let id = CallID(bytes: Array(0..<16))

  @Test func `each kind has its name`() {
    let events: [(EndpointEvent, UInt32, String)] = [
      (.registrationChanged(.connecting), 1, "connecting"),
      (.registrationChanged(.reconnecting(nil)), 1, "reconnecting"),
      (.callStateChanged(Self.id, .connected, .firstFrameReceived), 3, "connected"),
      (.callProgress(Self.id, .remoteAudioMuted(true)), 4, "remoteAudioMuted"),
      (.callProgress(Self.id, .firstFrameSent), 4, "firstFrameSent"),
      (.callProgress(Self.id, .message(stream: 9, [1, 2])), 5, "message"),
      (.statistics(Self.id, CallStatistics(atMs: 2000)), 6, "statistics"),
      (.activeSpeakerChanged(Self.id), 8, "activeSpeakerChanged"),
    ]
    for (event, kind, name) in events {
      let text = EventText(event)
      #expect(text.kind == kind && text.name == name, "\(event)")
    }
    #expect(EventText(.callProgress(Self.id, .remoteAudioMuted(true))).text == "true")
    #expect(EventText(.callProgress(Self.id, .message(stream: 9, [1, 2]))).data == [1, 2])
  }

  /// Goal: no control character of a peer's reaches a C program's terminal.
  @Test func `what others wrote is filtered`() {
    var report = CallReport(callID: Self.id, outcome: .rejected, reason: "", role: .caller)
    report.reason = "no\u{1B}[2J\n{\"type\":\"event\"}\u{202E}"
    report.peerName = "bob\u{07}"
    let text = EventText(.callEnded(Self.id, report))
    for part in [text.text, text.peerName] {
      #expect(!part.unicodeScalars.contains { $0.value < 32 || $0 == "\u{202E}" }, "\(part)")
    }
    #expect(text.name == "rejected" && text.kind == 7)
  }

  /// Goal: the same for every text of an event of which only its details are told.
  @Test func `details are filtered and short`() {
    let long = String(repeating: "x\u{1B}", count: 2_000)
    let text = EventText(.callProgress(Self.id, .audioFailed(long)))
    #expect(text.text.utf8.count <= 2_000)
    #expect(!text.text.unicodeScalars.contains { $0.value < 32 })
  }
}
