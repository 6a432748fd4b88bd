import Earshot
import PeerCommand
import Plotting
import Primitives
import Reactor
import Testing

/// Video and congestion in every kind of output.
struct VideoLinesTests {
  static let fallbacks = [
    FallbackChange(
      .publish, isAudioOnly: true, reason: .rate, estimateBps: 60_000, neededBps: 120_000,
      loss: 0.01, atMs: 1000),
    FallbackChange(
      .publish, isAudioOnly: false, reason: .recovered, estimateBps: 2e6, neededBps: 180_000,
      loss: 0, atMs: 3000),
  ]

  static func statistics(atMs: Int = 4000) -> CallStatistics {
    var numbers = Sample.statistics(atMs: atMs)
    var sent = CallStatistics.VideoOutbound()
    sent.framesCaptured = atMs * 30 / 1000
    sent.framesEncoded = atMs * 30 / 1000
    sent.framesSent = atMs * 30 / 1000
    sent.keyFramesEncoded = 2
    sent.packetsSent = 500
    sent.bytesSent = atMs * 100
    sent.bitrateBps = 800_000
    sent.frameWidth = 1280
    sent.frameHeight = 720
    sent.framesPerSecond = 30
    sent.qpSum = 1200
    sent.qualityLimitationReason = "bandwidth"
    sent.qualityLimitationDurations = ["none": 3, "bandwidth": 1, "cpu": 0]
    numbers.videoSent = sent
    numbers.videoReceived = received(atMs: atMs)
    numbers.lastVideoPacketReceivedTimestamp = 1_772_366_400_321.25
    var line = CallStatistics.Congestion(
      estimateBps: 2_000_000.4, acknowledgedBps: 900_000, queueDelayMs: 12.5, state: "holding",
      reason: "queue")
    line.estimateP50Bps = 1_900_000
    line.queueDelays = CallStatistics.Milliseconds(p50: 3, p95: 21)
    numbers.congestion = line
    numbers.fallbacks = fallbacks
    return numbers
  }

  private static func received(atMs: Int) -> CallStatistics.VideoInbound {
    var received = CallStatistics.VideoInbound()
    received.packetsReceived = 297
    received.packetsLost = 3
    received.recoveredByFec = 1
    received.recoveredByRetransmission = 1
    received.framesReceived = 110
    received.framesDecoded = 100
    received.frameWidth = 640
    received.frameHeight = 360
    received.framesPerSecond = 25
    received.bytesReceived = atMs * 90
    received.freezeCount = 1
    received.totalFreezesDuration = 0.75
    received.activeTime = 4
    received.lipOffsetMs = CallStatistics.Milliseconds(min: -5, p50: 4, p95: 22)
    return received
  }

  private static func keys(_ value: JSONValue?) -> [String] {
    guard case .object(let members) = value else { return [] }
    return members.map(\.key)
  }

  private static func lines(_ body: (JSONLines) throws -> Void) throws -> [JSONValue] {
    let folder = try TemporaryFolder()
    let path = folder.file("lines")
    try body(JSONLines(to: [try OutputFile(creating: path)], wallNanoseconds: { 0 }))
    return String(decoding: try folder.bytes(of: "lines"), as: UTF8.self).split(separator: "\n")
      .compactMap { JSONReader.value(of: $0) }
  }

  @Test func `pictures that did not come to be have a row of their own`() {
    let none = Sample.statistics()
    let rows = VideoMessages.absent(none, wasToSend: true, unsaved: "seen.ivf")
    #expect(rows.map(\.title) == ["video out", "video in"])
    #expect(rows[1].text.contains("seen.ivf"))
    #expect(VideoMessages.absent(none, wasToSend: false, unsaved: nil).isEmpty)
    #expect(VideoMessages.absent(Self.statistics(), wasToSend: true, unsaved: nil).isEmpty)
    #expect(VideoMessages.absent(nil, wasToSend: true, unsaved: "seen.ivf").isEmpty)
  }

