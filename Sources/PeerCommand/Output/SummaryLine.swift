package import Earshot

/// The last line of a call: how it ended, how good it was, and why. What was not measured is
/// absent.
package enum SummaryLine {
  /// - Parameter prediction: What a probe had said before.
  package static func write(
    _ report: CallReport, prediction: JSONObject? = nil, to lines: JSONLines
  ) {
    lines.write("summary") { object in
      Self.fill(&object, report)
      object.add("predicted", prediction)
    }
  }

  package static func fill(_ object: inout JSONObject, _ report: CallReport) {
    object.add("callId", report.callID.description)
    object.add("outcome", report.outcome.rawValue)
    object.add("reason", report.reason)
    object.add("role", report.role.rawValue)
    object.add(
      "peer",
      EventLine.peer(report.peerName, report.peer, report.trust, report.nameTrust))
    object.add("endingExtension", report.endingExtension.map(JSONValue.others))
    object.add("durationMs", report.durationMs)
    object.add("timeline", timeline(report.timeline))
    object.add("pathAttempt", report.pathAttempt.map(PathWords.json))
    guard let numbers = report.statistics else { return }
    object.add("path", numbers.path.map(path))
    var audio = JSONObject()
    if numbers.sent.packetsSent > 0 { audio.add("sent", sent(numbers)) }
    if numbers.received.totalSamplesReceived > 0 { audio.add("received", received(numbers)) }
    object.add("audio", audio)
    object.add("video", VideoLines.summary(numbers))
    var network = JSONObject()
    network.add("rttMs", milliseconds(numbers.rttMs))
    VideoLines.fill(&network, numbers)
    object.add("network", network)
    var quality = JSONObject()
    quality.add("tx", numbers.qualityTx)
    quality.add("rx", numbers.qualityRx)
    object.add("quality", quality)
    object.add("overheadBytesPerAudioPacket", numbers.overheadBytesPerAudioPacket.map(rounded))
  }

  private static func timeline(_ steps: CallReport.Timeline) -> JSONObject {
    var object = JSONObject()
    object.add("invitedMs", steps.invitedMs)
    object.add("deliveredMs", steps.deliveredMs)
    object.add("acceptedMs", steps.acceptedMs)
    object.add("pathReadyMs", steps.pathReadyMs)
    object.add("firstFrameSentMs", steps.firstFrameSentMs)
    object.add("firstFrameReceivedMs", steps.firstFrameReceivedMs)
    object.add("connectedMs", steps.connectedMs)
    return object
  }

  private static func path(_ path: CallStatistics.Path) -> JSONObject {
    var object = JSONObject()
    object.add("kind", path.kind.rawValue)
    object.add("local", "\(path.local)")
    object.add("remote", "\(path.remote)")
    object.add("changes", path.changes)
    return object
  }

  private static func sent(_ all: CallStatistics) -> JSONObject {
    let numbers = all.sent
    var object = JSONObject()
    object.add("packets", numbers.packetsSent)
    object.add("bytes", numbers.bytesSent)
    object.add("bitrateBps", numbers.bitrateBps.rounded())
    // As the other side has reported it.
    guard let remote = all.audio?.remote, remote.packetsExpected > 0 else { return object }
    object.add("reported", remote.packetsExpected)
    object.add("lost", remote.packetsLost)
    object.add("lostFraction", numbers.lostFraction)
    object.add("residualLost", remote.residualLost)
    return object
  }

  static func received(_ all: CallStatistics) -> JSONObject {
    let numbers = all.received
    var object = JSONObject()
    object.add("packets", numbers.packetsReceived)
    object.add("lost", numbers.packetsLost)
    object.add("lostFraction", numbers.lostFraction)
    object.add("recoveredByFec", numbers.recoveredByFec)
    object.add("recoveredByRetransmission", numbers.recoveredByRetransmission)
    object.add("residualLost", numbers.residualLost)
    object.add("residualLostFraction", numbers.residualLostFraction)
    object.add("concealedFraction", numbers.concealedFraction)
    object.add("jitterMs", rounded(numbers.jitterMs))
    object.add("jitterBufferDelayMs", milliseconds(numbers.jitterBufferDelayMs))
    object.add("mouthToEarMs", milliseconds(numbers.mouthToEarMs))
    object.add("mos", numbers.mos)
    object.add("mosBasis", numbers.mosBasis)
    if let audio = all.audio { QualityLine.add(audio, to: &object) }
    return object
  }

  private static func milliseconds(_ numbers: CallStatistics.Milliseconds?) -> JSONObject? {
    guard let numbers else { return nil }
    var object = JSONObject()
    object.add("min", numbers.min.map(rounded))
    object.add("p50", rounded(numbers.p50))
    object.add("p95", rounded(numbers.p95))
    return object
  }

  /// To the microsecond.
  private static func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
}
