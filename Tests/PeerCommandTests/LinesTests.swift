import Earshot
import Glibc
import PeerCommand
import Primitives
import Reactor
import Testing

struct LinesTests {
  /// The order of docs and scripts: the contract's literal `summary`.
  static let contract = """
    type ts callId outcome reason role peer durationMs timeline path audio network quality
    overheadBytesPerAudioPacket
    """

  private static func keys(_ value: JSONValue?) -> [String] {
    guard case .object(let members) = value else { return [] }
    return members.map(\.key)
  }

  private static func lines(_ body: (JSONLines) throws -> Void) throws -> [JSONValue] {
    let folder = try TemporaryFolder()
    let path = folder.file("lines")
    let file = try OutputFile(creating: path)
    try body(JSONLines(to: [file], wallNanoseconds: { 1_772_366_400_123_456_789 }))
    let bytes = try ProcessSurroundings.contents(of: path, limit: 1 << 20)
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
      .compactMap { JSONReader.value(of: $0) }
  }

  @Test func `a summary has the keys of the contract in their order`() throws {
    let lines = try Self.lines { SummaryLine.write(Sample.report(), to: $0) }
    #expect(lines.count == 2)
    #expect(
      lines[0].text == #"{"type":"schema","ts":"2026-03-01T12:00:00.123Z","schema":"earshot/1"}"#)
    let summary = lines[1]
    #expect(Self.keys(summary) == Self.contract.split { " \n".contains($0) }.map(String.init))
    #expect(Self.keys(summary["peer"]) == ["name", "id", "trust"])
    #expect(
      Self.keys(summary["timeline"]) == [
        "invitedMs", "deliveredMs", "acceptedMs", "pathReadyMs", "firstFrameSentMs",
        "firstFrameReceivedMs", "connectedMs",
      ])
    #expect(Self.keys(summary["path"]) == ["kind", "local", "remote", "changes"])
    #expect(Self.keys(summary["audio"]) == ["sent", "received"])
    #expect(Self.keys(summary["audio"]?["sent"]) == ["packets", "bytes", "bitrateBps"])
    #expect(
      Self.keys(summary["audio"]?["received"]) == [
        "packets", "lost", "lostFraction", "recoveredByFec", "recoveredByRetransmission",
        "residualLost", "residualLostFraction", "concealedFraction", "jitterMs",
        "jitterBufferDelayMs", "mouthToEarMs", "mos", "mosBasis",
      ])
    #expect(Self.keys(summary["network"]?["rttMs"]) == ["min", "p50", "p95"])
    #expect(Self.keys(summary["quality"]) == ["tx", "rx"])
    #expect(summary["callId"]?.asString == "00010203-0405-0607-0809-0a0b0c0d0e0f")
  }

  /// Goal: a peer in a call cannot fill a disk with lines, and what was left out is said.
  @Test func `what a peer does too often is counted instead of written`() throws {
    let folder = try TemporaryFolder()
    let file = try OutputFile(creating: folder.file("lines"))
    var now = Instant(nanoseconds: 1_000_000_000)
    let lines = JSONLines(to: [file], wallNanoseconds: { 0 }, now: { now })
    for _ in 0..<10_000 {
      EventLine.write(.callProgress(Sample.id, .message(stream: 8, [1])), to: lines)
      EventLine.write(.callProgress(Sample.id, .remoteAudioMuted(true)), to: lines)
    }
    EventLine.write(.callProgress(Sample.id, .resumed), to: lines)
    now = now + .seconds(1)
    for _ in 0..<100 {
      EventLine.write(.callProgress(Sample.id, .message(stream: 8, [1])), to: lines)
    }
    let text = try ProcessSurroundings.contents(of: folder.file("lines"), limit: 1 << 20)
    let names = String(decoding: text, as: UTF8.self).split(separator: "\n")
      .compactMap { JSONReader.value(of: $0)?["name"]?.asString }
    #expect(names.count { ["message", "remoteAudioMuted"].contains($0) } == 250)
    #expect(names.count { $0 == "resumed" } == 1)
    #expect(names.count { $0 == "eventsLeftOut" } == 1)
    #expect(String(decoding: text, as: UTF8.self).contains(#""count":19800"#))
  }

  @Test func `who comes and goes in a channel without end fills no disk either`() throws {
    let folder = try TemporaryFolder()
    let file = try OutputFile(creating: folder.file("lines"))
    let now = Instant(nanoseconds: 1_000_000_000)
    let lines = JSONLines(to: [file], wallNanoseconds: { 0 }, now: { now })
    let tea = try #require(ChannelName("tea"))
    let id = PeerID(word0: 1, word1: 2, word2: 3, word3: 4)
    let user = ChannelUser(uid: 9, id: id, role: .host)
    for _ in 0..<1_000 {
      for step in [
        ChannelStep.userJoined(user, elapsed: .zero), .userOffline(uid: 9, .left),
        .audienceJoined(user), .audienceLeft(uid: 9, .left),
        .memberChecked(uid: 9, isGenuine: false), .memberReturned(uid: 9),
      ] {
        EventLine.write(.channel(tea, step), to: lines)
      }
    }
    EventLine.write(.channel(tea, .contactLost), to: lines)
    let text = try ProcessSurroundings.contents(of: folder.file("lines"), limit: 1 << 20)
    // The schema, what is admitted at once, and what is nobody's doing.
    #expect(text.count { $0 == UInt8(ascii: "\n") } == 202)
    #expect(String(decoding: text, as: UTF8.self).contains("channelContactLost"))
  }

  @Test func `what was not measured is absent`() throws {
    let bare = CallReport(
      callID: Sample.id, outcome: .unreachable, reason: "Nobody is known as x.", role: .caller)
    let summary = try #require(try Self.lines { SummaryLine.write(bare, to: $0) }.last)
    #expect(
      Self.keys(summary) == [
        "type", "ts", "callId", "outcome", "reason", "role", "peer", "durationMs", "timeline",
      ])
    #expect(Self.keys(summary["peer"]) == ["trust"])
    #expect(Self.keys(summary["timeline"]) == ["invitedMs"])
  }

  @Test func `statistics are W3C objects in seconds`() throws {
    let line = try #require(
      try Self.lines { StatsLine.write(Sample.statistics(), Sample.id, to: $0) }.last)
    #expect(Self.keys(line) == ["type", "ts", "callId", "atMs", "stats"])
    let objects = try #require(line["stats"]?.elements)
    #expect(
      objects.map { $0["type"]?.asString } == [
        "inbound-rtp", "outbound-rtp", "remote-inbound-rtp", "candidate-pair", "media-playout",
      ])
    #expect(objects[0]["jitter"]?.asNumber == 0.0015)
    #expect(objects[2]["roundTripTime"]?.asNumber == 0.0205)
    #expect(objects[3]["currentRoundTripTime"]?.asNumber == 0.0205)
    #expect(objects[4]["totalSamplesDuration"]?.asNumber == 4)
    for object in objects { #expect(object["timestamp"]?.asNumber == 1_772_366_400_123.457) }
    let inbound = objects[0]
    #expect(
      inbound["packetsLost"]?.asNumber == 2 && inbound["earshotRecoveredByFec"]?.asNumber == 1)
    #expect(inbound["earshotRecoveredByRetransmission"]?.asNumber == 0)
    #expect(inbound["earshotResidualLost"]?.asNumber == 1)
  }

  @Test func `statistics have the names of webrtc-stats, and Agora's set`() throws {
    let line = try #require(
      try Self.lines { StatsLine.write(Sample.detailed(), Sample.id, to: $0) }.last)
    let objects = try #require(line["stats"]?.elements)
    #expect(
      objects.map { $0["type"]?.asString } == [
        "inbound-rtp", "outbound-rtp", "remote-inbound-rtp", "candidate-pair", "media-playout",
        "media-source",
      ])
    let inbound = objects[0]
    for name in [
      "packetsReceived", "packetsLost", "jitter", "packetsDiscarded", "bytesReceived", "nackCount",
      "lastPacketReceivedTimestamp", "fecPacketsReceived", "fecBytesReceived",
      "fecPacketsDiscarded", "retransmittedPacketsReceived", "retransmittedBytesReceived",
      "jitterBufferDelay", "jitterBufferTargetDelay", "jitterBufferMinimumDelay",
      "jitterBufferEmittedCount", "totalSamplesReceived", "concealedSamples",
      "silentConcealedSamples", "concealmentEvents", "insertedSamplesForDeceleration",
      "removedSamplesForAcceleration", "audioLevel", "totalAudioEnergy", "totalSamplesDuration",
      "totalProcessingDelay",
    ] { #expect(inbound[name]?.asNumber != nil, "\(name)") }
    #expect(inbound["lastPacketReceivedTimestamp"]?.asNumber == 1_772_366_400_123.5)
    #expect(inbound["jitterBufferDelay"]?.asNumber == 7680)
    #expect(inbound["earshotAudioQuality"]?["worstFiveSeconds"]?["beginMs"]?.asNumber == 61_500)
    #expect(inbound["earshotRemoteAudioStats"]?["mosValue"]?.asNumber == 410)
    #expect(objects[1]["targetBitrate"]?.asNumber == 56_000)
    #expect(objects[2]["packetsLost"]?.asNumber == 3 && objects[2]["jitter"]?.asNumber == 0.004)
    #expect(objects[2]["fractionLost"]?.asNumber == 0.015)
    #expect(objects[2]["earshotResidualLost"]?.asNumber == 1)
    #expect(objects[2]["totalRoundTripTime"]?.asNumber == 4.1)
    #expect(objects[2]["roundTripTimeMeasurements"]?.asNumber == 200)
    let summary = try #require(
      try Self.lines { lines in
        var report = Sample.report()
        report.statistics = Sample.detailed()
        SummaryLine.write(report, to: lines)
      }.last)
    let received = summary["audio"]?["received"]
    #expect(received?["audioQuality"]?["timesBad"]?.asNumber == 1)
    #expect(received?["remoteAudioStats"]?["delaySplit"]?["packetisation"]?.asNumber == 26.5)
  }

  @Test func `that audio became bad is told with its reason and numbers`() throws {
    let line = try #require(
      try Self.lines {
        EventLine.write(.audioQualityChanged(Sample.id, Sample.change()), to: $0)
      }.last)
    #expect(
      Self.keys(line) == [
        "type", "ts", "name", "callId", "bad", "reason", "mos", "lostFraction",
        "residualLostFraction", "concealedFraction", "jitterMs", "mouthToEarMs", "bitrateBps",
      ])
    #expect(line["name"]?.asString == "audioQualityChanged")
    #expect(line["reason"]?.asString == "loss" && line["mos"]?.asNumber == 2.31)
    #expect(
      QualityLine.text(Sample.change())
        == "It sounds bad, as packets get lost: MOS 2.3, 14.3 % of the packets lost, "
        + "8.8 % not there in time, 9.0 % of the sound made up, jitter 3.0 ms, mouth to ear 131 ms."
    )
    #expect(QualityLine.text(Sample.change(isBad: false)) == "It sounds well again (MOS 2.3).")
    #expect(
      QualityLine.worst(Sample.detailed())
        == "MOS 2.3 in the five seconds from 1:01, became bad once, interrupted 2 times, "
        + "420 ms in all, 6.0 s of sound missing (10.0 %)")
    #expect(QualityLine.worst(Sample.statistics()) == nil)
  }

  @Test func `nothing that comes is not called loss of no packets`() {
    var change = Sample.change()
    change.lostFraction = 0
    change.residualLostFraction = 0
    change.silentMs = 1240
    change.mouthToEarMs = nil
    #expect(
      QualityLine.text(change)
        == "It sounds bad, as nothing comes: MOS 2.3, no packet for 1.2 s, "
        + "9.0 % of the sound made up, jitter 3.0 ms.")
  }

  @Test func `delays in the lines are of the last two seconds`() throws {
    let objects = StatsLine.objects(Sample.detailed())
    let inbound = try #require(JSONReader.value(of: objects[0].value.text))
    #expect(inbound["earshotMouthToEar"]?["p50"]?.asNumber == 0.31)
    #expect(inbound["earshotJitterBufferDelay"]?["p95"]?.asNumber == 0.09)
  }

  @Test func `before the first packet nothing is measured of it`() throws {
    let empty = StatsLine.objects(CallStatistics(atMs: 10))
    let inbound = try #require(JSONReader.value(of: empty[0].value.text))
    for name in ["jitter", "audioLevel", "lastPacketReceivedTimestamp", "timestamp"] {
      #expect(inbound[name] == nil || inbound[name]?.asNumber == nil, "\(name)")
    }
  }

  @Test(arguments: [
    (1_772_366_400_123.457, "1772366400123.457"), (1_772_366_400_123, "1772366400123"),
    (0.000_001, "1e-06"), (999_999_999_999.5, "999999999999.5"),
  ])
  func `numbers of any size are written as they are`(value: Double, text: String) {
    #expect(JSONValue.number(value).text == text)
  }

  @Test func `events have their names`() throws {
    let events: [(EndpointEvent, String)] = [
      (.registrationChanged(.connecting), "registrationConnecting"),
      (.registrationChanged(.reconnecting(nil)), "reconnecting"),
      (
        .registrationChanged(
          .registered(seenAs: SocketAddress(v4: 1, 2, 3, 4, port: 5), name: .granted)),
        "registered"
      ),
      (.registrationChanged(.failed(.closed)), "registrationFailed"),
      (.tokenWillExpire(in: .seconds(30)), "tokenWillExpire"), (.tokenRenewed, "tokenRenewed"),
      (.tokenRefused(.closed), "tokenRefused"),
      (.callStateChanged(Sample.id, .calling, .localInvite), "calling"),
      (.callStateChanged(Sample.id, .connected, .firstFrameReceived), "connected"),
      (.callStateChanged(Sample.id, .ended, .localHangUp), "ended"),
      (.callProgress(Sample.id, .delivered), "delivered"),
      (.callProgress(Sample.id, .shortCode("abcdef")), "shortCode"),
      (.callProgress(Sample.id, .remoteAudioMuted(true)), "remoteAudioMuted"),
      (.callProgress(Sample.id, .replaced(by: Sample.id)), "replaced"),
    ]
    for (event, name) in events {
      let line = try Self.lines { EventLine.write(event, to: $0) }.last
      #expect(line?["name"]?.asString == name)
      #expect(Self.keys(line).prefix(3) == ["type", "ts", "name"])
    }
    let answered = try Self.lines {
      EventLine.write(.callStateChanged(Sample.id, .connecting, .remoteAccepted), to: $0)
    }
    #expect(answered.suffix(2).map { $0["name"]?.asString } == ["accepted", "connecting"])
    let who = CallPeer(
      id: .zero, name: "bob", trust: .pinned, nameTrust: .known, userExtension: #"{"a":1}"#)
    let line = try Self.lines { EventLine.write(.callProgress(Sample.id, .answered(who)), to: $0) }
      .last
    #expect(Self.keys(line) == ["type", "ts", "name", "callId", "peer", "extension"])
    #expect(Self.keys(line?["peer"]) == ["name", "id", "trust", "nameTrust"])
    #expect(line?["peer"]?["trust"]?.asString == "pinned")
    #expect(line?["peer"]?["nameTrust"]?.asString == "known")
    #expect(line?["peer"]?["id"]?.asString == "\(PeerID.zero)")
  }

  @Test func `a full disk ends the lines, is told once, and harms nothing else`() throws {
    let full = try OutputFile(creating: "/dev/full")
    let lines = JSONLines(to: [full])
    SummaryLine.write(Sample.report(), to: lines)
    #expect(
      lines.faults.map(\.message)
        == ["/dev/full cannot be written to the end: No space left on device."])
    #expect(lines.faults.first?.advice.contains("df -h") == true)
    #expect(lines.isEmpty)
  }

  /// Goal: who runs on for days is told when a file can take no more, and not at the end.
  /// Method: a pipe whose reader goes after the first line.
  @Test func `a fault of the lines is given at once`() throws {
    ProcessSurroundings.ignoreWriteSignals()
    var ends: [Int32] = [0, 0]
    try #require(unsafe pipe(&ends) == 0)
    let lines = JSONLines(to: [try OutputFile(creating: "/proc/self/fd/\(ends[1])")])
    var told: [CommandFailure] = []
    lines.onFault = { told.append($0) }
    lines.write("event") { $0.add("name", "first") }
    #expect(told.isEmpty && lines.faults.isEmpty)
    close(ends[0])
    lines.write("event") { $0.add("name", "second") }
    #expect(told.count == 1 && told.map(\.message) == lines.faults.map(\.message))
    lines.write("event") { $0.add("name", "third") }
    #expect(told.count == 1 && lines.isEmpty)
    close(ends[1])
  }

  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000_000_000, "2000-02-29T00:00:00.000Z"),
    (4_102_444_799_999_999_999, "2099-12-31T23:59:59.999Z"),
  ])
  func `times are RFC 3339`(nanoseconds: UInt64, text: String) {
    #expect(Timestamp.text(wallNanoseconds: nanoseconds) == text)
  }

  @Test(arguments: [(7, "0:07"), (754, "12:34"), (3723, "1:02:03"), (-1, "0:00")])
  func `durations are read as on a clock`(seconds: Int, text: String) {
    #expect(Timestamp.clock(seconds: seconds) == text)
  }
}
