internal import Wire

/// What a call's grades rest on, and what the other side is told of them.
extension CallRecord {
  /// What the grades of the next two seconds have to know besides numbers.
  func surroundings(_ numbers: CallStatistics) -> CallGrader.Surroundings {
    let most = network.takeMost()
    var around = CallGrader.Surroundings()
    let sendsVideo = numbers.videoSent.map { !$0.isPaused } ?? false
    around.sends = numbers.audio?.outbound.active != false || sendsVideo
    let seesVideo = video?.isReceiving == true && streams.expectsPictures
    around.receives = !streams.isRemoteAudioMuted || seesVideo
    if let sent = numbers.videoSent, let most {
      let hasFallenBack =
        numbers.fallbacks.last { $0.direction == .publish }?.isAudioOnly ?? false
      let isBelowLimit = sent.targetBitrateBps < 0.95 * Double(options.maxVideoBitrate)
      let isLimited = sent.qualityLimitationReason == "bandwidth" && isBelowLimit
      if hasFallenBack || sendsVideo && isLimited { around.limitingBitsPerSecond = most }
    }
    return around
  }

  /// Adds what the other side has said of the line; gives what it is to be told, where that is new.
  func exchangeGrades(_ numbers: inout CallStatistics) -> CallControlMessage? {
    numbers.remoteQualityTx = news.quality?.sent
    numbers.remoteQualityRx = news.quality?.received
    return news.say(sent: numbers.qualityTx, received: numbers.qualityRx)
  }
}
