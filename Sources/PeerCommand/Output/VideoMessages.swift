package import Earshot

/// Video and congestion in words: the live region, the end table, what happens.
package enum VideoMessages {
  /// What the live region says; nothing of a call without video.
  package static func parts(_ numbers: CallStatistics) -> [String] {
    var parts: [String] = []
    if let sent = numbers.videoSent {
      let what =
        sent.isPaused || sent.frameWidth == 0
        ? "none" : "\(sent.frameWidth)x\(sent.frameHeight) \(sent.framesPerSecond)/s"
      parts.append("video out \(what)")
    }
    if let received = numbers.videoReceived, received.frameWidth > 0 {
      parts.append(
        "in \(received.frameWidth)x\(received.frameHeight) \(received.framesPerSecond)/s")
      if received.freezeCount > 0 { parts.append("freezes \(received.freezeCount)") }
    }
    guard !parts.isEmpty else { return [] }
    if let line = numbers.congestion {
      parts.append("line \(Wording.bitrate(line.estimateBps))")
      parts.append("queue \(Wording.milliseconds(line.queueDelayMs))")
    }
    if let last = numbers.fallbacks.last(where: { $0.direction == .publish }), last.isAudioOnly {
      parts.append("audio only (\(last.reason.rawValue))")
    }
    return parts
  }

  /// Rows of the end table.
  package static func rows(
    _ numbers: CallStatistics, savedTo file: String?
  ) -> [(title: String, text: String)] {
    var rows: [(title: String, text: String)] = []
    if let received = numbers.videoReceived, received.framesDecoded > 0 {
      rows.append(("video in", self.received(received, file)))
    }
    if let sent = numbers.videoSent, sent.framesSent > 0 {
      rows.append(("video out", self.sent(sent)))
    }
    guard numbers.videoSent != nil || numbers.videoReceived != nil else { return rows }
    if let line = numbers.congestion { rows.append(("line", self.line(line, numbers.fallbacks))) }
    return rows
  }

  /// Rows of pictures that were wanted and did not come to be.
  ///
  /// - Parameters:
  ///   - wasToSend: Whether there was a camera or a file.
  ///   - unsaved: The file that nothing came for.
  package static func absent(
    _ numbers: CallStatistics?, wasToSend: Bool, unsaved: String?
  ) -> [(title: String, text: String)] {
    guard let numbers else { return [] }
    var rows: [(title: String, text: String)] = []
    if wasToSend, numbers.videoSent?.framesSent ?? 0 == 0 {
      rows.append(("video out", "none was sent: the other side takes no pictures, or had no room"))
    }
    if let unsaved, numbers.videoReceived?.framesDecoded ?? 0 == 0 {
      rows.append(("video in", "none came: there is no \(unsaved)"))
    }
    return rows
  }

  private static func received(
    _ numbers: CallStatistics.VideoInbound, _ file: String?
  ) -> String {
    var text = "received \(numbers.framesReceived) pictures, \(numbers.framesDecoded) decoded, "
    text += "the last \(numbers.frameWidth)x\(numbers.frameHeight), at "
    text += Wording.bitrate(numbers.bitrateBps)
    if numbers.packetsLost > 0 {
      text += ", lost \(numbers.packetsLost) packets (\(Wording.percent(numbers.lostFraction)))"
      text += ", \(numbers.residualLost) not repaired"
    }
    if numbers.freezeCount > 0 {
      text += ", stood still \(numbers.freezeCount) time\(numbers.freezeCount == 1 ? "" : "s")"
      text += " for \(Wording.decimal(numbers.totalFreezesDuration)) s"
    }
    if numbers.framesDropped > 0 { text += ", left out \(numbers.framesDropped)" }
    if let offset = numbers.lipOffsetMs {
      text += ", \(Wording.milliseconds(abs(offset.p50))) "
      text += offset.p50 < 0 ? "before its sound" : "behind its sound"
    }
    return text + (file.map { ", saved in \($0)" } ?? "")
  }

  private static func sent(_ numbers: CallStatistics.VideoOutbound) -> String {
    var text = "sent \(numbers.framesSent) pictures, the last \(numbers.frameWidth)x"
    text += "\(numbers.frameHeight), at \(Wording.bitrate(numbers.bitrateBps))"
    if numbers.retransmittedPacketsSent > 0 {
      text += ", \(numbers.retransmittedPacketsSent) packets sent again"
    }
    if numbers.fecPacketsSent > 0 { text += ", \(numbers.fecPacketsSent) packets of parity" }
    let limited = numbers.qualityLimitationDurations
    if let seconds = limited["bandwidth"], seconds >= 1 {
      text += ", smaller for \(Wording.decimal(seconds)) s because of the line"
    }
    if let seconds = limited["cpu"], seconds >= 1 {
      text += ", too late for \(Wording.decimal(seconds)) s because of the processor"
    }
    return text
  }

  private static func line(
    _ numbers: CallStatistics.Congestion, _ fallbacks: [FallbackChange]
  ) -> String {
    var text = "carries \(Wording.bitrate(numbers.estimateP50Bps ?? numbers.estimateBps))"
    if let delays = numbers.queueDelays {
      text += ", queue \(Wording.milliseconds(delays.p50))"
      text += " (95 %: \(Wording.milliseconds(delays.p95)))"
    }
    let count = fallbacks.count { $0.isAudioOnly }
    if count > 0 { text += ", fell back to audio alone \(count) time\(count == 1 ? "" : "s")" }
    return text
  }

  private static func sentence(_ change: StreamChange) -> String? {
    switch (change.stream, change.new, change.reason) {
    case (.remoteVideo, .frozen, .networkCongestion): "The picture stands still."
    case (.remoteVideo, .decoding, .networkRecovery): "The picture moves again."
    case (.localVideo, .failed, .captureFailure): "The video source gives no pictures."
    case (.localVideo, .capturing, .captureFailure): "The video source gives the same picture."
    case (.localVideo, _, .captureRecovery): "The video source gives pictures again."
    default: nil
    }
  }

  /// What happened, for people; `nil` for what only the files need.
  package static func sentence(_ step: CallProgress) -> String? {
    switch step {
    case .remoteVideoMuted(let isMuted):
      "The other side \(isMuted ? "stopped" : "resumed") its video."
    case .streamChanged(let change): sentence(change)
    case .firstVideoFrameDecoded(let width, let height):
      "The first picture is here: \(width)x\(height)."
    case .remoteVideoSizeChanged(let width, let height):
      "The other side's picture is \(width)x\(height) now."
    case .remoteWantsVideo(let isWanted):
      isWanted ? "The other side can take video again." : "The other side cannot take video."
    case .fallback(let change): sentence(change)
    default: nil
    }
  }

  static func sentence(_ change: FallbackChange) -> String {
    let way = change.direction == .publish ? "out" : "in"
    guard !change.isLowStream else {
      return "The line \(way) does not hold the usual pictures: low ones for now."
    }
    guard change.isAudioOnly else { return "The line \(way) holds video again." }
    let why =
      switch change.reason {
      case .rate:
        "\(Wording.bitrate(change.estimateBps)) of \(Wording.bitrate(change.neededBps)) needed"
      case .loss: "\(Wording.percent(change.loss)) lost"
      case .delay: "its queue is too long"
      case .silence: "nothing is reported"
      case .recovered: "it recovers"
      }
    return "The line \(way) does not hold video (\(why)): audio alone for now."
  }
}
