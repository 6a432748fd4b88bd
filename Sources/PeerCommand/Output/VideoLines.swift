package import Earshot

/// Video and congestion in the JSON lines: W3C webrtc-stats objects, and their parts of `summary`.
package enum VideoLines {
  // MARK: - stats

  package static func objects(_ numbers: CallStatistics) -> [JSONObject] {
    [
      numbers.videoReceived.map { inbound($0, numbers.lastVideoPacketReceivedTimestamp) },
      numbers.videoSent.map(outbound),
      numbers.congestion.map { congestion($0, fallbacks: numbers.fallbacks) },
    ].compactMap(\.self)
  }

  private static func object(_ type: String, _ id: String, kind: String? = "video") -> JSONObject {
    var object = JSONObject()
    object.add("type", type)
    object.add("id", id)
    object.add("kind", kind)
    return object
  }

  private static func inbound(
    _ numbers: CallStatistics.VideoInbound, _ lastPacket: Double?
  ) -> JSONObject {
    var object = object("inbound-rtp", "video-in")
    object.add("lastPacketReceivedTimestamp", lastPacket)
    addPackets(numbers, to: &object)
    object.add("framesReceived", numbers.framesReceived)
    object.add("framesDecoded", numbers.framesDecoded)
    object.add("keyFramesDecoded", numbers.keyFramesDecoded)
    object.add("framesDropped", numbers.framesDropped)
    object.add("framesPerSecond", numbers.framesPerSecond)
    if numbers.frameWidth > 0 {
      object.add("frameWidth", numbers.frameWidth)
      object.add("frameHeight", numbers.frameHeight)
    }
    object.add("nackCount", numbers.nackCount)
    object.add("pliCount", numbers.pliCount)
    object.add("freezeCount", numbers.freezeCount)
    object.add("totalFreezesDuration", numbers.totalFreezesDuration)
    object.add("totalDecodeTime", numbers.totalDecodeTime)
    object.add("totalProcessingDelay", numbers.totalProcessingDelay)
    object.add("earshotTotalHold", numbers.totalHold)
    object.add("earshotActiveTime", numbers.activeTime)
    object.add("earshotDecodeFailures", numbers.decodeFailures)
    object.add("earshotBitrate", numbers.bitrateBps)
    if let offset = numbers.lipOffsetMs {
      var spread = JSONObject()
      spread.add("p5", offset.min.map { $0 / 1000 })
      spread.add("p50", offset.p50 / 1000)
      spread.add("p95", offset.p95 / 1000)
      object.add("earshotLipOffset", spread)
    }
    return object
  }

  private static func addPackets(
    _ numbers: CallStatistics.VideoInbound, to object: inout JSONObject
  ) {
    object.add("packetsReceived", numbers.packetsReceived)
    object.add("packetsLost", numbers.packetsLost)
    object.add("packetsDiscarded", numbers.packetsDiscarded)
    object.add("bytesReceived", numbers.bytesReceived)
    object.add("retransmittedPacketsReceived", numbers.retransmittedPacketsReceived)
    object.add("fecPacketsReceived", numbers.fecPacketsReceived)
    object.add("fecBytesReceived", numbers.fecBytesReceived)
    object.add("fecPacketsDiscarded", numbers.fecPacketsDiscarded)
    object.add("earshotRecoveredByFec", numbers.recoveredByFec)
    object.add("earshotRecoveredByRetransmission", numbers.recoveredByRetransmission)
    object.add("earshotResidualLost", numbers.residualLost)
    object.add("earshotFramesRecovered", numbers.framesRecovered)
  }

  private static func outbound(_ numbers: CallStatistics.VideoOutbound) -> JSONObject {
    var object = object("outbound-rtp", "video-out")
    object.add("packetsSent", numbers.packetsSent)
    object.add("bytesSent", numbers.bytesSent)
    object.add("retransmittedPacketsSent", numbers.retransmittedPacketsSent)
    object.add("retransmittedBytesSent", numbers.retransmittedBytesSent)
    object.add("earshotFecPacketsSent", numbers.fecPacketsSent)
    object.add("earshotFecBytesSent", numbers.fecBytesSent)
    object.add("earshotRepeatedPacketsSent", numbers.repeatedPacketsSent)
    object.add("framesEncoded", numbers.framesEncoded)
    object.add("keyFramesEncoded", numbers.keyFramesEncoded)
    object.add("framesSent", numbers.framesSent)
    object.add("hugeFramesSent", numbers.hugeFramesSent)
    object.add("framesPerSecond", numbers.framesPerSecond)
    if numbers.frameWidth > 0 {
      object.add("frameWidth", numbers.frameWidth)
      object.add("frameHeight", numbers.frameHeight)
    }
    object.add("qpSum", numbers.qpSum)
    object.add("totalEncodeTime", numbers.totalEncodeTime)
    object.add("targetBitrate", numbers.targetBitrateBps)
    object.add("nackCount", numbers.nackCount)
    object.add("pliCount", numbers.pliCount)
    object.add("active", !numbers.isPaused)
    object.add("qualityLimitationReason", numbers.qualityLimitationReason)
    var durations = JSONObject()
    for reason in ["none", "bandwidth", "cpu"] {
      durations.add(reason, numbers.qualityLimitationDurations[reason])
    }
    object.add("qualityLimitationDurations", durations)
    object.add(
      "qualityLimitationResolutionChanges", numbers.qualityLimitationResolutionChanges)
    object.add("earshotFramesCaptured", numbers.framesCaptured)
    object.add("earshotFramesDiscarded", numbers.framesDiscarded)
    object.add("earshotBitrate", numbers.bitrateBps)
    return object
  }

  /// Rates in bit/s on the line, times in seconds.
  private static func congestion(
    _ numbers: CallStatistics.Congestion, fallbacks: [FallbackChange]
  ) -> JSONObject {
    var object = object("earshot-congestion", "congestion", kind: nil)
    object.add("earshotPaddingBytesSent", numbers.paddingBytesSent)
    object.add("estimate", numbers.estimateBps)
    object.add("acknowledged", numbers.acknowledgedBps)
    object.add("pacingRate", numbers.pacingRateBps)
    object.add("uplinkShare", numbers.uplinkShareBps)
    object.add("queueDelay", numbers.queueDelayMs / 1000)
    object.add("state", numbers.state)
    object.add("reason", numbers.reason)
    for direction in [FallbackChange.Direction.publish, .subscribe] {
      let last = fallbacks.last { $0.direction == direction }
      object.add("\(direction.rawValue)AudioOnly", last?.isAudioOnly)
    }
    return object
  }

  // MARK: - summary

  /// `nil` for a call without video.
  package static func summary(_ numbers: CallStatistics) -> JSONObject? {
    var object = JSONObject()
    if let sent = numbers.videoSent { object.add("sent", Self.sent(sent)) }
    if let received = numbers.videoReceived { object.add("received", Self.received(received)) }
    return object.isEmpty ? nil : object
  }

  private static func sent(_ numbers: CallStatistics.VideoOutbound) -> JSONObject {
    var object = JSONObject()
    object.add("packets", numbers.packetsSent)
    object.add("bytes", numbers.bytesSent)
    object.add("bitrateBps", numbers.bitrateBps.rounded())
    object.add("framesSent", numbers.framesSent)
    object.add("keyFramesSent", numbers.keyFramesEncoded)
    if numbers.frameWidth > 0 {
      object.add("width", numbers.frameWidth)
      object.add("height", numbers.frameHeight)
    }
    let seconds = numbers.qualityLimitationDurations.values.reduce(0, +)
    if seconds > 0 { object.add("fps", tenths(Double(numbers.framesSent) / seconds)) }
    return object
  }

  private static func received(_ numbers: CallStatistics.VideoInbound) -> JSONObject {
    var object = JSONObject()
    object.add("packets", numbers.packetsReceived)
    object.add("lost", numbers.packetsLost)
    object.add("lostFraction", numbers.lostFraction)
    object.add("recoveredByFec", numbers.recoveredByFec)
    object.add("recoveredByRetransmission", numbers.recoveredByRetransmission)
    object.add("residualLost", numbers.residualLost)
    object.add("residualLostFraction", numbers.residualLostFraction)
    object.add("bytes", numbers.bytesReceived)
    object.add("bitrateBps", numbers.bitrateBps.rounded())
    object.add("framesRecovered", numbers.framesRecovered)
    object.add("framesReceived", numbers.framesReceived)
    object.add("framesDecoded", numbers.framesDecoded)
    object.add("framesDropped", numbers.framesDropped)
    object.add("freezeCount", numbers.freezeCount)
    object.add("totalFreezesMs", (numbers.totalFreezesDuration * 1000).rounded())
    if numbers.frameWidth > 0 {
      object.add("width", numbers.frameWidth)
      object.add("height", numbers.frameHeight)
    }
    if numbers.activeTime > 0 {
      object.add("fps", tenths(Double(numbers.framesDecoded) / numbers.activeTime))
    }
    if let offset = numbers.lipOffsetMs {
      var spread = JSONObject()
      spread.add("p50", tenths(offset.p50))
      spread.add("p95", tenths(offset.p95))
      object.add("lipOffsetMs", spread)
    }
    return object
  }

  /// What `summary.network` has besides the round trip.
  package static func fill(_ network: inout JSONObject, _ numbers: CallStatistics) {
    guard let congestion = numbers.congestion else { return }
    var estimate = JSONObject()
    estimate.add("last", congestion.estimateBps.rounded())
    estimate.add("p50", congestion.estimateP50Bps?.rounded())
    network.add("uplinkEstimateBps", estimate)
    if let delays = congestion.queueDelays {
      var spread = JSONObject()
      spread.add("p50", (delays.p50 * 1000).rounded() / 1000)
      spread.add("p95", (delays.p95 * 1000).rounded() / 1000)
      network.add("queueDelayMs", spread)
    }
    guard numbers.videoSent != nil || numbers.videoReceived != nil else { return }
    network.add("fallbacks", .array(numbers.fallbacks.map { fallback($0).value }))
  }

  package static func fallback(_ change: FallbackChange) -> JSONObject {
    var object = JSONObject()
    object.add("atMs", change.atMs)
    object.add("on", change.isAudioOnly)
    object.add("reason", change.reason.rawValue)
    object.add("direction", change.direction.rawValue)
    return object
  }

  private static func tenths(_ value: Double) -> Double { (value * 10).rounded() / 10 }
}