  @Test func `statistics have W3C's names for video, and the line's own object`() throws {
    let line = try #require(
      try Self.lines { StatsLine.write(Self.statistics(), Sample.id, to: $0) }.last)
    let objects = try #require(line["stats"]?.elements)
    let inbound = try #require(objects.first { $0["id"]?.asString == "video-in" })
    #expect(inbound["type"]?.asString == "inbound-rtp" && inbound["kind"]?.asString == "video")
    #expect(inbound["framesDecoded"]?.asNumber == 100 && inbound["freezeCount"]?.asNumber == 1)
    #expect(inbound["lastPacketReceivedTimestamp"]?.asNumber == 1_772_366_400_321.25)
    #expect(inbound["totalFreezesDuration"]?.asNumber == 0.75)
    #expect(inbound["earshotLipOffset"]?["p95"]?.asNumber == 0.022)
    let outbound = try #require(objects.first { $0["id"]?.asString == "video-out" })
    for (key, value) in [
      ("framesEncoded", 120), ("keyFramesEncoded", 2), ("frameWidth", 1280), ("frameHeight", 720),
      ("framesPerSecond", 30), ("qpSum", 1200), ("hugeFramesSent", 0), ("nackCount", 0),
      ("pliCount", 0), ("totalEncodeTime", 0),
    ] { #expect(outbound[key]?.asNumber == Double(value), "\(key)") }
    #expect(outbound["qualityLimitationReason"]?.asString == "bandwidth")
    #expect(outbound["qualityLimitationDurations"]?["bandwidth"]?.asNumber == 1)
    let pair = try #require(objects.first { $0["type"]?.asString == "candidate-pair" })
    #expect(pair["availableOutgoingBitrate"]?.asNumber == 2_000_000.4)
    let congestion = try #require(objects.first { $0["id"]?.asString == "congestion" })
    #expect(congestion["queueDelay"]?.asNumber == 0.0125)
    #expect(congestion["state"]?.asString == "holding")
    #expect(congestion["publishAudioOnly"]?.asBoolean == false)
  }

