package import Earshot
internal import Reactor

/// The `stats` lines: W3C webrtc-stats objects, with its names and units (seconds); what it has no
/// name for begins with `earshot`.
package enum StatsLine {
  package static func write(_ numbers: CallStatistics, _ id: CallID, to lines: JSONLines) {
    lines.write("stats") { object in
      object.add("callId", id.description)
      object.add("atMs", numbers.atMs)
      object.add("stats", .array(Self.objects(numbers).map(\.value)))
    }
  }

  /// What of the sound numbers tell.
  enum Sound { case both, sent, received }

  package static func objects(_ numbers: CallStatistics) -> [JSONObject] { objects(numbers, .both) }

  static func objects(_ numbers: CallStatistics, _ sound: Sound) -> [JSONObject] {
    var objects: [JSONObject?] = []
    if sound != .sent { objects.append(inbound(numbers)) }
    if sound != .received { objects += [outbound(numbers), remoteInbound(numbers)] }
    objects.append(path(numbers))
    if sound != .sent { objects.append(playout(numbers.received)) }
    if sound != .received { objects.append(numbers.audio.map(mediaSource)) }
    return stamped(objects.compactMap(\.self), numbers)
  }

  private static func stamped(_ sound: [JSONObject], _ numbers: CallStatistics) -> [JSONObject] {
    var objects = sound
    objects += VideoLines.objects(numbers)
    if let usage = numbers.usage { objects.append(Self.usage(usage, numbers)) }
    return objects.map { object in
      var object = object
      object.add("timestamp", numbers.timestamp)
      return object
    }
  }

  static func object(_ type: String, _ id: String, kind: String? = "audio") -> JSONObject {
    var object = JSONObject()
    object.add("type", type)
    object.add("id", id)
    object.add("kind", kind)
    return object
  }

  private static func inbound(_ all: CallStatistics) -> JSONObject {
    let numbers = all.received
    var object = object("inbound-rtp", "audio-in")
    object.add("packetsReceived", numbers.packetsReceived)
    object.add("packetsLost", numbers.packetsLost)
    // Before the first packet nothing of it was measured.
    if numbers.packetsReceived > 0 { object.add("jitter", numbers.jitterMs / 1000) }
    object.add("packetsDiscarded", numbers.packetsDiscarded)
    object.add("bytesReceived", numbers.bytesReceived)
    object.add("totalSamplesReceived", numbers.totalSamplesReceived)
    object.add("concealedSamples", numbers.concealedSamples)
    object.add("silentConcealedSamples", numbers.silentConcealedSamples)
    object.add("concealmentEvents", numbers.concealmentEvents)
    object.add("insertedSamplesForDeceleration", numbers.insertedSamplesForDeceleration)
    object.add("removedSamplesForAcceleration", numbers.removedSamplesForAcceleration)
    if numbers.totalSamplesReceived > 0 { object.add("audioLevel", numbers.audioLevel) }
    object.add("nackCount", numbers.nackCount)
    if let audio = all.audio { add(audio.inbound, to: &object) }
    object.add("earshotBitrate", numbers.bitrateBps)
    object.add("earshotRecoveredByFec", numbers.recoveredByFec)
    object.add("earshotRecoveredByRetransmission", numbers.recoveredByRetransmission)
    object.add("earshotResidualLost", numbers.residualLost)
    let recent = all.audio?.recentDelay
    object.add("earshotJitterBufferDelay", seconds(recent?.jitterBufferDelayMs))
    object.add("earshotMouthToEar", seconds(recent?.mouthToEarMs))
    object.add("earshotMos", numbers.mos)
    object.add("earshotMosBasis", numbers.mosBasis)
    if let audio = all.audio {
      object.add("earshotAudioQuality", QualityLine.quality(audio.quality))
      object.add("earshotRemoteAudioStats", QualityLine.agora(audio.agora))
    }
    return object
  }

  private static func outbound(_ all: CallStatistics) -> JSONObject {
    let numbers = all.sent
    var object = object("outbound-rtp", "audio-out")
    object.add("packetsSent", numbers.packetsSent)
    object.add("bytesSent", numbers.bytesSent)
    object.add("retransmittedPacketsSent", numbers.retransmittedPacketsSent)
    object.add("earshotPacketsHeldBack", numbers.packetsHeldBack)
    if let audio = all.audio { add(audio.outbound, to: &object) }
    object.add("earshotBitrate", numbers.bitrateBps)
    object.add("earshotWireBytesSent", numbers.wireBytesSent)
    return object
  }

  private static func remoteInbound(_ numbers: CallStatistics) -> JSONObject? {
    guard numbers.sent.fractionLost != nil || numbers.currentRttMs != nil else { return nil }
    var object = object("remote-inbound-rtp", "audio-out-remote")
    object.add("localId", "audio-out")
    if let remote = numbers.audio?.remote {
      add(remote, to: &object)
    } else {
      object.add("fractionLost", numbers.sent.fractionLost)
    }
    object.add("roundTripTime", numbers.currentRttMs.map { $0 / 1000 })
    if numbers.rttMeasurements > 0 {
      object.add("totalRoundTripTime", numbers.totalRttMs / 1000)
      object.add("roundTripTimeMeasurements", numbers.rttMeasurements)
    }
    return object
  }

  private static func path(_ numbers: CallStatistics) -> JSONObject? {
    guard let path = numbers.path else { return nil }
    var object = object("candidate-pair", "path", kind: nil)
    object.add("state", "succeeded")
    object.add("nominated", true)
    object.add("currentRoundTripTime", numbers.currentRttMs.map { $0 / 1000 })
    object.add("availableOutgoingBitrate", numbers.congestion?.estimateBps)
    object.add("earshotKind", path.kind.rawValue)
    object.add("earshotLocal", "\(path.local)")
    object.add("earshotRemote", "\(path.remote)")
    object.add("earshotChanges", path.changes)
    object.add("earshotOverheadBytesPerAudioPacket", numbers.overheadBytesPerAudioPacket)
    object.add("earshotQualityTx", numbers.qualityTx)
    object.add("earshotQualityRx", numbers.qualityRx)
    return object
  }

  private static func usage(_ usage: CallStatistics.Usage, _ all: CallStatistics) -> JSONObject {
    var object = object("earshot-usage", "usage", kind: nil)
    object.add("calls", usage.calls)
    object.add("bytesSent", all.totals.bytesSent)
    object.add("bytesReceived", all.totals.bytesReceived)
    if let interval = all.interval {
      object.add("intervalMs", interval.durationMs)
      object.add("audioSentBps", interval.audioSentBps.rounded())
      object.add("audioReceivedBps", interval.audioReceivedBps.rounded())
      object.add("videoSentBps", interval.videoSentBps.rounded())
      object.add("videoReceivedBps", interval.videoReceivedBps.rounded())
    }
    object.add("processCpu", usage.processShare)
    object.add("hostCpu", usage.hostShare)
    object.add("residentBytes", usage.residentBytes)
    object.add("usedMemory", usage.usedMemoryFraction)
    return object
  }

  private static func playout(_ numbers: CallStatistics.Inbound) -> JSONObject? {
    guard numbers.totalSamplesReceived > 0 else { return nil }
    var object = object("media-playout", "playout")
    object.add("synthesizedSamplesDuration", Double(numbers.concealedSamples) / 48_000)
    object.add("synthesizedSamplesEvents", numbers.concealmentEvents)
    object.add("totalSamplesDuration", Double(numbers.totalSamplesReceived) / 48_000)
    object.add("totalSamplesCount", numbers.totalSamplesReceived)
    return object
  }

  private static func seconds(_ numbers: CallStatistics.Milliseconds?) -> JSONObject? {
    guard let numbers else { return nil }
    var object = JSONObject()
    object.add("min", numbers.min.map { $0 / 1000 })
    object.add("p50", numbers.p50 / 1000)
    object.add("p95", numbers.p95 / 1000)
    return object
  }
}
