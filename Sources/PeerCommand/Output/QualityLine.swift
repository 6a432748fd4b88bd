package import Earshot

/// How good the sound was through the call, in words and in JSON.
package enum QualityLine {
  /// One line for people when audio becomes bad, or good again.
  package static func text(_ change: AudioQualityChange) -> String {
    guard change.isBad else { return "It sounds well again (MOS \(Wording.decimal(change.mos)))." }
    var parts = ["MOS \(Wording.decimal(change.mos))"]
    if let silent = change.silentMs {
      parts.append("no packet for \(Wording.decimal(Double(silent) / 1000)) s")
    } else {
      let residual = Wording.percent(change.residualLostFraction)
      parts.append("\(Wording.percent(change.lostFraction)) of the packets lost")
      parts.append("\(residual) not there in time")
    }
    parts.append("\(Wording.percent(change.concealedFraction)) of the sound made up")
    parts.append("jitter \(Wording.milliseconds(change.jitterMs))")
    if let ear = change.mouthToEarMs { parts.append("mouth to ear \(Wording.milliseconds(ear))") }
    let cause = change.silentMs != nil && change.reason == .loss ? "as nothing comes" : nil
    return "It sounds bad, \(cause ?? Self.cause(change.reason)): \(parts.joined(separator: ", "))."
  }

  private static func cause(_ reason: AudioQuality.Reason?) -> String {
    switch reason {
    case .loss: "as packets get lost"
    case .jitter: "as packets come too late"
    case .delay: "as it comes so late"
    case .bandwidth: "as the path carries too little"
    case .farEnd: "as the other side sends nothing, or sends it so"
    case nil: "for a reason unknown"
    }
  }

  /// The same as an `event` line.
  package static func write(_ change: AudioQualityChange, _ id: CallID, to lines: JSONLines) {
    EventLine.line(name, id, to: lines) { fill(&$0, change) }
  }

  static let name = "audioQualityChanged"

  static func fill(_ object: inout JSONObject, _ change: AudioQualityChange) {
    object.add("bad", change.isBad)
    object.add("reason", change.reason?.rawValue)
    object.add("mos", change.mos)
    object.add("lostFraction", change.lostFraction)
    object.add("residualLostFraction", change.residualLostFraction)
    object.add("silentMs", change.silentMs)
    object.add("concealedFraction", change.concealedFraction)
    object.add("jitterMs", change.jitterMs)
    object.add("mouthToEarMs", change.mouthToEarMs)
    object.add("bitrateBps", change.bitrateBps)
  }

  /// For the end table; `nil` where nothing was bad enough to be told.
  package static func worst(_ numbers: CallStatistics) -> String? {
    guard let quality = numbers.audio?.quality else { return nil }
    var parts: [String] = []
    if let spell = quality.worstFiveSeconds {
      let begin = Timestamp.clock(seconds: spell.beginMs / 1000)
      parts.append("MOS \(Wording.decimal(spell.mos)) in the five seconds from \(begin)")
    }
    if quality.timesBad > 0 {
      parts.append("became bad \(times(quality.timesBad))")
    }
    if quality.interruptionCount > 0 {
      parts.append(
        "interrupted \(times(quality.interruptionCount)), "
          + "\(Wording.milliseconds(Double(quality.totalInterruptionMs))) in all")
    }
    if quality.frozenMs > 0 {
      parts.append(
        "\(Wording.decimal(Double(quality.frozenMs) / 1000)) s of sound missing "
          + "(\(Wording.percent(quality.frozenRate)))")
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  private static func times(_ count: Int) -> String { count == 1 ? "once" : "\(count) times" }

  /// For `summary`, after what the contract names.
  package static func add(_ audio: AudioDetails, to object: inout JSONObject) {
    object.add("audioQuality", quality(audio.quality))
    object.add("remoteAudioStats", agora(audio.agora))
  }

  static func quality(_ quality: AudioQuality) -> JSONObject {
    var object = JSONObject()
    object.add("lastMos", quality.lastMos)
    object.add("meanMos", quality.meanMos)
    object.add("tenthPercentileMos", quality.tenthPercentileMos)
    object.add("leastMos", quality.leastMos)
    if let spell = quality.worstFiveSeconds {
      var worst = JSONObject()
      worst.add("mos", spell.mos)
      worst.add("beginMs", spell.beginMs)
      object.add("worstFiveSeconds", worst)
    }
    object.add("timesBad", quality.timesBad)
    object.add("reason", quality.reason?.rawValue)
    object.add("interruptionCount", quality.interruptionCount)
    object.add("totalInterruptionMs", quality.totalInterruptionMs)
    object.add("frozenMs", quality.frozenMs)
    object.add("frozenRate", quality.frozenRate)
    object.add("activeMs", quality.activeMs)
    return object
  }

  private static func measured(_ value: Double) -> Double? { value > 0 ? value : nil }

  /// Agora's names, meanings and units.
  static func agora(_ stats: RemoteAudioStats) -> JSONObject {
    var object = JSONObject()
    object.add("quality", stats.quality)
    // What was not measured is absent.
    object.add("networkTransportDelay", measured(stats.networkTransportDelay))
    object.add("jitterBufferDelay", measured(stats.jitterBufferDelay))
    object.add("audioLossRate", stats.audioLossRate)
    object.add("numChannels", stats.numChannels)
    object.add("receivedSampleRate", stats.receivedSampleRate)
    object.add("receivedBitrate", stats.receivedBitrate)
    object.add("totalFrozenTime", stats.totalFrozenTime)
    object.add("frozenRate", stats.frozenRate)
    object.add("mosValue", stats.mosValue > 0 ? stats.mosValue : nil)
    object.add("totalActiveTime", stats.totalActiveTime)
    object.add("qualityChangedReason", stats.qualityChangedReason?.rawValue)
    if stats.e2eDelay > 0 {
      object.add("e2eDelay", stats.e2eDelay)
      var split = JSONObject()
      split.add("packetisation", stats.delay.packetisation)
      split.add("network", stats.delay.network)
      split.add("jitterBuffer", stats.delay.jitterBuffer)
      object.add("delaySplit", split)
    }
    return object
  }
}