  @Test func `a summary has video and network as the contract has them`() throws {
    var report = Sample.report()
    report.statistics = Self.statistics()
    let summary = try #require(try Self.lines { SummaryLine.write(report, to: $0) }.last)
    #expect(
      Self.keys(summary).suffix(5) == [
        "audio", "video", "network", "quality", "overheadBytesPerAudioPacket",
      ])
    let sent = summary["video"]?["sent"]
    #expect(sent?["framesSent"]?.asNumber == 120 && sent?["fps"]?.asNumber == 30)
    let received = summary["video"]?["received"]
    #expect(received?["framesDecoded"]?.asNumber == 100 && received?["width"]?.asNumber == 640)
    #expect(received?["lost"]?.asNumber == 3 && received?["lostFraction"]?.asNumber == 0.01)
    #expect(received?["recoveredByFec"]?.asNumber == 1 && received?["residualLost"]?.asNumber == 1)
    #expect(received?["recoveredByRetransmission"]?.asNumber == 1)
    #expect(received?["totalFreezesMs"]?.asNumber == 750 && received?["fps"]?.asNumber == 25)
    let network = summary["network"]
    #expect(Self.keys(network) == ["rttMs", "uplinkEstimateBps", "queueDelayMs", "fallbacks"])
    #expect(Self.keys(network?["uplinkEstimateBps"]) == ["last", "p50"])
    #expect(Self.keys(network?["queueDelayMs"]) == ["p50", "p95"])
    let fallback = try #require(network?["fallbacks"]?.elements?.first)
    #expect(Self.keys(fallback).prefix(3) == ["atMs", "on", "reason"])
    #expect(fallback["on"]?.asBoolean == true && fallback["reason"]?.asString == "rate")
  }

  @Test func `every event of video has a line with its details`() throws {
    let steps: [(CallProgress, String)] = [
      (.remoteVideoMuted(true), #""name":"remoteVideoMuted","callId":"ID","muted":true}"#),
      (
        .streamChanged(
          StreamChange(
            .remoteVideo, from: .decoding, to: .frozen, .audioFallback, elapsed: .seconds(2))),
        #""name":"streamChanged","callId":"ID","stream":"remoteVideo","oldState":"decoding","#
          + #""state":"frozen","reason":"audioFallback","elapsedMs":2000}"#
      ),
      (
        .firstVideoFrameDecoded(width: 640, height: 360),
        #""name":"firstVideoFrameDecoded","callId":"ID","width":640,"height":360}"#
      ),
      (
        .remoteVideoSizeChanged(width: 16, height: 18),
        #""name":"remoteVideoSizeChanged","callId":"ID","width":16,"height":18}"#
      ),
      (.firstVideoFrameSent, #""name":"firstVideoFrameSent","callId":"ID"}"#),
      (
        .mediaStarted(wallNanoseconds: 5_999_999),
        #""name":"mediaStarted","callId":"ID","wallMs":5}"#
      ),
      (.videoSourceEnded, #""name":"videoSourceEnded","callId":"ID"}"#),
      (.videoFailed("x"), #""name":"videoFailed","callId":"ID","message":"x"}"#),
      (.remoteWantsVideo(false), #""name":"remoteWantsVideo","callId":"ID","wanted":false}"#),
      (
        .fallback(Self.fallbacks[0]),
        #""name":"localPublishFallbackToAudioOnly","callId":"ID","on":true,"reason":"rate","atMs":1000,"estimateBps":60000,"neededBps":120000,"loss":0.01}"#
      ),
    ]
    let lines = try Self.lines { lines in
      for (step, _) in steps { EventLine.write(.callProgress(Sample.id, step), to: lines) }
    }
    for (line, (_, text)) in zip(lines.dropFirst(), steps) {
      #expect(
        line.text.hasSuffix(text.replacing("ID", with: Sample.id.description)), "\(line.text)")
    }
  }

  @Test func `the region, the table and the words say what became of the picture`() {
    let numbers = Self.statistics()
    let line = VideoMessages.parts(numbers).joined(separator: "  ")
    #expect(line.hasPrefix("video out 1280x720 30/s  in 640x360 25/s  freezes 1"))
    #expect(line.contains("line 2000 kbit/s  queue 12.5 ms"))
    #expect(VideoMessages.parts(Sample.statistics()).isEmpty)
    var report = Sample.report()
    report.statistics = numbers
    let table = EndTable.text(report, savedTo: nil, videoSavedTo: "v.ivf")
    for part in [
      "video in", "received 110 pictures, 100 decoded, the last 640x360", "sent 120 pictures",
      "lost 3 packets (1.0 %), 1 not repaired", "stood still 1 time for 0.8 s", "saved in v.ivf",
      "4.0 ms behind its sound", "smaller for 1.0 s", "carries 1900 kbit/s",
      "fell back to audio alone 1 time",
    ] { #expect(table.contains(part), "\(part)") }
    #expect(
      VideoMessages.sentence(.fallback(Self.fallbacks[0]))
        == "The line out does not hold video (60.0 kbit/s of 120 kbit/s needed): "
        + "audio alone for now.")
    #expect(
      VideoMessages.sentence(.fallback(Self.fallbacks[1])) == "The line out holds video again.")
    #expect(VideoMessages.sentence(.delivered) == nil)
  }

  @Test func `the loss on the way out is drawn before repair and after it`() throws {
    var (first, second) = (Sample.detailed(), Sample.detailed())
    second.atMs += 2000
    second.audio?.remote?.packetsExpected += 100
    second.audio?.remote?.packetsLost += 8
    second.audio?.remote?.residualLost += 3
    second.audio?.remote?.fractionLost = 0.08
    first.audio?.remote?.fractionLost = 0
    let plots = SoundPlots.plots([first, second].map(SoundPlots.Sample.init))
    let out = try #require(plots.first { $0.title == "Loss on the way out" })
    #expect(out.lines.map(\.name) == ["before repair", "not repaired"])
    #expect(out.lines.map { $0.points.last?.y } == [8, 3])
  }

  @Test func `plots from a call and from its lines are the same`() throws {
    let samples = [2000, 4000, 6000].map { Self.statistics(atMs: $0) }
    let direct = LinePlots.plots(samples)
    #expect(direct.count == 6 && direct.allSatisfy { !$0.svg.isEmpty })
    #expect(direct[0].lines[2].points.map(\.y) == [800, 800])
    #expect(direct[0].spans.map(\.from) == [1] && direct[0].spans.map(\.to) == [3])
    #expect(LinePlots.plots([Sample.statistics()]).isEmpty)
    let lines = try Self.lines { lines in
      for numbers in samples { StatsLine.write(numbers, Sample.id, to: lines) }
      for change in Self.fallbacks {
        EventLine.write(.callProgress(Sample.id, .fallback(change)), to: lines)
      }
    }
    let text = lines.map(\.text).joined(separator: "\n")
    let page = try #require(EventPlots.html(try EventText(Array(text.utf8), name: "x")))
    for plot in direct.prefix(2) { #expect(page.contains(plot.svg), "\(plot.title)") }
    let sound = SoundPlots.plots(samples.map(SoundPlots.Sample.init))
    for plot in sound {
      #expect(plot.svg.isEmpty || page.contains(plot.svg), "\(plot.title)")
    }
    #expect(EventPlots.html(try EventText(Array("{}\nnothing".utf8), name: "x")) == nil)
    #expect(
      LinePlots.spans([Self.fallbacks[0]], until: 9).map(\.to) == [9], "still in it at the end")
  }
}
