internal import Wire

/// What a call's grades rest on, and what the other side is told of them.
extension CallRecord {
  /// What the grades of the next two seconds have to know besides numbers.
  func surroundings(_ numbers: CallStatistics) -> CallGrader.Surroundings {
    var around = CallGrader.Surroundings(
      numbers, carries: network.takeMost(), maxVideoBitrate: options.maxVideoBitrate)
    let seesVideo = video?.isReceiving == true && streams.expectsPictures
    around.receives = !streams.isRemoteAudioMuted || seesVideo
    return around
  }

  /// Adds what the other side has said of the line; gives what it is to be told, where that is new.
  func exchangeGrades(_ numbers: inout CallStatistics) -> CallControlMessage? {
    numbers.remoteQualityTx = news.quality?.sent
    numbers.remoteQualityRx = news.quality?.received
    return news.say(sent: numbers.qualityTx, received: numbers.qualityRx)
  }
}
