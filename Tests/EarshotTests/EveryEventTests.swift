import Calling
import Foundation
import Peer
import Primitives
import Synchronization
import Testing
import Video

@testable import Earshot

/// Walks the table of docs/from-agora.md: each callback that has a place here is seen in a call, by
/// its name; each method that is named is there.
///
/// Three of this process call one another over the loopback address. What takes an outage, a
/// narrow line or a relay is handed to the endpoint as the network side tells it; that it tells so
/// is shown in simulated time (ScenarioTests). The grade of the line is one of a `LineWatch`.
@Suite(.serialized) struct EveryEventTests {
  /// Of the engine's callbacks those that a headless program between two peers can have: 41 of the
  /// core, 21 more.
  static let wanted =
    Array(1...19) + Array(21...26) + Array(30...46) + Array(52...54) + Array(57...66)
    + Array(70...76)
  /// Belong to channels of several.
  static let channels = [9, 10, 75, 76]
  /// Cannot be seen in one process, each for the reason that its row gives.
  static let elsewhere = [14, 72]

  @Test func `the table has a row for each callback, and a reason for each that is missing`()
    throws
  {
    let rows = try Self.rows()
    #expect(Self.wanted.count == 62 && rows.keys.sorted() == Array(1...89))
    for number in Self.wanted where !Self.channels.contains(number) {
      let text = try #require(rows[number])
      #expect(!text.contains("not yet") && !text.contains("N/A"), "\(number): \(text)")
    }
    for number in Self.channels {
      #expect(rows[number]?.contains("channels") == true, "\(number)")
    }
    #expect(Self.elsewhere.count <= 6)
    for number in Self.elsewhere {
      #expect(rows[number]?.contains("; seen in ") == true, "\(number)")
    }
    for number in Self.wanted {
      let count = Self.witnesses.count { $0.number == number }
      let isElsewhere = (Self.channels + Self.elsewhere).contains(number)
      #expect(count == (isElsewhere ? 0 : 1), "\(number) has \(count) witnesses")
    }
  }

  @Test func `each method that the tables name is there`() throws {
    let text = try Self.page()
    let sources = try Self.sources()
    let methods = try #require(Self.section("Methods of the engine", of: text))
    let names = methods.matches(of: #/`(Endpoint|Call|Configuration|CallOptions)\.([a-zA-Z]+)/#)
      .map { String($0.output.2) }
    #expect(names.count >= 30, "\(names)")
    for name in names {
      let isThere =
        sources.contains("func \(name)(") || sources.contains("var \(name)")
        || sources.contains("let \(name)")
      #expect(isThere, "\(name)")
    }
    for method in Self.methods { #expect(methods.contains(method), "\(method) has no row") }
    #expect(Self.methods.count == 43)
  }

  /// What CallAPI has and Earshot had not, by the audit that counted it.
  @Test func `each part of CallAPI that was missing has a row`() throws {
    let text = try Self.page()
    let rows = try ["Methods of CallAPI", "Events of CallAPI"].map {
      try #require(Self.section($0, of: text))
    }.joined()
    let parts = [
      "`renewToken", "`onCallConnected(", "`canJoinRtcOnCalling`", "`tokenPrivilegeWillExpire`",
      "`callDebugInfo`", "reasons 30 to 33", "107 `remoteJoin`, 111 `localJoin`",
      "119 to 130 first local frames", "`userExtension`", "`autoJoinRTC`", "`rtmClient`",
      "`roomId`, `rtcToken`", "key `recvFirstFrame`", "keys `localUserJoinChannel`",
      "keys `localFirstFrameDidCapture`",
    ]
    #expect(parts.count == 15)
    for part in parts { #expect(rows.contains("| \(part)"), "\(part)") }
    let absent = rows.split(separator: "\n").count { $0.contains("| N/A: ") }
    #expect(absent <= 6, "\(absent) cannot be had here")
  }

  @Test(.timeLimit(.minutes(2)))
  func `each callback of the table is seen by its name`() async throws {
    let evidence = try await Rehearsal.run()
    for witness in Self.witnesses {
      #expect(witness.isSeen(evidence), "\(witness.number): \(witness.name)")
    }
    print(evidence.steps.count, "events at Alice,", evidence.theirs.count, "at Bob")
  }

  // MARK: - The page

  private static func page() throws -> String {
    try String(contentsOf: root.appending(path: "docs/from-agora.md"), encoding: .utf8)
  }

  private static var root: URL {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
  }

  private static func sources() throws -> String {
    let folder = root.appending(path: "Sources/Earshot")
    let files = try #require(
      FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
    var text = ""
    for case let file as URL in files where file.pathExtension == "swift" {
      text += try String(contentsOf: file, encoding: .utf8)
    }
    return text
  }

  private static func section(_ title: String, of text: String) -> String? {
    text.components(separatedBy: "\n## ").first { $0.hasPrefix(title) }
  }

  /// The third column of the callbacks, by number.
  private static func rows() throws -> [Int: String] {
    var rows: [Int: String] = [:]
    for line in try page().split(separator: "\n") {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 3, let number = Int(cells[0]) else { continue }
      rows[number] = cells[2]
    }
    return rows
  }

  private static let methods = [
    "joinChannel", "leaveChannel", "getCallId", "enableVideo", "enableAudio",
    "muteLocalAudioStream", "muteLocalVideoStream", "muteRemoteAudioStream",
    "muteRemoteVideoStream", "enableEncryption", "startLastmileProbeTest",
    "pushExternalAudioFrame", "startAudioRecording", "enableLocalAudio", "enableLocalVideo",
    "enableLastmileTest", "setLocalPublishFallbackOption", "setRemoteSubscribeFallbackOption",
    "setVideoEncoderConfiguration", "setAudioProfile", "createDataStream", "sendStreamMessage",
    "enableAudioVolumeIndication", "registerLocalUserAccount", "setChannelProfile",
    "setClientRole", "createRtcChannel", "renewToken", "muteAllRemoteAudioStreams",
    "enableDualStreamMode", "setRemoteVideoStreamType", "setRemoteUserPriority",
    "startAudioMixing", "playEffect", "adjustPlaybackSignalVolume",
    "adjustRecordingSignalVolume", "enableLocalVoicePitchCallback", "startChannelMediaRelay",
    "takeSnapshot", "setCloudProxy", "getConnectionState", "startEchoTest",
    "getAudioFileInfo",
  ]
}
